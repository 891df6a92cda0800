package workflowstest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	executions "cloud.google.com/go/workflows/executions/apiv1"
	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	rest "google.golang.org/api/workflowexecutions/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	testLocation = "projects/p/locations/europe-west1"
	testWorkflow = testLocation + "/workflows/w"
)

const echo = `
main:
  params: [args]
  steps:
    - done:
        return: ${args}
`

var epoch = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// manual is a clock that stands still until it is moved.
type manual struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*manualTimer]struct{}
}

type manualTimer struct {
	at time.Time
	f  func()
}

func newManual() *manual { return &manual{now: epoch, timers: map[*manualTimer]struct{}{}} }

func (c *manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manual) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{at: c.now.Add(d), f: f}
	c.timers[t] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.timers[t]
		delete(c.timers, t)
		return there
	}
}

func (c *manual) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

// world is a server with its clients and a deadline for everything.
type world struct {
	*Server
	t    *testing.T
	ctx  context.Context
	grpc *executions.Client
	rest *rest.ProjectsLocationsWorkflowsExecutionsService
}

func newWorld(t *testing.T, cfg Config) *world {
	t.Helper()
	s := New(cfg)
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	c, err := s.Client(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	web, err := rest.NewService(ctx, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	return &world{Server: s, t: t, ctx: ctx, grpc: c, rest: web.Projects.Locations.Workflows.Executions}
}

func (w *world) deploy(name, source string, with Deployment) {
	w.t.Helper()
	if err := w.Deploy(w.ctx, name, []byte(source), with); err != nil {
		w.t.Fatal(err)
	}
}

// create starts an execution of testWorkflow through the real client.
func (w *world) create(in *pb.Execution) *pb.Execution {
	w.t.Helper()
	e, err := w.grpc.CreateExecution(w.ctx, &pb.CreateExecutionRequest{Parent: testWorkflow, Execution: in})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// ended waits for the end of an execution, and gets it.
func (w *world) ended(name string) *pb.Execution {
	w.t.Helper()
	if err := w.Wait(w.ctx, name); err != nil {
		w.t.Fatal(err)
	}
	e, err := w.grpc.GetExecution(w.ctx, &pb.GetExecutionRequest{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// held is a Runner that stands until the test lets go, or the execution is stopped.
type held struct {
	started chan string
	release chan struct{}
}

func newHeld() *held { return &held{started: make(chan string, 100), release: make(chan struct{})} }

func (h *held) run(ctx context.Context, r Run) (json.RawMessage, error) {
	h.started <- r.Name
	select {
	case <-h.release:
		return json.RawMessage(`"released"`), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}
