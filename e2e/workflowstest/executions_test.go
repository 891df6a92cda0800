package workflowstest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// R15, R16: what a caller sends arrives in the workflow and can be read back.
func TestExecutionSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{Labels: map[string]string{"team": "a", "env": "test"}})
	created := w.create(&pb.Execution{
		Argument: `{"run_id":"r1"}`, Labels: map[string]string{"team": "b", "run": "r1"}, CallLogLevel: pb.Execution_LOG_ALL_CALLS,
	})
	if !strings.HasPrefix(created.Name, testWorkflow+"/executions/") || created.WorkflowRevisionId == "" || created.StartTime == nil {
		t.Errorf("created %v", created)
	}
	got := w.ended(created.Name)
	if got.State != pb.Execution_SUCCEEDED || got.Result != `{"run_id":"r1"}` || got.Argument != `{"run_id":"r1"}` || got.Error != nil {
		t.Errorf("ended %v", got)
	}
	if diff := cmp.Diff(map[string]string{"team": "b", "env": "test", "run": "r1"}, got.Labels); diff != "" {
		t.Errorf("labels of the workflow, overridden by the execution's (-want +got):\n%s", diff)
	}
	if got.CallLogLevel != pb.Execution_LOG_ALL_CALLS || got.EndTime == nil || got.Duration == nil {
		t.Errorf("ended %v", got)
	}
	if steps := got.GetStatus().GetCurrentSteps(); len(steps) != 1 || steps[0].Step != "done" || steps[0].Routine != "main" {
		t.Errorf("current steps %v, want main.done", steps)
	}
	basic, err := w.grpc.GetExecution(w.ctx, &pb.GetExecutionRequest{Name: created.Name, View: pb.ExecutionView_BASIC})
	if err != nil || basic.Argument != "" || basic.Result != "" || basic.Labels != nil || basic.State != pb.Execution_SUCCEEDED {
		t.Errorf("basic view %v, error %v", basic, err)
	}
}

func TestExecutionFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, payload, context string }{
		"map": {
			source:  "- boom:\n    raise: {code: 7, message: no, tags: [Own]}\n",
			payload: `{"code":7,"message":"no","tags":["Own"]}`,
			context: `in step "boom", routine "main"`,
		},
		"text":     {source: "- boom:\n    raise: no\n", payload: `"no"`, context: "no"},
		"language": {source: "- boom:\n    return: ${1/0}\n", payload: "", context: "division"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, Config{})
			w.deploy(testWorkflow, c.source, Deployment{})
			got := w.ended(w.create(nil).Name)
			if got.State != pb.Execution_FAILED || got.Result != "" || got.Error == nil {
				t.Fatalf("ended %v", got)
			}
			if c.payload != "" && got.Error.Payload != c.payload {
				t.Errorf("payload %s, want %s", got.Error.Payload, c.payload)
			}
			if !json.Valid([]byte(got.Error.Payload)) || !strings.Contains(got.Error.Context, c.context) {
				t.Errorf("error %v", got.Error)
			}
			if at := got.Error.GetStackTrace().GetElements(); len(at) != 1 || at[0].Step != "boom" || at[0].Position.GetLine() == 0 {
				t.Errorf("stack %v", at)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{NewID: func() string { return "exec-1" }})
	w.deploy(testWorkflow, `
- read:
    assign:
      - out: {}
- each:
    for:
      value: n
      in: [PROJECT_ID, PROJECT_NUMBER, LOCATION, WORKFLOW_ID, WORKFLOW_EXECUTION_ID, SERVICE_ACCOUNT_NAME]
      steps:
        - one:
            assign:
              - out[n]: ${sys.get_env("GOOGLE_CLOUD_" + n)}
- own:
    assign:
      - out.url: ${sys.get_env("ORDERS_URL")}
      - out.revision: ${sys.get_env("GOOGLE_CLOUD_WORKFLOW_REVISION_ID")}
- done:
    return: ${out}
`, Deployment{Env: map[string]string{"ORDERS_URL": "http://orders"}, ServiceAccount: "wf@p.iam.gserviceaccount.com"})
	got := w.ended(w.create(nil).Name)
	var env map[string]string
	if err := json.Unmarshal([]byte(got.Result), &env); err != nil {
		t.Fatalf("%v: %v", err, got)
	}
	want := map[string]string{
		"PROJECT_ID": "p", "PROJECT_NUMBER": projectNumber, "LOCATION": "europe-west1", "WORKFLOW_ID": "w", "WORKFLOW_EXECUTION_ID": "exec-1",
		"SERVICE_ACCOUNT_NAME": "wf@p.iam.gserviceaccount.com", "url": "http://orders", "revision": got.WorkflowRevisionId,
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	many := map[string]string{}
	for i := range 40 {
		many["a"+strings.Repeat("x", i)] = ""
	}
	w.deploy(testWorkflow, echo, Deployment{Labels: many})
	others := map[string]string{}
	for i := range 40 {
		others["b"+strings.Repeat("x", i)] = ""
	}
	long := strings.Repeat("x", 64)
	label := func(k, v string) *pb.Execution { return &pb.Execution{Labels: map[string]string{k: v}} }
	for name, c := range map[string]struct {
		parent string
		in     *pb.Execution
		want   codes.Code
	}{
		"unknown workflow":          {testLocation + "/workflows/other", nil, codes.NotFound},
		"malformed parent":          {"workflows/w", nil, codes.InvalidArgument},
		"no parent":                 {"", nil, codes.InvalidArgument},
		"argument is no JSON":       {testWorkflow, &pb.Execution{Argument: "run"}, codes.InvalidArgument},
		"argument is cut off":       {testWorkflow, &pb.Execution{Argument: `{"a":`}, codes.InvalidArgument},
		"argument of 32 KiB":        {testWorkflow, &pb.Execution{Argument: `"` + strings.Repeat("a", 32<<10-2) + `"`}, codes.OK},
		"argument over 32 KiB":      {testWorkflow, &pb.Execution{Argument: `"` + strings.Repeat("a", 32<<10-1) + `"`}, codes.InvalidArgument},
		"label in capitals":         {testWorkflow, label("Team", "a"), codes.InvalidArgument},
		"label begins with a digit": {testWorkflow, label("1a", "a"), codes.InvalidArgument},
		"label without a key":       {testWorkflow, label("", "a"), codes.InvalidArgument},
		"label value in capitals":   {testWorkflow, label("a", "A"), codes.InvalidArgument},
		"label value with a dot":    {testWorkflow, label("a", "a.b"), codes.InvalidArgument},
		"label value of 63":         {testWorkflow, label("a", long[1:]), codes.OK},
		"label value of 64":         {testWorkflow, label("a", long), codes.InvalidArgument},
		"label key of 64":           {testWorkflow, label(long, "a"), codes.InvalidArgument},
		"international label":       {testWorkflow, label("größe", "grün"), codes.OK},
		"too many with inherited":   {testWorkflow, &pb.Execution{Labels: others}, codes.InvalidArgument},
		"unknown log level":         {testWorkflow, &pb.Execution{CallLogLevel: 99}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.grpc.CreateExecution(w.ctx, &pb.CreateExecutionRequest{Parent: c.parent, Execution: c.in})
			wantCode(t, err, c.want)
			if c.want == codes.InvalidArgument && len(status.Convert(err).Details()) == 0 {
				t.Errorf("%v names no field", err)
			}
		})
	}
	if got := len(w.Executions()); got != 3 {
		t.Errorf("%d executions, want the 3 that were fine", got)
	}
}

func TestGetRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{})
	for name, want := range map[string]codes.Code{
		testWorkflow + "/executions/none": codes.NotFound, testWorkflow: codes.InvalidArgument, "": codes.InvalidArgument,
	} {
		_, err := w.grpc.GetExecution(w.ctx, &pb.GetExecutionRequest{Name: name})
		wantCode(t, err, want)
		_, err = w.grpc.CancelExecution(w.ctx, &pb.CancelExecutionRequest{Name: name})
		wantCode(t, err, want)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Clock: newManual()}) // a sleep that nothing else ends
	w.deploy(testWorkflow, "- wait:\n    call: sys.sleep\n    args: {seconds: 3600}\n", Deployment{})
	e := w.create(nil)
	if e.State != pb.Execution_ACTIVE {
		t.Errorf("state %v, want ACTIVE", e.State)
	}
	got, err := w.grpc.CancelExecution(w.ctx, &pb.CancelExecutionRequest{Name: e.Name})
	if err != nil || got.State != pb.Execution_CANCELLED {
		t.Fatalf("cancel: %v, %v", got, err)
	}
	if got := w.ended(e.Name); got.State != pb.Execution_CANCELLED || got.Result != "" {
		t.Errorf("ended %v", got)
	}
	_, err = w.grpc.CancelExecution(w.ctx, &pb.CancelExecutionRequest{Name: e.Name})
	wantCode(t, err, codes.FailedPrecondition)
}

func TestKill(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run})
	w.deploy(testWorkflow, echo, Deployment{})
	e := w.create(nil)
	<-h.started
	if !w.Kill(e.Name) || w.Kill(e.Name) || w.Kill("none") {
		t.Error("Kill must report what it killed, once")
	}
	got := w.ended(e.Name)
	if got.State != pb.Execution_FAILED || !strings.Contains(got.Error.GetPayload(), "SystemError") {
		t.Errorf("ended %v", got)
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{})
	name := w.ended(w.create(&pb.Execution{Argument: `1`}).Name).Name
	w.SetUnavailable(name, true)
	got := w.ended(name)
	if got.State != pb.Execution_UNAVAILABLE || got.Result != "" || got.StateError.GetType() != pb.Execution_StateError_KMS_ERROR {
		t.Errorf("hidden: %v", got)
	}
	w.SetUnavailable(name, false)
	if got := w.ended(name); got.State != pb.Execution_SUCCEEDED || got.Result != "1" {
		t.Errorf("shown again: %v", got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	h := newHeld()
	s := New(Config{Runner: h.run, MaxRunning: 1})
	if err := s.Deploy(t.Context(), testWorkflow, []byte(echo), Deployment{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.create(testWorkflow, nil, restFields{}); err != nil {
			t.Fatal(err)
		}
	}
	<-h.started
	s.Close()
	for _, e := range s.Executions() {
		if err := s.Wait(t.Context(), e.Name); err != nil || e.State != "CANCELLED" {
			t.Errorf("%v after Close, wait %v", e, err)
		}
	}
	_, err := s.create(testWorkflow, nil, restFields{})
	wantCode(t, err, codes.Unavailable)
}

func TestClockIsTheServers(t *testing.T) {
	t.Parallel()
	clock := newManual()
	w := newWorld(t, Config{Clock: clock})
	w.deploy(testWorkflow, `
- wait:
    call: sys.sleep
    args: {seconds: 60}
- done:
    return: ${sys.now()}
`, Deployment{})
	e := w.create(nil)
	if got := e.StartTime.AsTime(); !got.Equal(epoch) {
		t.Errorf("started at %v, want %v", got, epoch)
	}
	for {
		clock.advance(time.Second)
		if got, _ := w.Execution(e.Name); got.State != "ACTIVE" {
			break
		}
		if w.ctx.Err() != nil {
			t.Fatal("the execution does not end")
		}
	}
	got := w.ended(e.Name)
	if d := got.Duration.AsDuration(); got.State != pb.Execution_SUCCEEDED || d < time.Minute || d%time.Second != 0 {
		t.Errorf("ended %v", got)
	}
}

// Every execution of a running workflow keeps the revision that it was started with.
func TestRevisionStays(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run})
	w.deploy(testWorkflow, echo, Deployment{})
	first := w.create(nil)
	w.deploy(testWorkflow, echo+"\n# changed", Deployment{})
	second := w.create(nil)
	close(h.release)
	if a, b := w.ended(first.Name).WorkflowRevisionId, w.ended(second.Name).WorkflowRevisionId; a != first.WorkflowRevisionId || b == a || !strings.HasPrefix(b, "000002-") {
		t.Errorf("revisions %s and %s", a, b)
	}
	all := w.Executions()
	if len(all) != 2 || all[0].Name != first.Name || all[1].Name != second.Name {
		t.Errorf("executions %v, want both in order", all)
	}
	if err := w.Wait(w.ctx, "none"); err == nil {
		t.Error("Wait for an unknown execution succeeded")
	}
}
