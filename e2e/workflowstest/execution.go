package workflowstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.com/runonce/workflows/engine"
)

// maxArgument is the longest argument, in bytes (executions.proto).
const maxArgument = 32 << 10

// execution is one execution; the server's mutex guards it.
type execution struct {
	of       *workflow
	name     string
	serial   int
	state    executionspb.Execution_State
	argument string
	labels   map[string]string
	logLevel executionspb.Execution_CallLogLevel
	created  time.Time
	started  time.Time
	ended    time.Time
	result   string
	payload  string
	context  string
	stop     context.CancelCauseFunc
	ctx      context.Context
}

func (e *execution) terminal() bool {
	switch e.state {
	case executionspb.Execution_SUCCEEDED, executionspb.Execution_FAILED, executionspb.Execution_CANCELLED:
		return true
	}
	return false
}

var (
	labelKey   = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
)

// checkLabels holds labels to the documented limits (executions.proto).
func checkLabels(labels map[string]string) error {
	if len(labels) > 64 {
		return fmt.Errorf("%d labels; 64 are allowed", len(labels))
	}
	for k, v := range labels {
		if !labelKey.MatchString(k) || !labelValue.MatchString(v) {
			return fmt.Errorf("label %q=%q: at most 63 lower-case letters, digits, underscores and dashes, the key beginning with a letter", k, v)
		}
	}
	return nil
}

// create makes an execution and starts it, or lets it wait.
func (s *Server) create(parent string, in *executionspb.Execution) (*executionspb.Execution, error) {
	if !workflowName.MatchString(parent) {
		return nil, status.Errorf(codes.InvalidArgument, "parent %q: want projects/P/locations/L/workflows/W", parent)
	}
	argument := in.GetArgument()
	switch {
	case len(argument) > maxArgument:
		return nil, status.Errorf(codes.InvalidArgument, "argument has %d bytes; the limit is %d", len(argument), maxArgument)
	case argument != "" && !json.Valid([]byte(argument)):
		return nil, status.Error(codes.InvalidArgument, "argument is not valid JSON")
	}
	if err := checkLabels(in.GetLabels()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workflows[parent]
	if w == nil {
		return nil, status.Errorf(codes.NotFound, "Resource '%s' was not found", parent)
	}
	queued := s.cfg.MaxRunning > 0 && s.running >= s.cfg.MaxRunning
	if queued && s.cfg.MaxQueued > 0 && s.waiting() >= s.cfg.MaxQueued {
		return nil, status.Error(codes.ResourceExhausted, "Quota exceeded for concurrent executions")
	}
	s.serial++
	now := s.cfg.Now()
	e := &execution{
		of: w, serial: s.serial, name: fmt.Sprintf("%s/executions/%08x-0000-4000-8000-%012x", parent, s.serial, now.UnixMicro()&0xffffffffffff),
		state: executionspb.Execution_QUEUED, argument: argument, labels: maps.Clone(w.with.Labels), logLevel: in.GetCallLogLevel(), created: now,
	}
	if e.labels == nil {
		e.labels = map[string]string{}
	}
	maps.Copy(e.labels, in.GetLabels())
	e.ctx, e.stop = context.WithCancelCause(s.ctx)
	s.all = append(s.all, e)
	if !queued {
		s.start(e)
	}
	return e.proto(true), nil
}

func (s *Server) waiting() (n int) {
	for _, e := range s.all {
		if e.state == executionspb.Execution_QUEUED {
			n++
		}
	}
	return n
}

// start runs an execution on a goroutine of its own. The caller holds mu.
func (s *Server) start(e *execution) {
	e.state, e.started = executionspb.Execution_ACTIVE, s.cfg.Now()
	s.running++
	s.work.Go(func() {
		out, err := e.of.program.Run(e.ctx, json.RawMessage(e.argument), s.engineConfig(e))
		s.mu.Lock()
		defer s.mu.Unlock()
		e.finish(out, err)
		e.ended = s.cfg.Now()
		e.stop(nil)
		s.running--
		s.next()
		s.tell()
	})
}

// next starts what waits, as far as there is room. The caller holds mu.
func (s *Server) next() {
	for _, e := range s.all {
		if s.running >= s.cfg.MaxRunning {
			return
		}
		if e.state == executionspb.Execution_QUEUED {
			s.start(e)
		}
	}
}

func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// engineConfig is the execution's own environment.
func (s *Server) engineConfig(e *execution) engine.Config {
	cfg := s.cfg.Engine
	parts := strings.Split(e.of.name, "/")
	cfg.ExecutionID = e.name[strings.LastIndexByte(e.name, '/')+1:]
	cfg.Env = map[string]string{
		"GOOGLE_CLOUD_PROJECT_ID": parts[1], "GOOGLE_CLOUD_PROJECT_NUMBER": "123456789012", "GOOGLE_CLOUD_LOCATION": parts[3],
		"GOOGLE_CLOUD_WORKFLOW_ID": parts[5], "GOOGLE_CLOUD_WORKFLOW_REVISION_ID": e.of.revision, "GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID": cfg.ExecutionID,
		"GOOGLE_CLOUD_SERVICE_ACCOUNT_NAME": "workflow@" + parts[1] + ".iam.gserviceaccount.com",
	}
	maps.Copy(cfg.Env, e.of.with.Env)
	return cfg
}

// finish sets how the execution ended.
func (e *execution) finish(out json.RawMessage, err error) {
	var failed *engine.Error
	switch cause := context.Cause(e.ctx); {
	case err == nil:
		e.state, e.result = executionspb.Execution_SUCCEEDED, string(out)
		return
	case errors.Is(cause, errKilled):
		e.state = executionspb.Execution_FAILED
	case cause != nil:
		e.state = executionspb.Execution_CANCELLED
		return
	default:
		e.state = executionspb.Execution_FAILED
	}
	var payload any = err.Error()
	e.context = err.Error()
	if errors.As(err, &failed) {
		payload, e.context = failed.Payload, failed.Context
	}
	if b, err := json.Marshal(payload); err == nil {
		e.payload = string(b)
	}
}

// proto is the execution as the API shows it. The basic view has neither argument, result nor labels.
func (e *execution) proto(full bool) *executionspb.Execution {
	out := &executionspb.Execution{
		Name: e.name, State: e.state, StartTime: timestamppb.New(e.created), WorkflowRevisionId: e.of.revision,
	}
	if !e.ended.IsZero() {
		out.EndTime, out.Duration = timestamppb.New(e.ended), durationpb.New(e.ended.Sub(e.created))
	}
	if !full {
		return out
	}
	out.Argument, out.Result, out.Labels, out.CallLogLevel = e.argument, e.result, maps.Clone(e.labels), e.logLevel
	if e.payload != "" {
		out.Error = &executionspb.Execution_Error{Payload: e.payload, Context: e.context}
	}
	return out
}
