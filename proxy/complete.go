package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/runonce/functions/guard"
)

// The values of Config.CompleteOn.
const (
	onStarted   = "started"
	onSucceeded = "succeeded"
)

// codeFailedRun is the failure code of a run whose executions all failed.
const codeFailedRun = "execution-failed"

// seeThrough is the effect where a run is done only when what it started has succeeded (R19). It takes up what an earlier attempt started; one that
// failed is started again with the same run id, so that finished steps do not run again, until MaxStarts have failed since a person last let it.
func (s *Server) seeThrough(ctx context.Context, t target, c call, a guard.Attempt, hold time.Duration) (json.RawMessage, error) {
	until := s.clock.Now().Add(hold)
	var known []started
	var settled time.Time
	if a.Fence > 1 {
		var err error
		if known, settled, err = s.findAll(ctx, t, c); err != nil {
			return nil, guard.NotApplied(err)
		}
	}
	for {
		current, ok := best(known)
		if !ok {
			if n := countSince(known, settled); n >= s.cfg.MaxStarts {
				s.log.ErrorContext(ctx, "a run failed for good", "run_id", c.runID, "target", c.target, "failed", n)
				return nil, &guard.FailedError{Code: codeFailedRun, Message: fmt.Sprintf("%d executions of this run failed, the last is %s", n, known[len(known)-1].name)}
			}
			var err error
			if current, err = s.startOrAdopt(ctx, t, c, known); err != nil {
				return nil, err
			}
			known = append(known, current)
		}
		end, err := s.await(ctx, t, c, current, until)
		if err != nil {
			return nil, err
		}
		if end.state == succeeded {
			return end.answer, nil
		}
		replace(known, end)
	}
}

// best is what an attempt goes on with: a start that succeeded, else one that runs; none where all have failed.
func best(all []started) (started, bool) {
	for _, want := range []state{succeeded, running} {
		for _, s := range all {
			if s.state == want {
				return s, true
			}
		}
	}
	return started{}, false
}

// countSince counts starts after a time: queued ones, which have none yet, as well.
func countSince(all []started, t time.Time) (n int) {
	for _, s := range all {
		if s.at.IsZero() || s.at.After(t) {
			n++
		}
	}
	return n
}

func replace(all []started, with started) {
	for i := range all {
		if all[i].name == with.name {
			all[i] = with
		}
	}
}

// await watches a start until it ends or the time is up. Then the claim is given up, and the next delivery or the sweep goes on watching.
func (s *Server) await(ctx context.Context, t target, c call, current started, until time.Time) (started, error) {
	for wait := s.cfg.PollInterval; current.state == running; wait = min(2*wait, maxPoll) {
		left := until.Sub(s.clock.Now())
		if left <= 0 {
			return current, stillRunning(current.name)
		}
		if err := s.sleep(ctx, min(wait, left)); err != nil {
			return current, stillRunning(current.name).because(err)
		}
		next, err := s.look(ctx, t, c, current)
		if err != nil && ctx.Err() == nil {
			return current, err
		}
		if err == nil {
			current = next
		}
	}
	return current, nil
}

const maxPoll = 15 * time.Second

// look reads a start again, by name where the API said one.
func (s *Server) look(ctx context.Context, t target, c call, current started) (started, error) {
	if current.name != "" {
		return t.get(ctx, current.name)
	}
	hits, err := t.find(ctx, c)
	if err != nil || len(hits) == 0 {
		return current, err
	}
	return hits[len(hits)-1], nil
}

func stillRunning(name string) *problem {
	p := refuse(http.StatusConflict, "still-running", "the run was started and has not ended yet (%s); come back later", name)
	p.RetryAfter = 30 * time.Second
	return p.because(errors.New("not ended"))
}
