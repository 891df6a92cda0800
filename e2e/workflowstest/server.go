package workflowstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	executions "cloud.google.com/go/workflows/executions/apiv1"
	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/syntax"
)

// Config of a Server. The zero value works.
type Config struct {
	// Addr is where to listen, host:port. Default 127.0.0.1:0.
	Addr string
	// Faults fails calls and logs all of them. Default: a plan without rules, see Server.Faults.
	Faults *fault.Plan
	// Engine is what every execution gets; Env and ExecutionID are set for each. Default: the engine's own defaults.
	Engine engine.Config
	// Now stamps executions. Default time.Now.
	Now func() time.Time
	// MaxRunning is how many executions run at once; more are QUEUED. Default: no limit. MaxQueued is how many may wait;
	// one more is RESOURCE_EXHAUSTED. Default: no limit.
	MaxRunning, MaxQueued int
	// ListLag hides an execution from List for so long after its creation. Default: not at all.
	ListLag time.Duration
	// RejectLabelFilter makes every filter on labels INVALID_ARGUMENT.
	RejectLabelFilter bool
}

// Deployment is what a workflow is deployed with besides its source.
type Deployment struct {
	// Env are user-defined variables.
	Env map[string]string
	// Labels are inherited by the executions.
	Labels map[string]string
}

// Server is the imitation. It is safe for concurrent use.
type Server struct {
	cfg    Config
	lis    net.Listener
	grpc   *grpc.Server
	ctx    context.Context // ends with Close; executions outlive the calls that made them
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu        sync.Mutex
	workflows map[string]*workflow
	all       []*execution // in order of creation
	running   int
	serial    int
	changed   chan struct{} // closed and replaced whenever an execution changes
}

// workflow is a deployed source.
type workflow struct {
	name     string
	program  *engine.Program
	with     Deployment
	revision string
}

// New starts a server without workflows. Close it.
func New(cfg Config) *Server {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.Faults == nil {
		cfg.Faults = &fault.Plan{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	lis, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		panic("workflowstest: " + err.Error())
	}
	s := &Server{cfg: cfg, lis: lis, workflows: map[string]*workflow{}, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.grpc = grpc.NewServer(grpc.ChainUnaryInterceptor(cfg.Faults.UnaryServer()))
	executionspb.RegisterExecutionsServer(s.grpc, &service{s: s})
	go func() { _ = s.grpc.Serve(lis) }() // ends with Close
	return s
}

// Close stops the server and cancels what runs.
func (s *Server) Close() {
	s.cancel()
	s.grpc.Stop()
	s.work.Wait()
}

// Addr is where gRPC is spoken, host:port, in plain text.
func (s *Server) Addr() string { return s.lis.Addr().String() }

// Faults is the plan that fails calls.
func (s *Server) Faults() *fault.Plan { return s.cfg.Faults }

// ClientOptions make Google's clients talk to this server.
func (s *Server) ClientOptions() []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(s.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

// Client is Google's client of the Executions API. The caller closes it.
func (s *Server) Client(ctx context.Context) (*executions.Client, error) {
	c, err := executions.NewClient(ctx, s.ClientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("executions client: %w", err)
	}
	return c, nil
}

var workflowName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/workflows/[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// Deploy puts a workflow there, or a new revision of it. Errors of the source are of type syntax.Errors.
func (s *Server) Deploy(_ context.Context, name string, source []byte, with Deployment) error {
	if !workflowName.MatchString(name) {
		return fmt.Errorf("workflow %q: want projects/P/locations/L/workflows/W", name)
	}
	for k := range with.Env {
		if strings.HasPrefix(k, "GOOGLE_") || strings.HasPrefix(k, "WORKFLOWS_") {
			return fmt.Errorf("workflow %s: variable %s: the prefix is reserved", name, k)
		}
	}
	if err := checkLabels(with.Labels); err != nil {
		return fmt.Errorf("workflow %s: %w", name, err)
	}
	parsed, err := syntax.Parse(name[strings.LastIndexByte(name, '/')+1:], source)
	if err != nil {
		return err
	}
	program, err := engine.Compile(parsed)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	s.workflows[name] = &workflow{
		name: name, program: program, revision: fmt.Sprintf("%06d-abc", s.serial),
		with: Deployment{Env: maps.Clone(with.Env), Labels: maps.Clone(with.Labels)},
	}
	return nil
}

// Execution is one execution as it stands.
type Execution struct {
	Name, Workflow string
	State          string // ACTIVE, SUCCEEDED, FAILED, CANCELLED, QUEUED
	Argument       string // JSON
	Result         string // JSON, of SUCCEEDED
	Error          string // of FAILED: message and context
	Labels         map[string]string
	Created, Ended time.Time
}

// Executions are all executions so far, in the order in which they were created.
func (s *Server) Executions() []Execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Execution, len(s.all))
	for i, e := range s.all {
		out[i] = Execution{
			Name: e.name, Workflow: e.of.name, State: e.state.String(), Argument: e.argument, Result: e.result, Error: e.context,
			Labels: maps.Clone(e.labels), Created: e.created, Ended: e.ended,
		}
	}
	return out
}

// Wait returns when the execution has ended, however it did.
func (s *Server) Wait(ctx context.Context, name string) error {
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.all, func(e *execution) bool { return e.name == name })
		if i < 0 {
			s.mu.Unlock()
			return fmt.Errorf("there is no execution %s", name)
		}
		ended, changed := s.all[i].terminal(), s.changed
		s.mu.Unlock()
		if ended {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Kill ends an execution as FAILED, as an outage of the service may. One that has ended stays as it is.
func (s *Server) Kill(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.all {
		if e.name == name && !e.terminal() {
			e.stop(errKilled)
		}
	}
}

var errKilled = errors.New("execution was killed by the test")
