package workflowstest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.com/runonce/workflows/engine"
)

// execution is one execution; the server's mutex guards it, and what ran keeps a lock of its own.
type execution struct {
	of       *revision
	name     string
	serial   int
	state    pb.Execution_State
	argument string
	labels   map[string]string
	logLevel pb.Execution_CallLogLevel
	rest     restFields
	hidden   bool // SetUnavailable
	deleted  bool // with its workflow

	created, started, ended time.Time

	result  string
	failure *pb.Execution_Error

	ran  ran
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{} // closed when nothing of it runs any more
}

// restFields are those that only the REST API has.
type restFields struct {
	NoBacklog    bool   `json:"disableConcurrencyQuotaOverflowBuffering,omitempty"`
	HistoryLevel string `json:"executionHistoryLevel,omitempty"`
}

func (e *execution) id() string { return lastPart(e.name) }

func (e *execution) workflow() string { return e.of.message.Name }

// duration is below zero while the execution has not ended.
func (e *execution) duration() time.Duration {
	switch {
	case e.ended.IsZero():
		return -1
	case e.started.IsZero():
		return 0
	}
	return e.ended.Sub(e.started)
}

// shown is the state that the API tells.
func (e *execution) shown() pb.Execution_State {
	if e.hidden {
		return pb.Execution_UNAVAILABLE
	}
	return e.state
}

// end sets how the execution ended, unless that is settled. It reports whether it was.
func (e *execution) end(now time.Time, state pb.Execution_State, failure *pb.Execution_Error) bool {
	if !e.ended.IsZero() {
		return false
	}
	e.state, e.ended, e.failure = state, now, failure
	return true
}

// failureOf is the error as the API shows it.
func failureOf(err error) *pb.Execution_Error {
	var raised *engine.Error
	if !errors.As(err, &raised) {
		payload, _ := json.Marshal(err.Error()) // a string always marshals
		return &pb.Execution_Error{Payload: string(payload), Context: err.Error()}
	}
	out := &pb.Execution_Error{Payload: string(raised.PayloadJSON()), Context: cmp.Or(raised.Context, raised.Message)}
	if len(raised.Frames) > 0 {
		out.StackTrace = &pb.Execution_StackTrace{}
	}
	for _, f := range raised.Frames {
		out.StackTrace.Elements = append(out.StackTrace.Elements, &pb.Execution_StackTraceElement{
			Step: f.Step, Routine: f.Routine, Position: &pb.Execution_StackTraceElement_Position{Line: int64(f.Line)},
		})
	}
	return out
}

// view is an execution as the API shows it at one moment.
type view struct {
	message *pb.Execution
	created time.Time
	rest    restFields
	full    bool
}

// view shows name, times, state and revision, and in full everything. The caller holds the server's mutex.
func (e *execution) view(full bool) view {
	out := &pb.Execution{Name: e.name, State: e.shown(), WorkflowRevisionId: e.of.message.RevisionId}
	v := view{message: out, created: e.created, full: full}
	if !e.started.IsZero() {
		out.StartTime = timestamppb.New(e.started)
	}
	if !e.ended.IsZero() {
		out.EndTime, out.Duration = timestamppb.New(e.ended), durationpb.New(e.duration())
	}
	if !full {
		return v
	}
	v.rest = e.rest
	out.Labels, out.CallLogLevel = maps.Clone(e.labels), e.logLevel
	if e.hidden {
		out.StateError = &pb.Execution_StateError{Type: pb.Execution_StateError_KMS_ERROR, Details: "the key of the execution's data cannot be used"}
		return v
	}
	out.Argument, out.Result, out.Error = e.argument, e.result, e.failure // failure never changes once set
	if at, ok := e.ran.current(); ok {
		out.Status = &pb.Execution_Status{CurrentSteps: []*pb.Execution_Status_Step{{Routine: at.Routine, Step: at.Step}}}
	}
	return v
}

// execution returns an execution. The caller holds mu.
func (s *Server) execution(name string) (*execution, error) {
	if !executionName.MatchString(name) {
		return nil, wrongName("name", name, executionForm)
	}
	e := s.byName[name]
	if e == nil || e.deleted {
		return nil, notFound(name)
	}
	return e, nil
}
