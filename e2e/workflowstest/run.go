package workflowstest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/workflows/engine"
)

// maxArgument is the longest argument, in bytes (executions.proto).
const maxArgument = 32 << 10

// create makes an execution of the latest revision and starts it, or lets it wait.
func (s *Server) create(parent string, in *pb.Execution, rest restFields) (view, error) {
	if err := checkExecution(in); err != nil {
		return view{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.workflow("parent", parent)
	if err != nil {
		return view{}, err
	}
	labels := maps.Clone(w.latest().message.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, in.GetLabels())
	if err := checkLabels("execution.labels", labels); err != nil {
		return view{}, err
	}
	full := s.cfg.MaxRunning > 0 && s.running >= s.cfg.MaxRunning
	if err := s.admit(full, rest); err != nil {
		return view{}, err
	}
	now := s.cfg.Clock.Now()
	e := &execution{
		of: w.latest(), name: parent + "/executions/" + s.cfg.NewID(), serial: len(s.all) + 1, state: pb.Execution_QUEUED,
		argument: in.GetArgument(), labels: labels, logLevel: in.GetCallLogLevel(), rest: rest, created: now, done: make(chan struct{}),
	}
	if s.byName[e.name] != nil {
		return view{}, status.Errorf(codes.Internal, "NewID made %s a second time", e.id())
	}
	e.ctx, e.stop = context.WithCancel(s.ctx)
	s.all, s.byName[e.name] = append(s.all, e), e
	if full {
		s.queue = append(s.queue, e)
	} else {
		s.start(e, now)
	}
	return e.view(true), nil
}

func checkExecution(in *pb.Execution) error {
	argument := in.GetArgument()
	switch {
	case len(argument) > maxArgument:
		return invalid("execution.argument", "%d bytes; the limit is %d", len(argument), maxArgument)
	case argument != "" && !json.Valid([]byte(argument)):
		return invalid("execution.argument", "it is not valid JSON")
	}
	if _, ok := pb.Execution_CallLogLevel_name[int32(in.GetCallLogLevel())]; !ok {
		return invalid("execution.call_log_level", "%d is unknown", in.GetCallLogLevel())
	}
	return checkLabels("execution.labels", in.GetLabels())
}

// admit says whether there is room for one more execution. The caller holds mu.
func (s *Server) admit(full bool, rest restFields) error {
	if s.closed {
		return status.Error(codes.Unavailable, "the server is closed")
	}
	limit := s.cfg.MaxQueued
	if full && (limit < 0 || limit > 0 && len(s.queue) >= limit || rest.NoBacklog) {
		return status.Error(codes.ResourceExhausted, "Quota exceeded for concurrent executions")
	}
	return nil
}

// start runs an execution on a goroutine of its own. The caller holds mu.
func (s *Server) start(e *execution, now time.Time) {
	e.state, e.started = pb.Execution_ACTIVE, now
	s.running++
	r := Run{Name: e.name, Workflow: e.of.source, Argument: json.RawMessage(e.argument), Engine: s.engineConfig(e)}
	s.work.Go(func() {
		result, err := s.run(e, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			if e.end(s.cfg.Clock.Now(), pb.Execution_SUCCEEDED, nil) {
				e.result = string(result)
			}
		} else {
			e.end(s.cfg.Clock.Now(), pb.Execution_FAILED, failureOf(err))
		}
		e.stop()
		close(e.done)
		s.running--
		s.next()
	})
}

func (s *Server) run(e *execution, r Run) (json.RawMessage, error) {
	if s.cfg.Runner != nil {
		return s.cfg.Runner(e.ctx, r)
	}
	return e.of.program.Run(e.ctx, r.Argument, r.Engine)
}

// next starts what waits, as far as there is room. The caller holds mu.
func (s *Server) next() {
	for len(s.queue) > 0 && s.running < s.cfg.MaxRunning && !s.closed {
		e := s.queue[0]
		s.queue = s.queue[1:]
		s.start(e, s.cfg.Clock.Now())
	}
}

// halt ends an execution that has not ended: at once for those who ask, and as soon as it gives way for what runs. The caller holds mu.
func (s *Server) halt(e *execution, state pb.Execution_State, failure *pb.Execution_Error) bool {
	queued := e.started.IsZero()
	if !e.end(s.cfg.Clock.Now(), state, failure) {
		return false
	}
	e.stop()
	if queued {
		s.queue = slices.DeleteFunc(s.queue, func(q *execution) bool { return q == e })
		close(e.done)
	}
	return true
}

// engineConfig is the execution's own environment.
func (s *Server) engineConfig(e *execution) engine.Config {
	cfg := s.cfg.Engine
	parts := strings.Split(e.workflow(), "/")
	account := e.of.message.ServiceAccount
	if account == "" {
		account = projectNumber + "-compute@developer.gserviceaccount.com"
	}
	cfg.ExecutionID = e.id()
	cfg.Env = map[string]string{
		"GOOGLE_CLOUD_PROJECT_ID": parts[1], "GOOGLE_CLOUD_PROJECT_NUMBER": projectNumber, "GOOGLE_CLOUD_LOCATION": parts[3],
		"GOOGLE_CLOUD_WORKFLOW_ID": parts[5], "GOOGLE_CLOUD_WORKFLOW_REVISION_ID": e.of.message.RevisionId,
		"GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID": e.id(), "GOOGLE_CLOUD_SERVICE_ACCOUNT_NAME": lastPart(account),
	}
	maps.Copy(cfg.Env, s.cfg.Engine.Env)
	maps.Copy(cfg.Env, e.of.message.UserEnvVars)
	cfg.OnStep = func(entry engine.StepEntry) {
		e.ran.step(entry)
		if s.cfg.Engine.OnStep != nil {
			s.cfg.Engine.OnStep(entry)
		}
	}
	cfg.Log = func(entry engine.LogEntry) {
		e.ran.log(entry)
		if s.cfg.Engine.Log != nil {
			s.cfg.Engine.Log(entry)
		}
	}
	return cfg
}

// projectNumber is the number of every project.
const projectNumber = "123456789012"
