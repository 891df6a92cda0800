package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"

	executions "cloud.google.com/go/workflows/executions/apiv1"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/e2e/idtokentest"
	"example.com/runonce/functions/guard"
)

// world is a proxy with everything around it: Google's clients against a store, an Executions API and an issuer on loopback.
type world struct {
	t       *testing.T
	store   *firestoretest.Server
	api     *listing
	faults  *fault.Plan // of the Executions API
	issuer  *idtokentest.Issuer
	ex      *executions.Client
	guard   *guard.Guard
	log     *logBuffer
	url     string
	apiAddr string
	cfg     Config
	meters  metric.MeterProvider
	slot    string // of deliveries: a minute ago
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newWorld starts one; edit changes the proxy's configuration.
func newWorld(t *testing.T, edit func(*Config)) *world {
	t.Helper()
	w := &world{t: t, api: &listing{}, faults: &fault.Plan{}, issuer: theIssuer(), log: &logBuffer{}, slot: time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)}
	w.store = firestoretest.New(firestoretest.Config{})
	t.Cleanup(w.store.Close)
	w.apiAddr = serve(t, w.faults, func(s *grpc.Server) { executionspb.RegisterExecutionsServer(s, w.api) })
	var err error
	if w.ex, err = executions.NewClient(t.Context(), clientOptions(w.apiAddr)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ex.Close() }) // the test is over
	w.cfg = validConfig()
	w.cfg.AuthJWKSURL = w.issuer.JWKSURL()
	w.cfg.Grace = time.Millisecond
	if edit != nil {
		edit(&w.cfg)
	}
	s, _ := w.start()
	w.url, w.guard = "http://"+s.Addr(), s.guard
	return w
}

// start runs a proxy on this world until the test ends or stop is called; stop returns Run's error.
func (w *world) start() (s *Server, stop func() error) {
	w.t.Helper()
	db, err := w.store.Client(w.t.Context(), "p")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err = New(w.t.Context(), w.cfg, Deps{Firestore: db, Executions: w.ex, Meters: w.meters, Log: slog.New(slog.NewJSONHandler(w.log, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	w.t.Cleanup(func() { _ = stop() }) // tests that care call it themselves
	return s, stop
}

// reply is what a delivery got.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) code() string {
	var p problem
	if json.Unmarshal([]byte(r.body), &p) != nil {
		return ""
	}
	return p.Code
}

func (r reply) execution() string {
	var e struct{ Name string }
	if json.Unmarshal([]byte(r.body), &e) != nil {
		return ""
	}
	return e.Name
}

// request is a delivery of the job daily, with a good token.
func (w *world) request(body string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/v1/"+testTarget+"/executions", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = scheduled("daily", w.slot)
	r.Header.Set("Authorization", "Bearer "+w.issuer.Token(idtokentest.Claims{Audience: testAudience}))
	r.Header.Set("Content-Type", "application/octet-stream") // as Cloud Scheduler does, unless told otherwise
	return r
}

// noRedirects shows what was answered, not where it leads.
var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (w *world) send(r *http.Request) reply {
	w.t.Helper()
	resp, err := noRedirects.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func (w *world) deliver(body string) reply {
	w.t.Helper()
	return w.send(w.request(body))
}

func (w *world) creates() int {
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	return w.api.creates
}

func (w *world) runID() string {
	w.t.Helper()
	d, err := readDelivery(w.cfg.WithDefaults(), []string{sourceScheduler}, request{header: scheduled("daily", w.slot), target: testTarget, now: time.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
	return d.runID
}

// untouched fails the test if anything was claimed or started.
func (w *world) untouched() {
	w.t.Helper()
	if n := w.store.Faults().Count(""); n != 0 {
		w.t.Errorf("the store was called %d times, want nothing claimed", n)
	}
	if n := w.faults.Count(""); n != 0 {
		w.t.Errorf("the API was called %d times, want nothing started", n)
	}
}
