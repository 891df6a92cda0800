package workflowstest

import (
	"errors"
	"testing"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/api/googleapi"
	rest "google.golang.org/api/workflowexecutions/v1"
	"google.golang.org/grpc/codes"
)

func TestQuotaQueues(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run, MaxRunning: 1, MaxQueued: 2})
	w.deploy(testWorkflow, echo, Deployment{})
	running, second, third := w.create(nil), w.create(nil), w.create(nil)
	if running.State != pb.Execution_ACTIVE || second.State != pb.Execution_QUEUED || second.StartTime != nil {
		t.Errorf("states %v and %v, want ACTIVE and QUEUED", running, second)
	}
	_, err := w.grpc.CreateExecution(w.ctx, &pb.CreateExecutionRequest{Parent: testWorkflow})
	wantCode(t, err, codes.ResourceExhausted)
	if _, err := w.grpc.CancelExecution(w.ctx, &pb.CancelExecutionRequest{Name: second.Name}); err != nil {
		t.Fatal(err)
	}
	if got := w.ended(second.Name); got.State != pb.Execution_CANCELLED || got.StartTime != nil {
		t.Errorf("cancelled while QUEUED: %v", got)
	}
	fourth := w.create(nil) // there is room in the queue again
	if !w.Kill(fourth.Name) || w.ended(fourth.Name).State != pb.Execution_FAILED {
		t.Error("what waits can be killed, too")
	}
	close(h.release)
	if got := w.ended(third.Name); got.State != pb.Execution_SUCCEEDED || got.StartTime == nil {
		t.Errorf("queued, then started: %v", got)
	}
	if first, next := <-h.started, <-h.started; first != running.Name || next != third.Name {
		t.Errorf("started %s, %s", first, next)
	}
}

func TestQuotaWithoutBacklog(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run, MaxRunning: 1, MaxQueued: -1})
	w.deploy(testWorkflow, echo, Deployment{})
	w.create(nil)
	_, err := w.grpc.CreateExecution(w.ctx, &pb.CreateExecutionRequest{Parent: testWorkflow})
	wantCode(t, err, codes.ResourceExhausted)
}

// A caller of REST may refuse the backlog for one execution.
func TestQuotaBufferingDisabled(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run, MaxRunning: 1})
	w.deploy(testWorkflow, echo, Deployment{})
	w.create(nil)
	_, err := w.rest.Create(testWorkflow, &rest.Execution{DisableConcurrencyQuotaOverflowBuffering: true}).Context(w.ctx).Do()
	var api *googleapi.Error
	if !errors.As(err, &api) || api.Code != 429 {
		t.Errorf("got %v, want 429", err)
	}
	e, err := w.rest.Create(testWorkflow, &rest.Execution{}).Context(w.ctx).Do()
	if err != nil || e.State != "QUEUED" || e.CreateTime == "" || e.StartTime != "" {
		t.Errorf("got %v, %v, want QUEUED", e, err)
	}
}
