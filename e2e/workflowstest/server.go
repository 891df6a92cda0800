package workflowstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	workflows "cloud.google.com/go/workflows/apiv1"
	"cloud.google.com/go/workflows/apiv1/workflowspb"
	executions "cloud.google.com/go/workflows/executions/apiv1"
	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/workflows/engine"
)

// Server is both APIs, running. It is safe for use by several goroutines.
type Server struct {
	cfg       Config
	lis, web  net.Listener
	grpc      *grpc.Server
	http      *http.Server
	callbacks *engine.Callbacks
	ctx       context.Context // ends with Close: executions outlive the calls that made them
	cancel    context.CancelFunc
	work      sync.WaitGroup // executions, and the two listeners

	mu         sync.Mutex
	closed     bool
	workflows  map[string]*workflow
	operations map[string]*longrunningpb.Operation
	all        []*execution // in order of creation
	byName     map[string]*execution
	queue      []*execution // those that are QUEUED
	running    int
}

// New starts a server without workflows, or panics as httptest.NewServer does when it cannot listen. Close it.
func New(cfg Config) *Server {
	s, err := Open(cfg)
	if err != nil {
		panic(err)
	}
	return s
}

// Open starts a server without workflows; the error says that it cannot listen.
func Open(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	lis, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("open workflows: %w", err)
	}
	web, err := net.Listen("tcp", cfg.RESTAddr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open workflows: %w", err), lis.Close())
	}
	s := &Server{
		cfg: cfg, lis: lis, web: web,
		workflows: map[string]*workflow{}, operations: map[string]*longrunningpb.Operation{}, byName: map[string]*execution{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.equip()
	s.grpc = grpc.NewServer(grpc.ChainUnaryInterceptor(cfg.Faults.UnaryServer()))
	pb.RegisterExecutionsServer(s.grpc, &executionsService{s: s})
	workflowspb.RegisterWorkflowsServer(s.grpc, &workflowsService{s: s})
	longrunningpb.RegisterOperationsServer(s.grpc, &operationsService{s: s})
	s.http = &http.Server{Handler: cfg.Faults.HTTP(http.HandlerFunc(s.serveREST))}
	s.work.Go(func() { _ = s.grpc.Serve(lis) }) // both end with an error by Close, which is what is wanted
	s.work.Go(func() { _ = s.http.Serve(web) })
	return s, nil
}

// equip gives the executions what only this server has: its callbacks, and itself for workflows that start others.
func (s *Server) equip() {
	s.callbacks = s.cfg.Engine.Callbacks
	if s.callbacks == nil {
		s.callbacks = engine.NewCallbacks(s.URL())
		s.cfg.Engine.Callbacks = s.callbacks
	}
	endpoints := map[string]string{"workflowexecutions": s.URL()}
	for api, url := range s.cfg.Engine.Endpoints {
		endpoints[api] = url
	}
	s.cfg.Engine.Endpoints = endpoints
}

// Close cancels what runs or waits, stops serving, and returns when nothing runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, e := range s.all {
		s.halt(e, pb.Execution_CANCELLED, nil)
	}
	s.mu.Unlock()
	s.cancel()
	s.grpc.Stop()
	_ = s.http.Close() // the listener's error changes nothing
	s.work.Wait()
}

// Addr is where gRPC is spoken, host:port, in plain text.
func (s *Server) Addr() string { return s.lis.Addr().String() }

// URL is where REST is spoken: the base of both APIs' /v1/ paths, and of callbacks.
func (s *Server) URL() string { return "http://" + s.web.Addr().String() }

// Faults is the plan that fails calls.
func (s *Server) Faults() *fault.Plan { return s.cfg.Faults }

// Calls are all calls of both protocols so far, in the order in which they arrived. A plan that is shared has the others', too.
func (s *Server) Calls() []fault.Call { return s.cfg.Faults.Calls() }

// ClientOptions make Google's gRPC clients talk to this server.
func (s *Server) ClientOptions() []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(s.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

// RESTOptions make Google's REST clients (google.golang.org/api) talk to this server.
func (s *Server) RESTOptions() []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint(s.URL()), option.WithoutAuthentication()}
}

// Client is Google's client of the Executions API. The caller closes it.
func (s *Server) Client(ctx context.Context) (*executions.Client, error) {
	c, err := executions.NewClient(ctx, s.ClientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("make an executions client: %w", err)
	}
	return c, nil
}

// WorkflowsClient is Google's client of the Workflows API. The caller closes it.
func (s *Server) WorkflowsClient(ctx context.Context) (*workflows.Client, error) {
	c, err := workflows.NewClient(ctx, s.ClientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("make a workflows client: %w", err)
	}
	return c, nil
}
