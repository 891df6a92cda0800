package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

// run starts one run as a guarded step (R7-R12, R16). A later attempt asks find before it starts; a start whose answer was lost is looked
// for in the same attempt, and never repeated there.
func (s *Server) run(ctx context.Context, t target, runID string, in input, strict bool) (guard.Result[json.RawMessage], error) {
	kept, err := json.Marshal(in)
	if err != nil {
		return guard.Result[json.RawMessage]{}, fmt.Errorf("write the record's input: %w", err)
	}
	parts := [][]byte{[]byte(in.Target)}
	if strict {
		parts = append(parts, in.Request)
	}
	c := call{target: in.Target, runID: runID, request: in.Request, since: in.Accepted}
	return guard.Do(ctx, s.guard, guard.Effect[json.RawMessage]{
		Request: guard.Request{Token: runID, Fingerprint: tokens.Fingerprint(parts...), Input: kept},
		Find: func(ctx context.Context, a guard.Attempt) (json.RawMessage, bool, error) {
			c, err := s.firstAccepted(ctx, c)
			if err != nil {
				return nil, false, err
			}
			return t.find(ctx, c)
		},
		Do: func(ctx context.Context, a guard.Attempt) (json.RawMessage, error) {
			got, err := t.start(ctx, c)
			if err == nil {
				return got, nil
			}
			return s.afterError(ctx, t, c, err)
		},
	})
}

// firstAccepted widens the window of a look-up to when the run was first accepted, which the record keeps.
func (s *Server) firstAccepted(ctx context.Context, c call) (call, error) {
	snap, err := s.guard.Get(ctx, c.runID)
	if err != nil {
		return c, fmt.Errorf("read when the run was accepted: %w", err)
	}
	var in input
	switch {
	case json.Unmarshal(snap.Record.Input, &in) == nil && !in.Accepted.IsZero():
		c.since = in.Accepted
	case len(snap.Record.Attempts) > 0 && snap.Record.Attempts[0].Fence == 1:
		c.since = snap.Record.Attempts[0].ClaimedAt
	default:
		c.since = time.Time{} // another program's record: everything is in the window
	}
	return c, nil
}

// afterError decides what an error of the start means for the claim.
func (s *Server) afterError(ctx context.Context, t target, c call, err error) (json.RawMessage, error) {
	var start *startError
	if !errors.As(err, &start) {
		return nil, guard.NotApplied(err)
	}
	switch start.class {
	case permanent:
		if s.cfg.OnPermanent == "ack" {
			s.log.ErrorContext(ctx, "a run failed for good and was acknowledged", "run_id", c.runID, "error", start.Error())
			return nil, &guard.FailedError{Code: start.code.String(), Message: start.problem().Detail}
		}
		return nil, guard.NotApplied(start)
	case retryable:
		return nil, guard.NotApplied(start)
	}
	return s.reconcile(ctx, t, c, start)
}

// reconcile looks for what a start with a lost answer left behind: at once, and once more after a grace, since a list may lag. What it
// finds is adopted. Otherwise the error stays, and the next attempt looks before it starts.
func (s *Server) reconcile(ctx context.Context, t target, c call, cause *startError) (json.RawMessage, error) {
	for i := range 2 {
		if i > 0 {
			if err := s.sleep(ctx, s.cfg.Grace); err != nil {
				break
			}
		}
		got, found, err := t.find(ctx, c)
		switch {
		case err != nil:
			return nil, errors.Join(cause, err)
		case found:
			s.log.InfoContext(ctx, "adopted a start whose answer was lost", "run_id", c.runID, "error", cause.Error())
			return got, nil
		}
	}
	return nil, cause
}

// sleep waits by the server's clock, or until ctx ends.
func (s *Server) sleep(ctx context.Context, d time.Duration) error {
	done := make(chan struct{})
	stop := s.clock.AfterFunc(d, func() { close(done) })
	defer stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
