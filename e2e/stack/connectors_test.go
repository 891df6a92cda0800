package stack

import (
	"testing"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/workflowstest"
	"example.com/runonce/workflows/templates"
)

const gateName = "projects/" + Project + "/locations/" + Location + "/workflows/gate"

// gateWorld is a stack with the template gate deployed; start runs one execution of it to its end.
func gateWorld(t *testing.T) (s *Stack, start func(runID string) workflowstest.Execution) {
	t.Helper()
	s, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	source, err := templates.FS.ReadFile("gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Workflows.Deploy(t.Context(), gateName, source, workflowstest.Deployment{}); err != nil {
		t.Fatal(err)
	}
	client, err := s.ExecutionsClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return s, func(runID string) workflowstest.Execution {
		t.Helper()
		e, err := client.CreateExecution(t.Context(), &executionspb.CreateExecutionRequest{
			Parent: gateName, Execution: &executionspb.Execution{Argument: `{"run_id": "` + runID + `"}`},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Workflows.Wait(t.Context(), e.GetName()); err != nil {
			t.Fatal(err)
		}
		got, _ := s.Workflows.Execution(e.GetName())
		return got
	}
}

// One execution of a run passes the gate; a second one ends early and names it. R21, R23.
func TestGate(t *testing.T) {
	t.Parallel()
	_, start := gateWorld(t)
	first := start("run-1")
	if first.Result != `{"run_id":"run-1"}` {
		t.Fatalf("first: got %s %s %s", first.State, first.Result, first.Error)
	}
	if got := start("run-1"); got.Result != `{"duplicate_of":"`+first.Name+`"}` {
		t.Errorf("second: got %s %s %s, want a duplicate of %s", got.State, got.Result, got.Error, first.Name)
	}
	if got := start("run-2"); got.Result != `{"run_id":"run-2"}` {
		t.Errorf("another run: got %s %s %s", got.State, got.Result, got.Error)
	}
}

// The execution that created the gate and did not hear the answer passes: it is not locked out by itself. R23, B18.
func TestGateLostAnswer(t *testing.T) {
	t.Parallel()
	s, start := gateWorld(t)
	s.Store.Faults().Add(fault.Rule{Method: "/CreateDocument", N: 1, Kind: fault.Lose}) // UNAVAILABLE, which the connector retries
	if got := start("run-1"); got.Result != `{"run_id":"run-1"}` {
		t.Errorf("got %s %s %s, want it to pass", got.State, got.Result, got.Error)
	}
}

// A run whose first execution failed behind the gate goes on with the next. R19, R23.
func TestGateAfterFailure(t *testing.T) {
	t.Parallel()
	s, start := gateWorld(t)
	held := s.Store.Faults().HoldAnswer("/GetDocument", 1) // the first execution has created its gate and reads it
	done := make(chan workflowstest.Execution, 1)
	go func() { done <- start("run-1") }()
	if err := held.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Workflows.Executions() {
		s.Workflows.Kill(e.Name)
	}
	held.Release()
	if got := <-done; got.State != "FAILED" {
		t.Fatalf("first: got %s, want FAILED", got.State)
	}
	if got := start("run-1"); got.Result != `{"run_id":"run-1"}` {
		t.Errorf("second: got %s %s %s, want it to take the run over", got.State, got.Result, got.Error)
	}
}

// A gate that cannot be asked lets nothing pass.
func TestGateFailsClosed(t *testing.T) {
	t.Parallel()
	s, start := gateWorld(t)
	s.Store.Faults().Add(fault.Rule{Method: "Document", Kind: fault.Refuse, Code: 7}) // PERMISSION_DENIED
	if got := start("run-1"); got.State != "FAILED" {
		t.Errorf("got %s %s, want FAILED", got.State, got.Result)
	}
}
