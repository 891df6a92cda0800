package proxy

import (
	"net/http"

	"example.com/runonce/tokens"
)

const (
	queueHeader = "X-Cloudtasks-Queuename"
	taskHeader  = "X-Cloudtasks-Taskname"
)

func cloudTasksPresent(r request) bool {
	return len(r.header.Values(queueHeader)) > 0 || len(r.header.Values(taskHeader)) > 0
}

// readCloudTasks reads a delivery of Cloud Tasks: the run is the queue and the task. Attempts of a task keep its name; a task that was
// created twice without a name of its own is two runs.
func readCloudTasks(_ Config, r request) (delivery, error) {
	queue, err := oneHeader(r.header, queueHeader)
	if err != nil {
		return delivery{}, err
	}
	task, err := oneHeader(r.header, taskHeader)
	if err != nil {
		return delivery{}, err
	}
	id, err := keyed(r, tokens.CloudTasks, queue, task)
	return delivery{source: sourceCloudTasks, runID: id, name: queue + "/" + task, body: r.body, strict: true}, err
}

// keyed is the run id of a source that names its deliveries itself, scoped by the target.
func keyed(r request, kind tokens.Kind, parts ...string) (string, error) {
	id, err := tokens.Key{Kind: kind, Parts: parts, Scope: tokens.Scope{Target: r.target}}.RunID()
	if err != nil {
		return "", badRequest("bad-name", "%s", err)
	}
	return id, nil
}

// oneHeader returns a header that must be there once.
func oneHeader(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", badRequest("missing-header", "the header %s is there %d times, want once and not empty", name, len(values))
	}
	return values[0], nil
}
