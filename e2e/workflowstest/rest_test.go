package workflowstest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	rest "google.golang.org/api/workflowexecutions/v1"

	"example.com/runonce/workflows/engine"
)

func TestExecutionsREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{Labels: map[string]string{"team": "a"}})
	created, err := w.rest.Create(testWorkflow, &rest.Execution{
		Argument: `{"n":1}`, Labels: map[string]string{"run": "r1"}, CallLogLevel: "LOG_NONE", ExecutionHistoryLevel: "EXECUTION_HISTORY_DETAILED",
	}).Context(w.ctx).Do()
	if err != nil || created.Name == "" || created.CreateTime == "" || created.CreateTime != created.StartTime {
		t.Fatalf("create: %+v, %v", created, err)
	}
	if err := w.Wait(w.ctx, created.Name); err != nil {
		t.Fatal(err)
	}
	got, err := w.rest.Get(created.Name).Context(w.ctx).Do()
	if err != nil || got.State != "SUCCEEDED" || got.Result != `{"n":1}` || got.Labels["team"] != "a" || got.Labels["run"] != "r1" ||
		got.CallLogLevel != "LOG_NONE" || got.ExecutionHistoryLevel != "EXECUTION_HISTORY_DETAILED" || got.Duration == "" || got.EndTime == "" {
		t.Errorf("get: %+v, %v", got, err)
	}
	basic, err := w.rest.Get(created.Name).View("BASIC").Context(w.ctx).Do()
	if err != nil || basic.Result != "" || basic.Labels != nil || basic.CreateTime != "" || basic.State != "SUCCEEDED" {
		t.Errorf("basic: %+v, %v", basic, err)
	}
	for range 2 {
		if _, err := w.rest.Create(testWorkflow, &rest.Execution{}).Context(w.ctx).Do(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := w.rest.List(testWorkflow).Filter(`labels.run="r1"`).OrderBy("createTime desc").View("FULL").PageSize(10).Context(w.ctx).Do()
	if err != nil || len(list.Executions) != 1 || list.Executions[0].Argument != `{"n":1}` || list.NextPageToken != "" {
		t.Errorf("list: %+v, %v", list, err)
	}
	pages := 0
	err = w.rest.List(testWorkflow).PageSize(1).Pages(w.ctx, func(p *rest.ListExecutionsResponse) error { pages += len(p.Executions); return nil })
	if err != nil || pages != 3 {
		t.Errorf("%d executions on pages of one, error %v, want 3", pages, err)
	}
}

func TestCancelREST(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run})
	w.deploy(testWorkflow, echo, Deployment{})
	created, err := w.rest.Create(testWorkflow, &rest.Execution{}).Context(w.ctx).Do()
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.rest.Cancel(created.Name, &rest.CancelExecutionRequest{}).Context(w.ctx).Do()
	if err != nil || got.State != "CANCELLED" {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	_, err = w.rest.Cancel(created.Name, &rest.CancelExecutionRequest{}).Context(w.ctx).Do()
	var failed *googleapi.Error
	if !errors.As(err, &failed) || failed.Code != 400 || !strings.Contains(failed.Body, "FAILED_PRECONDITION") {
		t.Errorf("cancel twice: %v", err)
	}
}

func TestRESTErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{})
	const executions = "/v1/" + testWorkflow + "/executions"
	for name, c := range map[string]struct {
		method, path, body string
		code               int
		status             string
	}{
		"unknown workflow":     {"POST", "/v1/" + testLocation + "/workflows/none/executions", "", 404, "NOT_FOUND"},
		"body is no JSON":      {"POST", executions, "{", 400, "INVALID_ARGUMENT"},
		"body is a list":       {"POST", executions, "[]", 400, "INVALID_ARGUMENT"},
		"unknown field":        {"POST", executions, `{"args":"1"}`, 400, "INVALID_ARGUMENT"},
		"argument is no text":  {"POST", executions, `{"argument":{"a":1}}`, 400, "INVALID_ARGUMENT"},
		"argument is no JSON":  {"POST", executions, `{"argument":"{"}`, 400, "INVALID_ARGUMENT"},
		"history level":        {"POST", executions, `{"executionHistoryLevel":"ALL"}`, 400, "INVALID_ARGUMENT"},
		"too much":             {"POST", executions, `{"argument":"` + strings.Repeat("a", maxBody) + `"}`, 400, "INVALID_ARGUMENT"},
		"unknown parameter":    {"GET", executions + "?pagesize=1", "", 400, "INVALID_ARGUMENT"},
		"page size is no size": {"GET", executions + "?pageSize=many", "", 400, "INVALID_ARGUMENT"},
		"unknown view":         {"GET", executions + "?view=ALL", "", 400, "INVALID_ARGUMENT"},
		"filter":               {"GET", executions + "?filter=nothing", "", 400, "INVALID_ARGUMENT"},
		"unknown execution":    {"GET", executions + "/none", "", 404, "NOT_FOUND"},
		"unknown verb":         {"POST", executions + "/none:pause", "", 404, "NOT_FOUND"},
		"unknown method":       {"PUT", executions + "/none", "", 404, "NOT_FOUND"},
		"empty part":           {"GET", "/v1/projects//locations/l/workflows/w/executions", "", 404, "NOT_FOUND"},
		"other path":           {"GET", "/", "", 404, "NOT_FOUND"},
		"steps of none":        {"GET", executions + "/none/stepEntries", "", 404, "NOT_FOUND"},
		"callbacks of none":    {"GET", executions + "/none/callbacks", "", 404, "NOT_FOUND"},
		"callback of none":     {"POST", "/v1/executions/none/callbacks/none", "", 404, "NOT_FOUND"},
		"export":               {"GET", executions + "/none:exportData", "", 501, "UNIMPLEMENTED"},
		"pubsub":               {"POST", "/v1/" + testWorkflow + ":triggerPubsubExecution", "{}", 501, "UNIMPLEMENTED"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(w.ctx, c.method, w.URL()+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			var got struct {
				Error struct {
					Code            int
					Message, Status string
				}
			}
			if err != nil || json.Unmarshal(body, &got) != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if resp.StatusCode != c.code || got.Error.Code != c.code || got.Error.Status != c.status || got.Error.Message == "" {
				t.Errorf("got %d %s, want %d %s", resp.StatusCode, body, c.code, c.status)
			}
		})
	}
	if got := w.Executions(); len(got) != 0 {
		t.Errorf("executions %v, want none", got)
	}
}

const stepping = `
main:
  steps:
    - each:
        for:
          value: n
          range: [1, 2]
          steps:
            - call_it:
                call: sub
    - boom:
        raise: {message: no}
sub:
  steps:
    - inner:
        assign:
          - x: 1
`

func TestStepEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, stepping, Deployment{})
	name := w.ended(w.create(nil).Name).Name
	list := func(filter string) []*rest.StepEntry {
		t.Helper()
		out, err := w.rest.StepEntries.List(name).Filter(filter).Context(w.ctx).Do()
		if err != nil || out.TotalSize != int64(len(out.StepEntries)) {
			t.Fatalf("%s: %+v, %v", filter, out, err)
		}
		return out.StepEntries
	}
	all := list("")
	if len(all) != len(w.Steps(name)) || len(all) == 0 {
		t.Fatalf("%d step entries, want %d", len(all), len(w.Steps(name)))
	}
	turns := list(`stepType="STEP_FOR_ITERATION"`)
	if len(turns) != 2 || turns[1].StepEntryMetadata.ProgressNumber != 2 || turns[1].StepEntryMetadata.ExpectedIteration != 2 ||
		turns[1].StepEntryMetadata.ProgressType != "PROGRESS_TYPE_FOR" {
		t.Errorf("iterations %+v", turns)
	}
	if inner := list(`routine="sub" AND step="inner"`); len(inner) != 2 || inner[0].StepType != "STEP_ASSIGN" || inner[0].State != "STATE_SUCCEEDED" {
		t.Errorf("steps of the subworkflow %+v", inner)
	}
	failed := list(`state="FAILED"`)
	if len(failed) != 1 || failed[0].Step != "boom" || failed[0].Exception.Payload != `{"message":"no"}` {
		t.Errorf("failed %+v", failed)
	}
	each := list(`step="each" AND stepType="STEP_FOR"`)
	if len(each) != 1 || len(each[0].NavigationInfo.Children) != 2 || each[0].NavigationInfo.Next != failed[0].EntryId {
		t.Errorf("loop %+v, want two children, and boom next", each)
	}
	one, err := w.rest.StepEntries.Get(failed[0].Name).Context(w.ctx).Do()
	if err != nil || one.EntryId != failed[0].EntryId {
		t.Errorf("get: %+v, %v", one, err)
	}
	if _, err := w.rest.StepEntries.Get(name + "/stepEntries/999").Context(w.ctx).Do(); err == nil {
		t.Error("an entry that is not there was found")
	}
	skipped, err := w.rest.StepEntries.List(name).Skip(1).PageSize(2).OrderBy("entryId desc").Context(w.ctx).Do()
	if err != nil || len(skipped.StepEntries) != 2 || skipped.StepEntries[0].EntryId != int64(len(all)-1) || skipped.NextPageToken == "" {
		t.Errorf("skip: %+v, %v", skipped, err)
	}
	if _, err := w.rest.DeleteExecutionHistory(name, &rest.DeleteExecutionHistoryRequest{}).Context(w.ctx).Do(); err != nil {
		t.Error(err)
	}
	if left := list(""); len(left) != 0 {
		t.Errorf("%d entries after the history was deleted", len(left))
	}
}

// Step entries of branches that overtake one another are all kept, each under its id.
func TestStepEntriesParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, `
- all:
    parallel:
      for:
        value: n
        range: [1, 20]
        steps:
          - note:
              assign:
                - x: ${n}
`, Deployment{})
	name := w.ended(w.create(nil).Name).Name
	for i, e := range w.Steps(name) {
		if e.EntryID != int64(i+1) || e.State != engine.StepSucceeded {
			t.Errorf("entry %d is %+v", i+1, e)
		}
	}
	out, err := w.rest.StepEntries.List(name).Filter(`stepType="STEP_FOR_ITERATION"`).Context(w.ctx).Do()
	if err != nil || len(out.StepEntries) != 20 {
		t.Fatalf("%+v, %v, want 20 iterations", out, err)
	}
	for _, e := range out.StepEntries {
		if at := e.StepEntryMetadata; at.ProgressType != "PROGRESS_TYPE_PARALLEL_FOR" || at.ExpectedIteration != 20 {
			t.Errorf("iteration %+v", at)
		}
	}
}
