package proxy

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/runonce/tokens"
)

// delivery is what a source makes of a request.
type delivery struct {
	source string
	runID  string
	// name and slot are for the log and the record: the job and its time, or what the source has instead.
	name string
	slot time.Time
	// ahead is how long before its time a slot is announced, beyond what clocks may differ; forced: it has a key of its own (R5).
	ahead  time.Duration
	forced bool
	// body is the API's request; or, of an event, its data, which becomes the argument.
	body  []byte
	event bool
	// strict: another body under the same key is another request, and refused. A Scheduler job may be edited between two
	// attempts, so its body is not part of what the run is.
	strict bool
}

// request is the part of an HTTP request that sources read.
type request struct {
	header http.Header
	query  url.Values
	body   []byte
	target string
	caller string // the authenticated account
	now    time.Time
}

// source reads the deliveries of one trigger.
type source struct {
	// present reports whether the request has any of the source's own fields.
	present func(request) bool
	// read makes a delivery of it, or says what is wrong (a *problem).
	read func(Config, request) (delivery, error)
}

// The names of sources, as Targets uses them.
const (
	sourceScheduler      = "scheduler"
	sourceCloudTasks     = "cloudtasks"
	sourcePubSub         = "pubsub"
	sourceCloudEvent     = "cloudevent"
	sourceIdempotencyKey = "idempotency-key"
)

var sources = map[string]source{
	sourceScheduler:      {present: schedulerPresent, read: readScheduler},
	sourceCloudTasks:     {present: cloudTasksPresent, read: readCloudTasks},
	sourcePubSub:         {present: pubsubPresent, read: readPubSub},
	sourceCloudEvent:     {present: cloudEventPresent, read: readCloudEvent},
	sourceIdempotencyKey: {present: idempotencyKeyPresent, read: readIdempotencyKey},
}

func sourceNames() []string { return slices.Sorted(maps.Keys(sources)) }

// readDelivery picks the source among those that the target accepts. With several, the request must show the fields of exactly
// one: a field of another source is never trusted by accident.
func readDelivery(cfg Config, accepted []string, r request) (delivery, error) {
	if len(accepted) == 1 {
		return sources[accepted[0]].read(cfg, r)
	}
	var seen []string
	for _, name := range accepted {
		if sources[name].present(r) {
			seen = append(seen, name)
		}
	}
	switch len(seen) {
	case 1:
		return sources[seen[0]].read(cfg, r)
	case 0:
		return delivery{}, badRequest("no-source", "the request has no field of the sources that this target accepts: %s", strings.Join(accepted, ", "))
	}
	return delivery{}, badRequest("ambiguous-source", "the request has fields of several sources: %s; send those of one", strings.Join(seen, ", "))
}

// scopeOf is what a run's name is unique within (R4).
func scopeOf(cfg Config, r request) (tokens.Scope, error) {
	switch cfg.Scope {
	case "none":
		return tokens.Scope{None: true}, nil
	case "job":
		project, err := jobField(r, "X-Runonce-Job-Project", "job_project")
		if err != nil {
			return tokens.Scope{}, err
		}
		location, err := jobField(r, "X-Runonce-Job-Location", "job_location")
		if err != nil {
			return tokens.Scope{}, err
		}
		return tokens.Scope{Target: r.target, Project: project, Location: location}, nil
	}
	return tokens.Scope{Target: r.target}, nil
}

func jobField(r request, header, param string) (string, error) {
	values := slices.Concat(r.header.Values(header), r.query[param])
	if len(values) != 1 || strings.TrimSpace(values[0]) == "" {
		return "", badRequest("no-scope", "the header %s or the query parameter %s must be there once: it is part of the run's name here (SCOPE=job); set it in the job", header, param)
	}
	return values[0], nil
}
