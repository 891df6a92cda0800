package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"example.com/runonce/functions/guard"
)

// swept is what one POST /sweep did.
type swept struct {
	// Seen are the unfinished runs that were looked at, Alive those at work.
	Seen  int `json:"seen"`
	Alive int `json:"alive"`
	// Resumed are those taken up, by what came of it; Left those for a person to see to.
	Resumed []sweptRun `json:"resumed"`
	Left    []sweptRun `json:"left"`
	// More: the limit or the time was up before all were seen; call again.
	More bool `json:"more"`
}

// sweptRun is one run of a sweep, and what came of it or why it was left.
type sweptRun struct {
	RunID   string `json:"run_id"`
	Target  string `json:"target,omitempty"`
	Outcome string `json:"outcome"`
}

// handleSweep takes up runs whose claim ran out or was given up and whose deliveries have stopped, each from its own record, as the next attempt. It is
// safe beside deliveries and other sweeps, which claim by the same protocol, and does nothing to a run that is at work or done.
func (s *Server) handleSweep(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.HandlerTimeout)
	defer cancel()
	result, err := s.authorizedSweep(ctx, r)
	if err != nil {
		p := problemOf(err)
		p.write(w)
		s.log.Log(ctx, levelOf(p.Status), "sweep", append(trace(r.Header), "status", p.Status, "error", err.Error())...)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // the caller has gone; the work is done
	s.log.InfoContext(ctx, "sweep", append(trace(r.Header), "seen", result.Seen, "alive", result.Alive, "resumed", len(result.Resumed), "left", len(result.Left), "more", result.More)...)
}

func (s *Server) authorizedSweep(ctx context.Context, r *http.Request) (swept, error) {
	if r.Method != http.MethodPost {
		return swept{}, refuse(http.StatusMethodNotAllowed, "method", "only POST sweeps")
	}
	if _, err := s.auth.caller(ctx, r.Header); err != nil {
		return swept{}, err
	}
	release, err := s.limit.take()
	if err != nil {
		return swept{}, err
	}
	defer release()
	return s.sweep(ctx)
}

// runToken tells a run's record from a step's, which may be in the same collection.
var runToken = regexp.MustCompile(`^[0-9a-f]{64}$`)

// sweep goes through the unfinished records, a page of SweepLimit at a time, until the limit or the time is reached.
func (s *Server) sweep(ctx context.Context) (swept, error) {
	result := swept{Resumed: []sweptRun{}, Left: []sweptRun{}}
	reserve := s.clock.Now().Add(s.cfg.HandlerTimeout / 2) // a run that is begun needs its time as well
	query := s.db.Collection(s.cfg.Collection).Where("status", "==", string(guard.InProgress)).Select("token").OrderBy(firestore.DocumentID, firestore.Asc).Limit(s.cfg.SweepLimit)
	for page := query; ; {
		docs, err := page.Documents(ctx).GetAll()
		if err != nil && !errors.Is(err, iterator.Done) {
			return result, fmt.Errorf("list the unfinished runs: %w", err)
		}
		for _, doc := range docs {
			if len(result.Resumed) >= s.cfg.SweepLimit || s.clock.Now().After(reserve) {
				result.More = true
				return result, nil
			}
			if token, ok := doc.Data()["token"].(string); ok && runToken.MatchString(token) {
				if err := s.sweepOne(ctx, token, &result); err != nil {
					return result, err
				}
			}
		}
		if len(docs) < s.cfg.SweepLimit {
			return result, nil
		}
		page = query.StartAfter(docs[len(docs)-1].Ref.ID)
	}
}

// sweepOne takes up one run, if it is one of ours and nobody is at work on it.
func (s *Server) sweepOne(ctx context.Context, runID string, result *swept) error {
	snap, err := s.guard.Get(ctx, runID)
	switch {
	case errors.Is(err, guard.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	result.Seen++
	if alive(snap) {
		result.Alive++
		return nil
	}
	in, t, why := s.resumable(snap)
	if why != "" {
		result.Left = append(result.Left, sweptRun{runID, in.Target, why})
		return nil
	}
	outcome := "started"
	got, err := s.run(ctx, t, runID, in, in.Strict, 0)
	switch {
	case err != nil:
		outcome = problemOf(err).Code
		if errors.Is(err, guard.ErrFailed) {
			outcome = "failed"
		}
		s.log.Log(ctx, levelOf(problemOf(err).Status), "swept run", "run_id", runID, "outcome", outcome, "error", err.Error())
	case got.Found:
		outcome = "adopted"
	case got.Replayed:
		outcome = "done"
	}
	s.tel.sweptRun(ctx, outcome)
	result.Resumed = append(result.Resumed, sweptRun{runID, in.Target, outcome})
	return nil
}

// resumable reads what a record keeps; why is not empty where it must not be taken up.
func (s *Server) resumable(snap guard.Snapshot) (in input, t target, why string) {
	if err := json.Unmarshal(snap.Record.Input, &in); err != nil || in.V != 1 {
		return in, nil, "not-ours" // another program's, or another version's
	}
	t, ok := s.targetOf(in.Target)
	switch {
	case !ok || allowed(s.rules, in.Target) == nil:
		return in, nil, "target-not-allowed"
	case snap.Record.Fence >= s.cfg.SweepAttempts:
		return in, nil, "too-many-attempts"
	case s.clock.Now().Sub(in.Accepted) > s.cfg.MaxPast:
		return in, nil, "too-old"
	}
	return in, t, ""
}

// alive is whether an attempt may be at work, by the store's stamps. A record without a lease counts as alive; whoever is wrong here only asks
// the guard in vain.
func alive(snap guard.Snapshot) bool {
	return snap.Record.Lease == nil || snap.ReadAt.Before(snap.UpdatedAt.Add(*snap.Record.Lease))
}
