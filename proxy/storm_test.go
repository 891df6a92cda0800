package proxy

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/workflowstest"
)

const echo = `
main:
  params: [args]
  steps:
    - finish:
        return: ${args.run_id}
`

// onEngine puts the imitation of the whole API, where workflows really run, in the place of the listing.
func (w *world) onEngine(cfg workflowstest.Config) *workflowstest.Server {
	w.t.Helper()
	ws := workflowstest.New(cfg)
	w.t.Cleanup(ws.Close)
	if err := ws.Deploy(w.t.Context(), testTarget, []byte(echo), workflowstest.Deployment{}); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if w.ex, err = ws.Client(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	s, _ := w.start()
	w.url = "http://" + s.Addr()
	return ws
}

// R7, R15, R16: a thousand deliveries of a hundred runs, 64 at once, while calls to the store and to the API fail in every way, start a hundred
// executions, each with its own run id.
func TestThousandDeliveries(t *testing.T) {
	t.Parallel()
	const runs, deliveries, atOnce = 100, 1000, 64
	w := newWorld(t, nil)
	plan := &fault.Plan{}
	ws := w.onEngine(workflowstest.Config{Faults: plan})
	kinds := []fault.Kind{fault.Refuse, fault.Lose, fault.Abort, fault.Duplicate}
	for i := range 20 {
		w.store.Faults().Add(fault.Rule{Method: "Commit", N: 11 * (i + 1), Kind: kinds[i%len(kinds)]})
		w.store.Faults().Add(fault.Rule{Method: "BatchGetDocuments", N: 37 * (i + 1), Kind: kinds[i%2]})
		plan.Add(fault.Rule{Method: "CreateExecution", N: 7 * (i + 1), Kind: fault.Lose, Code: []codes.Code{codes.Unavailable, codes.Internal, codes.DeadlineExceeded}[i%3]})
		plan.Add(fault.Rule{Method: "ListExecutions", N: 5 * (i + 1), Kind: fault.Refuse})
	}
	var mu sync.Mutex
	done := map[int]bool{}
	deliver := func(run int) {
		r := w.request("")
		r.Header.Set("X-CloudScheduler-JobName", fmt.Sprint("job-", run))
		got := w.send(r)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case got.status == http.StatusOK:
			done[run] = true
		case got.status == http.StatusServiceUnavailable:
			t.Errorf("run %d: got 503", run)
		}
	}
	var wg sync.WaitGroup
	gate := make(chan struct{}, atOnce)
	for i := range deliveries {
		gate <- struct{}{}
		wg.Go(func() { deliver(i % runs); <-gate })
	}
	wg.Wait()
	for range 5 {
		w.store.Advance(2 * w.cfg.WithDefaults().Lease)
		for run := range runs {
			if !done[run] {
				deliver(run)
			}
		}
	}
	if len(done) != runs {
		t.Errorf("%d of %d runs finished", len(done), runs)
	}
	seen := map[string]int{}
	for _, e := range ws.Executions() {
		seen[runIDIn(e.Argument)]++
	}
	if len(seen) != runs || len(ws.Executions()) != runs {
		t.Errorf("got %d executions of %d runs, want %d of each", len(ws.Executions()), len(seen), runs)
	}
}

// R16: the label filter is not understood, and the list lags behind: the lost start is adopted all the same, after the grace.
func TestAdoptionThroughLag(t *testing.T) {
	t.Parallel()
	for _, reject := range []bool{false, true} {
		t.Run(fmt.Sprint(reject), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.Grace = 300 * time.Millisecond })
			plan := &fault.Plan{}
			ws := w.onEngine(workflowstest.Config{Faults: plan, ListLag: 100 * time.Millisecond, RejectLabelFilter: reject})
			plan.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Lose})
			if got := w.deliver(""); got.status != http.StatusOK || len(ws.Executions()) != 1 || got.execution() != ws.Executions()[0].Name {
				t.Errorf("got %+v and %d executions, want it adopted", got, len(ws.Executions()))
			}
		})
	}
}

// R19: with the engine behind it, a delivery is answered when the workflow has returned.
func TestEngineSucceeds(t *testing.T) {
	t.Parallel()
	w := succeedingWorld(t, nil)
	ws := w.onEngine(workflowstest.Config{})
	if got := w.deliver(""); got.status != http.StatusOK || len(ws.Executions()) != 1 || ws.Executions()[0].State != "SUCCEEDED" {
		t.Errorf("got %+v, want it succeeded", got)
	}
}
