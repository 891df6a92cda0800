package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

// run starts one run as a guarded step (R7-R12, R16). An attempt after the first looks before it starts; a start whose answer was lost is looked for in
// the same attempt, and never repeated there. hold is how long to wait for the end, where the run counts as done only then (R19).
func (s *Server) run(ctx context.Context, t target, runID string, in input, strict bool, hold time.Duration) (guard.Result[json.RawMessage], error) {
	kept, err := json.Marshal(in)
	if err != nil {
		return guard.Result[json.RawMessage]{}, fmt.Errorf("write the record's input: %w", err)
	}
	parts := [][]byte{[]byte(in.Target)}
	if strict {
		parts = append(parts, in.Request)
	}
	c := call{target: in.Target, runID: runID, request: in.Request, since: in.Accepted}
	e := guard.Effect[json.RawMessage]{Request: guard.Request{Token: runID, Fingerprint: tokens.Fingerprint(parts...), Input: kept}}
	if s.cfg.CompleteOn == onSucceeded {
		e.Do = func(ctx context.Context, a guard.Attempt) (json.RawMessage, error) {
			return s.seeThrough(ctx, t, c, a, hold)
		}
		return guard.Do(ctx, s.guard, e)
	}
	e.Find = func(ctx context.Context, a guard.Attempt) (json.RawMessage, bool, error) {
		hits, _, err := s.findAll(ctx, t, c)
		if err != nil || len(hits) == 0 {
			return nil, false, err
		}
		return hits[0].answer, true, nil
	}
	e.Do = func(ctx context.Context, a guard.Attempt) (json.RawMessage, error) {
		got, err := s.startOrAdopt(ctx, t, c, nil)
		return got.answer, err
	}
	return guard.Do(ctx, s.guard, e)
}

// findAll looks for everything that was started since the run was first accepted, which the record knows. settled is when a person last
// let the run start again; zero if nobody did.
func (s *Server) findAll(ctx context.Context, t target, c call) (hits []started, settled time.Time, err error) {
	snap, err := s.guard.Get(ctx, c.runID)
	if err != nil {
		return nil, settled, fmt.Errorf("read when the run was accepted: %w", err)
	}
	for _, a := range snap.Record.Attempts {
		if a.Ended == "settled" && a.EndedAt.After(settled) {
			settled = a.EndedAt
		}
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
	hits, err = t.find(ctx, c)
	return hits, settled, err
}

// startOrAdopt starts, and decides what an error of the start means for the claim. known are starts that are not this one.
func (s *Server) startOrAdopt(ctx context.Context, t target, c call, known []started) (started, error) {
	got, err := t.start(ctx, c)
	var failure *startError
	switch {
	case err == nil:
		return got, nil
	case !errors.As(err, &failure):
		return started{}, guard.NotApplied(err)
	case failure.class == permanent && s.cfg.OnPermanent == "ack":
		s.log.ErrorContext(ctx, "a run failed for good and was acknowledged", "run_id", c.runID, "error", failure.Error())
		return started{}, &guard.FailedError{Code: failure.code.String(), Message: failure.problem().Detail}
	case failure.class != unknown:
		return started{}, guard.NotApplied(failure)
	}
	return s.reconcile(ctx, t, c, known, failure)
}

// reconcile looks for what a start with a lost answer left behind: at once, and once more after a grace, since a list may lag. What it finds is
// adopted. Otherwise the error stays, and the next attempt looks before it starts.
func (s *Server) reconcile(ctx context.Context, t target, c call, known []started, cause *startError) (started, error) {
	for i := range 2 {
		if i > 0 {
			if err := s.sleep(ctx, s.cfg.Grace); err != nil {
				break
			}
		}
		hits, err := t.find(ctx, c)
		if err != nil {
			return started{}, errors.Join(cause, err)
		}
		hits = slices.DeleteFunc(hits, func(h started) bool {
			return slices.ContainsFunc(known, func(k started) bool { return k.name == h.name })
		})
		if len(hits) > 0 {
			s.log.InfoContext(ctx, "adopted a start whose answer was lost", "run_id", c.runID, "error", cause.Error())
			return hits[0], nil
		}
	}
	return started{}, cause
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
