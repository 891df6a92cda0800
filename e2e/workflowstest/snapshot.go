package workflowstest

import (
	"context"
	"fmt"
	"maps"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"

	"example.com/runonce/workflows/engine"
)

// Execution is one execution as it stands.
type Execution struct {
	Name, Workflow string
	Revision       string
	State          string // ACTIVE, SUCCEEDED, FAILED, CANCELLED, UNAVAILABLE, QUEUED
	Argument       string // JSON, "" where the caller sent none
	Result         string // JSON, of SUCCEEDED
	Error          string // of FAILED: message and stack
	Payload        string // of FAILED: what was raised, JSON
	Labels         map[string]string
	// Started is zero while the execution is QUEUED, Ended while it has not ended.
	Created, Started, Ended time.Time
}

func (e *execution) snapshot() Execution {
	return Execution{
		Name: e.name, Workflow: e.workflow(), Revision: e.of.message.RevisionId, State: e.shown().String(), Argument: e.argument, Result: e.result,
		Error: e.failure.GetContext(), Payload: e.failure.GetPayload(), Labels: maps.Clone(e.labels), Created: e.created, Started: e.started, Ended: e.ended,
	}
}

// Executions are all executions so far, in the order in which they were created, also those of deleted workflows.
func (s *Server) Executions() []Execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Execution, len(s.all))
	for i, e := range s.all {
		out[i] = e.snapshot()
	}
	return out
}

// Execution is the execution of that name, as it stands.
func (s *Server) Execution(name string) (Execution, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byName[name]
	if e == nil {
		return Execution{}, false
	}
	return e.snapshot(), true
}

// Wait returns when the execution has ended, however it did, and nothing of it runs any more; or with ctx's error.
func (s *Server) Wait(ctx context.Context, name string) error {
	s.mu.Lock()
	e := s.byName[name]
	s.mu.Unlock()
	if e == nil {
		return fmt.Errorf("there is no execution %s", name)
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", name, ctx.Err())
	}
}

// Kill ends an execution as FAILED with a SystemError, as an outage of the service may: at once for those who ask, and within the
// HTTP call or sleep that is under way. It reports whether there was something to kill.
func (s *Server) Kill(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byName[name]
	if e == nil {
		return false
	}
	return s.halt(e, pb.Execution_FAILED, &pb.Execution_Error{
		Payload: `{"message":"internal error","tags":["SystemError"]}`, Context: "internal error",
	})
}

// SetUnavailable makes an execution's data UNAVAILABLE, as a revoked encryption key does, or shows it again. It runs on meanwhile.
func (s *Server) SetUnavailable(name string, unavailable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byName[name]; e != nil {
		e.hidden = unavailable
	}
}

// Steps are the step entries of an execution, in the order of their ids; nil for an unknown execution.
func (s *Server) Steps(name string) []engine.StepEntry {
	s.mu.Lock()
	e := s.byName[name]
	s.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.ran.entries()
}

// Logs are what an execution wrote with sys.log, in order; nil for an unknown execution.
func (s *Server) Logs(name string) []engine.LogEntry {
	s.mu.Lock()
	e := s.byName[name]
	s.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.ran.logged()
}
