package workflowstest

import (
	"testing"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	rest "google.golang.org/api/workflowexecutions/v1"
	"google.golang.org/grpc/codes"

	"example.com/runonce/e2e/fault"
)

// R16: the execution runs, and its caller does not learn of it.
func TestCreateAnswerLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{})
	for _, c := range []struct {
		rule       fault.Rule
		code       codes.Code
		executions int
	}{
		{fault.Rule{Method: "CreateExecution", Kind: fault.Lose, N: 1}, codes.Unavailable, 1},
		{fault.Rule{Method: "CreateExecution", Kind: fault.Lose, N: 1, Code: codes.DeadlineExceeded}, codes.DeadlineExceeded, 2},
		{fault.Rule{Method: "CreateExecution", Kind: fault.Refuse, N: 1, Code: codes.ResourceExhausted}, codes.ResourceExhausted, 2},
		{fault.Rule{Method: "CreateExecution", Kind: fault.Duplicate, N: 1}, codes.OK, 4},
	} {
		w.Faults().Add(c.rule)
		_, err := w.grpc.CreateExecution(w.ctx, &pb.CreateExecutionRequest{Parent: testWorkflow})
		wantCode(t, err, c.code)
		if got := len(w.Executions()); got != c.executions {
			t.Errorf("after %v: %d executions, want %d", c.rule.Kind, got, c.executions)
		}
	}
	calls := w.Calls()
	if len(calls) != 4 || calls[0].Kind != fault.Lose || calls[0].Method != "/google.cloud.workflows.executions.v1.Executions/CreateExecution" {
		t.Errorf("calls %v", calls)
	}
}

func TestRESTAnswerLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{})
	w.Faults().Add(fault.Rule{Method: "POST /v1/" + testWorkflow + "/executions", Kind: fault.Lose, N: 1})
	if _, err := w.rest.Create(testWorkflow, &rest.Execution{}).Context(w.ctx).Do(); err == nil {
		t.Error("the answer arrived")
	}
	if got := len(w.Executions()); got != 1 {
		t.Errorf("%d executions, want 1", got)
	}
	out, err := w.rest.List(testWorkflow).Context(w.ctx).Do()
	if err != nil || len(out.Executions) != 1 || len(w.Calls()) != 2 {
		t.Errorf("list %v, error %v, calls %v", out, err, w.Calls())
	}
}
