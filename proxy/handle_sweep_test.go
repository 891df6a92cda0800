package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/functions/guard"
)

func (w *world) sweep() swept {
	w.t.Helper()
	r := w.request("")
	r.URL.Path = "/sweep"
	got := w.send(r)
	var s swept
	if got.status != http.StatusOK || json.Unmarshal([]byte(got.body), &s) != nil {
		w.t.Fatalf("sweep: got %+v, want 200 and a report", got)
	}
	return s
}

// A run whose only delivery died is taken up by the sweep, once, from its record; one at work is left alone.
func TestSweepTakesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Refuse, Code: codes.ResourceExhausted})
	if got := w.deliver(`{"argument":"{\"region\":\"eu\"}"}`); got.status != http.StatusTooManyRequests {
		t.Fatalf("got %+v, want 429", got)
	}
	got := w.sweep()
	if len(got.Resumed) != 1 || got.Resumed[0].Outcome != "started" || w.creates() != 1 || runIDIn(w.api.all[0].GetArgument()) != w.runID() {
		t.Errorf("got %+v and %d executions, want the run started", got, w.creates())
	}
	if got := w.sweep(); got.Seen != 0 || w.creates() != 1 {
		t.Errorf("again: got %+v, want nothing to do", got)
	}
	if got := w.deliver(""); got.status != http.StatusOK || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("late delivery: got %+v, want a replay", got)
	}
}

// R16: a start whose answer and look-up were lost is adopted by the sweep, not repeated.
func TestSweepAdopts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Lose})
	w.faults.Add(fault.Rule{Method: "ListExecutions", Kind: fault.Refuse, Code: codes.PermissionDenied})
	w.deliver("")
	if got := w.sweep(); len(got.Resumed) != 1 || got.Resumed[0].Outcome != "start-unknown" || w.creates() != 1 {
		t.Errorf("while lists are denied: got %+v and %d executions, want it unknown and 1", got, w.creates())
	}
	w.faults.Clear()
	if got := w.sweep(); len(got.Resumed) != 1 || got.Resumed[0].Outcome != "adopted" || w.creates() != 1 {
		t.Errorf("got %+v and %d executions, want it adopted", got, w.creates())
	}
}

// Beside a delivery at work and other sweeps, a sweep changes nothing.
func TestSweepBesideDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	gate := w.faults.Hold("CreateExecution", 1)
	first := make(chan reply, 1)
	go func() { first <- w.deliver("") }()
	<-gate.Arrived()
	if got := w.sweep(); got.Alive != 1 || len(got.Resumed) != 0 {
		t.Errorf("got %+v, want the run alive", got)
	}
	w.store.Advance(2 * w.cfg.WithDefaults().Lease) // the delivery's claim is over, though it does not know
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { w.sweep() })
	}
	wg.Wait()
	gate.Release()
	<-first
	if n := w.creates(); n > 2 {
		t.Errorf("got %d executions; want the zombie's and one more at most, as the gate of the workflow then sorts out", n)
	}
}

// What a sweep must not take up is reported, and left as it was.
func TestSweepLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.SweepAttempts = 2 })
	w.faults.Add(fault.Rule{Method: "CreateExecution", Kind: fault.Refuse, Code: codes.NotFound})
	w.deliver("")
	w.deliver("")
	foreign := fmt.Sprintf("%064x", 7)
	if _, err := w.guardClaimAndRelease(foreign, nil); err == nil {
		t.Fatal("want the foreign run released")
	}
	step := foreign + "/charge"
	if _, err := w.guardClaimAndRelease(step, nil); err == nil {
		t.Fatal("want the step released")
	}
	got := w.sweep()
	why := map[string]string{}
	for _, l := range got.Left {
		why[l.RunID] = l.Outcome
	}
	if len(why) != 2 || why[w.runID()] != "too-many-attempts" || why[foreign] != "not-ours" || len(got.Resumed) != 0 {
		t.Errorf("got %+v, want the two left, each with its reason, and the step not seen", got)
	}
}

func (w *world) guardClaimAndRelease(token string, input []byte) (guard.Result[string], error) {
	return guard.Do(w.t.Context(), w.guard, guard.Effect[string]{
		Request: guard.Request{Token: token, Input: input},
		Do: func(context.Context, guard.Attempt) (string, error) {
			return "", guard.NotApplied(http.ErrAbortHandler)
		},
	})
}

// The work of one call is bounded, and the next goes on.
func TestSweepIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.SweepLimit = 2 })
	w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Times: 5, Kind: fault.Refuse, Code: codes.ResourceExhausted})
	for i := range 5 {
		r := w.request("")
		r.Header.Set("X-CloudScheduler-JobName", fmt.Sprint("job", i))
		w.send(r)
	}
	for i, want := range []int{2, 2, 1} {
		if got := w.sweep(); len(got.Resumed) != want || got.More != (want == 2) {
			t.Errorf("sweep %d: got %+v, want %d resumed", i, got, want)
		}
	}
	if w.creates() != 5 {
		t.Errorf("got %d executions, want 5", w.creates())
	}
}

// R18: a sweep needs a token as well, and only POST.
func TestSweepRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.request("")
	r.URL.Path = "/sweep"
	r.Header.Del("Authorization")
	if got := w.send(r); got.status != http.StatusUnauthorized {
		t.Errorf("no token: got %+v, want 401", got)
	}
	r = w.request("")
	r.URL.Path, r.Method = "/sweep", http.MethodGet
	if got := w.send(r); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: got %+v, want 405", got)
	}
	w.untouched()
}
