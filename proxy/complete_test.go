package proxy

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/functions/guard"
)

func (l *listing) GetExecution(_ context.Context, r *executionspb.GetExecutionRequest) (*executionspb.Execution, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		if e.GetName() == r.GetName() {
			l.gets++
			if l.ends != nil {
				e.State = l.ends(e, l.gets)
			}
			return e, nil
		}
	}
	return nil, status.Error(codes.NotFound, "no such execution")
}

// endsAs makes each execution end in a state at its first look: the n-th execution in the n-th state, the last for the rest.
func endsAs(states ...executionspb.Execution_State) func(*executionspb.Execution, int) executionspb.Execution_State {
	return func(e *executionspb.Execution, _ int) executionspb.Execution_State {
		n := int(e.GetName()[strings.LastIndexByte(e.GetName(), '/')+1] - '1')
		return states[min(n, len(states)-1)]
	}
}

func succeedingWorld(t *testing.T, edit func(*Config)) *world {
	t.Helper()
	return newWorld(t, func(c *Config) {
		c.CompleteOn, c.PollInterval = onSucceeded, time.Millisecond
		if edit != nil {
			edit(c)
		}
	})
}

const (
	executionActive    = executionspb.Execution_ACTIVE
	executionSucceeded = executionspb.Execution_SUCCEEDED
	executionFailed    = executionspb.Execution_FAILED
)

// R19: the delivery is held until the execution has succeeded, and that is what is recorded.
func TestHeldUntilSucceeded(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, nil)
	w.api.ends = func(_ *executionspb.Execution, looks int) executionspb.Execution_State {
		if looks < 3 {
			return executionActive
		}
		return executionSucceeded
	}
	got := w.deliver("")
	if got.status != http.StatusOK || !strings.Contains(got.body, "SUCCEEDED") || w.api.gets != 3 {
		t.Errorf("got %+v after %d looks, want it succeeded after 3", got, w.api.gets)
	}
	if again := w.deliver(""); again.body != got.body || w.creates() != 1 {
		t.Errorf("again: got %+v and %d executions, want a replay", again, w.creates())
	}
}

// R19: a failed execution is started again with the same run id.
func TestFailedIsStartedAgain(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, nil)
	w.api.ends = endsAs(executionFailed, executionSucceeded)
	if got := w.deliver(""); got.status != http.StatusOK || got.execution() != testTarget+"/executions/2" || w.creates() != 2 {
		t.Errorf("got %+v and %d executions, want the second to succeed", got, w.creates())
	}
	if a, b := runIDIn(w.api.all[0].GetArgument()), runIDIn(w.api.all[1].GetArgument()); a != b || a != w.runID() {
		t.Errorf("got run ids %s and %s, want one", a, b)
	}
}

// R19: after MaxStarts failures it is over, and 200 stops the Scheduler.
func TestFailedForGood(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, func(c *Config) { c.MaxStarts = 2 })
	w.api.ends = endsAs(executionFailed)
	for range 2 {
		if got := w.deliver(""); got.status != http.StatusOK || got.code() != "failed" || !strings.Contains(got.body, codeFailedRun) || w.creates() != 2 {
			t.Errorf("got %+v and %d executions, want 200 that says failed, and 2", got, w.creates())
		}
	}
	if !strings.Contains(w.log.String(), "ERROR") {
		t.Error("nothing in the log to alert on")
	}
}

// R19: a person may let a run start again that failed for good; it then has as many starts as before.
func TestRerunAfterFailure(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, func(c *Config) { c.MaxStarts = 2 })
	w.api.ends = endsAs(executionFailed, executionFailed, executionSucceeded)
	if got := w.deliver(""); got.code() != "failed" || w.creates() != 2 {
		t.Fatalf("got %+v and %d executions, want it failed after 2", got, w.creates())
	}
	if _, err := w.guard.Settle(t.Context(), w.runID(), guard.Settlement{Status: guard.InProgress, Actor: "a", Reason: "mended"}); err != nil {
		t.Fatal(err)
	}
	if got := w.deliver(""); got.status != http.StatusOK || got.execution() != testTarget+"/executions/3" {
		t.Errorf("got %+v and %d executions, want the third to succeed", got, w.creates())
	}
}

// R19: when the delivery's time is up the claim is given up, and the next delivery goes on watching the same execution.
func TestHeldTooLong(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, func(c *Config) { c.HandlerTimeout = 300 * time.Millisecond })
	w.api.ends = endsAs(executionActive)
	got := w.deliver("")
	if got.status != http.StatusConflict || got.header.Get("Retry-After") == "" || got.code() != "still-running" {
		t.Errorf("got %+v, want 409 with Retry-After", got)
	}
	if got := w.sweep(); len(got.Resumed) != 1 || got.Resumed[0].Outcome != "still-running" {
		t.Errorf("sweep: got %+v, want it to look once", got)
	}
	w.api.mu.Lock()
	w.api.ends = endsAs(executionSucceeded)
	w.api.mu.Unlock()
	if got := w.deliver(""); got.status != http.StatusOK || w.creates() != 1 {
		t.Errorf("next: got %+v and %d executions, want 200 and 1", got, w.creates())
	}
}

// R16, R19: a lost answer of the second start is adopted, and the first, failed one is not taken for it.
func TestLostSecondStart(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, nil)
	w.api.ends = endsAs(executionFailed, executionSucceeded)
	w.faults.Add(fault.Rule{Method: "CreateExecution", N: 2, Kind: fault.Lose})
	if got := w.deliver(""); got.status != http.StatusOK || got.execution() != testTarget+"/executions/2" || w.creates() != 2 {
		t.Errorf("got %+v and %d executions, want the second adopted", got, w.creates())
	}
}

// R5: a manual run carries the coming slot, and does not swallow it.
func TestForcedRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		forced string
		runs   int
	}{"own": {"own", 2}, "next": {"next", 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.Forced = tt.forced; c.ForcedSkew = time.Minute })
			w.slot = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			w.deliver("")
			w.deliver("")                    // its retry
			w.cfg.ForcedSkew = 2 * time.Hour // an hour later, seen from here
			s, _ := w.start()
			w.url = "http://" + s.Addr()
			if got := w.deliver(""); got.status != http.StatusOK || w.creates() != tt.runs {
				t.Errorf("the slot: got %+v and %d executions, want %d", got, w.creates(), tt.runs)
			}
			if !strings.Contains(w.log.String(), "before its time") {
				t.Error("a slot claimed before its time is not in the log")
			}
		})
	}
}

// An alias is a short path to an allowed target.
func TestAlias(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Aliases = []string{"orders=" + testTarget} })
	first := w.deliver("")
	r := w.request("")
	r.URL.Path = "/run/orders"
	if got := w.send(r); got.body != first.body || w.creates() != 1 {
		t.Errorf("got %+v and %d executions, want one run on both paths", got, w.creates())
	}
	r = w.request("")
	r.URL.Path = "/run/other"
	if got := w.send(r); got.status != http.StatusNotFound {
		t.Errorf("no such alias: got %+v, want 404", got)
	}
}
