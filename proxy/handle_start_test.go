package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/idtokentest"
	"example.com/runonce/functions/guard"
)

// R7, R8, R10, R12, R15: a first delivery starts, a second gets the same bytes.
func TestStartAndReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.deliver(`{"argument":"{\"region\":\"<eu>\"}","callLogLevel":"LOG_ALL_CALLS","labels":{"team":"a"}}`)
	if first.status != http.StatusOK || first.execution() != testTarget+"/executions/1" || first.header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("first: got %+v, want the execution", first)
	}
	again := w.deliver(`{"argument":"{\"region\":\"edited since\"}"}`)
	if again.status != http.StatusOK || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: got %+v, want a replay of %s", again, first.body)
	}
	if w.creates() != 1 {
		t.Fatalf("got %d executions, want 1", w.creates())
	}
	id := w.runID()
	if e := w.api.all[0]; runIDIn(e.GetArgument()) != id || !strings.Contains(e.GetArgument(), `"region":"<eu>"`) || e.GetLabels()["team"] != "a" {
		t.Errorf("got argument %s and labels %v, want run id %s in it", e.GetArgument(), e.GetLabels(), id)
	}
	snap, err := w.guard.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if r := snap.Record; r.Status != guard.Completed || r.AttemptID == "" || r.ExpireAt.IsZero() || r.LeaseExpires.IsZero() || !strings.Contains(string(r.Input), testAccount) {
		t.Errorf("got record %+v", r)
	}
}

// R2, R3, R6, R18, A1: what is refused before anything is touched.
func TestRefusedBeforeTheClaim(t *testing.T) {
	t.Parallel()
	set := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	path := func(p string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = p } }
	for name, tt := range map[string]struct {
		edit   func(*http.Request)
		body   string
		status int
		code   string
	}{
		"no token":         {func(r *http.Request) { r.Header.Del("Authorization") }, "", 401, "unauthenticated"},
		"bad token":        {set("Authorization", "Bearer x.y.z"), "", 401, "unauthenticated"},
		"no job":           {func(r *http.Request) { r.Header.Del("X-CloudScheduler-JobName") }, "", 400, "missing-header"},
		"no time":          {func(r *http.Request) { r.Header.Del("X-CloudScheduler-ScheduleTime") }, "", 400, "missing-header"},
		"bad time":         {set("X-CloudScheduler-ScheduleTime", "now"), "", 400, "bad-time"},
		"bad name":         {set("X-CloudScheduler-JobName", "../x"), "", 400, "bad-name"},
		"no JSON":          {nil, "hello", 400, "bad-body"},
		"no object":        {nil, `{"argument":"[1]"}`, 400, "bad-argument"},
		"another run":      {nil, `{"argument":"{\"run_id\":\"x\"}"}`, 400, "run-id-clash"},
		"too long":         {nil, strings.Repeat("x", 200<<10), 413, "body-too-long"},
		"unknown workflow": {path("/v1/projects/p/locations/l/workflows/other/executions"), "", 404, "unknown-target"},
		"no workflow":      {path("/v1/projects/p/locations/l/workflows/a:b/executions"), "", 400, "bad-target"},
		"unknown path":     {path("/v1/projects"), "", 404, "unknown-path"},
		"trailing slash":   {path("/v1/" + testTarget + "/executions/"), "", 404, "unknown-path"},
		"double slash":     {path("//v1/" + testTarget + "/executions"), "", 404, "unknown-path"},
		"dots":             {path("/v1/x/../" + testTarget + "/executions"), "", 404, "unknown-path"},
		"GET":              {func(r *http.Request) { r.Method = http.MethodGet }, "", 405, "method"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			r := w.request(tt.body)
			if tt.edit != nil {
				tt.edit(r)
			}
			got := w.send(r)
			if got.status != tt.status || got.code() != tt.code {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, tt.status, tt.code)
			}
			w.untouched()
		})
	}
}

// R9: while one delivery is at work, another is told to come back.
func TestInProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	gate := w.faults.Hold("CreateExecution", 1)
	first := make(chan reply, 1)
	go func() { first <- w.deliver("") }()
	<-gate.Arrived()
	got := w.deliver("")
	if got.status != http.StatusConflict || got.header.Get("Retry-After") == "" || got.header.Get("Retry-After") == "0" {
		t.Errorf("got %+v, want 409 with Retry-After", got)
	}
	gate.Release()
	if got := <-first; got.status != http.StatusOK {
		t.Errorf("first: got %+v, want 200", got)
	}
	if got := w.deliver(""); got.status != http.StatusOK || w.creates() != 1 {
		t.Errorf("got %+v and %d executions, want 200 and 1", got, w.creates())
	}
}

// R16: the answer of CreateExecution is lost; the same delivery adopts what it started.
func TestAnswerOfCreateLost(t *testing.T) {
	t.Parallel()
	for _, c := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Aborted, codes.Canceled} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Lose, Code: c})
			w.api.hidden = 2 // the list lags behind: one filtered, one unfiltered look-up see nothing
			if got := w.deliver(""); got.status != http.StatusOK || got.execution() != testTarget+"/executions/1" {
				t.Errorf("got %+v, want the execution adopted", got)
			}
			if got := w.deliver(""); got.status != http.StatusOK || w.creates() != 1 {
				t.Errorf("again: got %+v and %d executions, want 200 and 1", got, w.creates())
			}
		})
	}
}

// R16: no look-up, no second create: neither in the same delivery nor in the next.
func TestNoCreateWithoutLookUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Lose})
	w.faults.Add(fault.Rule{Method: "ListExecutions", Kind: fault.Refuse, Code: codes.PermissionDenied})
	for i := range 3 {
		if got := w.deliver(""); got.status == http.StatusOK || got.status == http.StatusServiceUnavailable || w.creates() != 1 {
			t.Errorf("delivery %d: got %+v and %d executions, want an error and 1", i, got, w.creates())
		}
		w.store.Advance(2 * w.cfg.WithDefaults().Lease)
	}
	w.faults.Clear()
	if got := w.deliver(""); got.status != http.StatusOK || w.creates() != 1 {
		t.Errorf("got %+v and %d executions, want it adopted", got, w.creates())
	}
}

// R12: a start that certainly did not happen gives the claim up at once.
func TestCertainlyNotStarted(t *testing.T) {
	t.Parallel()
	for c, want := range map[codes.Code]int{
		codes.InvalidArgument: 400, codes.NotFound: 404, codes.PermissionDenied: 502, codes.Unauthenticated: 502,
		codes.FailedPrecondition: 400, codes.OutOfRange: 400, codes.Unimplemented: 502, codes.ResourceExhausted: 429,
	} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Refuse, Code: c})
			if got := w.deliver(""); got.status != want {
				t.Errorf("got %+v, want %d", got, want)
			}
			if got := w.deliver(""); got.status != http.StatusOK || w.creates() != 1 {
				t.Errorf("next: got %+v and %d executions, want 200 and 1 without a wait for the lease", got, w.creates())
			}
		})
	}
}

// The policy ack: a permanent refusal is recorded and acknowledged, since nothing else stops the Scheduler.
func TestPermanentAcknowledged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.OnPermanent = "ack" })
	w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Refuse, Code: codes.NotFound})
	for range 2 {
		if got := w.deliver(""); got.status != http.StatusOK || got.code() != "failed" {
			t.Errorf("got %+v, want 200 that says failed", got)
		}
	}
	if w.creates() != 0 {
		t.Errorf("got %d executions, want 0", w.creates())
	}
}

// R7: a storm of duplicates starts one execution.
func TestStorm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var wg sync.WaitGroup
	replies := make(chan reply, 32)
	for range cap(replies) {
		wg.Go(func() { replies <- w.deliver("") })
	}
	wg.Wait()
	close(replies)
	ok := 0
	for r := range replies {
		switch r.status {
		case http.StatusOK:
			ok++
		case http.StatusConflict:
		default:
			t.Errorf("got %+v, want 200 or 409", r)
		}
	}
	if ok == 0 || w.creates() != 1 {
		t.Errorf("got %d answers of 200 and %d executions, want some and 1", ok, w.creates())
	}
}

// R7, R11, R16: each call of a delivery fails in turn, to the store and to the API, in each way; further deliveries bring it to one execution.
// An API that executes one create twice is not among them: that is what the workflow's own gate is for.
func TestEachCallFails(t *testing.T) {
	t.Parallel()
	plans := map[string]func(*world) *fault.Plan{
		"store": func(w *world) *fault.Plan { return w.store.Faults() },
		"api":   func(w *world) *fault.Plan { return w.faults },
	}
	for _, kind := range []fault.Kind{fault.Refuse, fault.Lose, fault.Abort, fault.Duplicate} {
		for where, plan := range plans {
			for n := 1; n <= 4; n++ {
				if where == "api" && kind == fault.Duplicate {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", kind, where, n), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, nil)
					w.faults.Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Lose}) // so that every path has look-ups in it
					plan(w).Add(fault.Rule{N: n, Kind: kind})
					untilDone(t, w)
					if w.creates() != 1 {
						t.Errorf("got %d executions, want 1", w.creates())
					}
				})
			}
		}
	}
}

// untilDone delivers again, a lease later each time, until a delivery gets 200.
func untilDone(t *testing.T, w *world) {
	t.Helper()
	for range 6 {
		got := w.deliver("")
		if got.status == http.StatusServiceUnavailable {
			t.Fatalf("got %+v; 503 is never given", got)
		}
		if got.status == http.StatusOK {
			return
		}
		w.store.Advance(2 * w.cfg.WithDefaults().Lease)
	}
	t.Fatal("six deliveries did not finish the run")
}

// A scope of none lets two targets share a name; the second is told so.
func TestMismatch(t *testing.T) {
	t.Parallel()
	const other = "projects/p/locations/l/workflows/other"
	w := newWorld(t, func(c *Config) { c.Scope = "none"; c.Targets = append(c.Targets, other) })
	if got := w.deliver(""); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	r := w.request("")
	r.URL.Path = "/v1/" + other + "/executions"
	if got := w.send(r); got.status != http.StatusUnprocessableEntity || w.creates() != 1 {
		t.Errorf("got %+v and %d executions, want 422 and 1", got, w.creates())
	}
}

// A17: as many deliveries as may be at work are, and the next is told to come back.
func TestBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxConcurrent = 1 })
	gate := w.faults.Hold("CreateExecution", 1)
	first := make(chan reply, 1)
	go func() { first <- w.deliver("") }()
	<-gate.Arrived()
	if got := w.deliver(""); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("got %+v, want 429 with Retry-After", got)
	}
	gate.Release()
	<-first
}

// A16: neither the token nor the argument gets into the log.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	token := w.issuer.Token(idtokentest.Claims{Audience: testAudience})
	for _, auth := range []string{token, w.issuer.Bad(idtokentest.OtherKey, idtokentest.Claims{Audience: testAudience}), "hush-token"} {
		r := w.request(`{"argument":"{\"password\":\"hush-argument\"}"}`)
		r.Header.Set("Authorization", "Bearer "+auth)
		w.send(r)
		if strings.Contains(w.log.String(), auth) {
			t.Errorf("the log holds the token %s", auth)
		}
	}
	w.deliver(`{"argument":"hush-argument"}`)
	if log := w.log.String(); strings.Contains(log, "hush") || !strings.Contains(log, w.runID()) {
		t.Errorf("want the run id and nothing secret in the log, got %s", log)
	}
}

// SIGTERM: a delivery at work may finish; one that cannot has its claim released.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.DrainTimeout = time.Millisecond; c.HandlerTimeout = 20 * time.Second })
	s, stop := w.start()
	w.url = "http://" + s.Addr()
	gate := w.faults.Hold("CreateExecution", 1)
	defer gate.Release()
	first := make(chan reply, 1)
	go func() { first <- w.deliver("") }()
	<-gate.Arrived()
	if err := stop(); err != nil {
		t.Errorf("drain: %v", err)
	}
	if got := <-first; got.status == http.StatusOK || got.status == http.StatusServiceUnavailable {
		t.Errorf("got %+v, want an error that is not 503", got)
	}
	snap, err := w.guard.Get(t.Context(), w.runID())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Record.Lease == nil || *snap.Record.Lease != 0 {
		t.Errorf("got lease %v, want the claim released", snap.Record.Lease)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/healthz": 404} {
		r := w.request("")
		r.Method, r.URL.Path = http.MethodGet, path
		if got := w.send(r); got.status != want {
			t.Errorf("%s: got %d, want %d", path, got.status, want)
		}
	}
	r := w.request("")
	r.URL.Path = "/livez"
	if got := w.send(r); got.status != http.StatusMethodNotAllowed {
		t.Errorf("POST /livez: got %d, want 405", got.status)
	}
	w.untouched()
}

// New fails on a configuration that contradicts itself, and says all that is wrong.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Config{}, Deps{})
	for _, want := range []string{"AUTH_MODE", "AUTH_AUDIENCES", "AUTH_ACCOUNTS", "TARGETS"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}
