package guard

import (
	"context"
	"errors"
	"fmt"
)

// Settlement is what an operator says of a step that no attempt can settle.
type Settlement struct {
	// Status: Completed (it happened), Failed (it did not, and must not), or InProgress (it may be tried again at once).
	Status  Status
	Outcome *Outcome // of Completed; nil: nothing to show
	Failure *Failure // of Failed
	// Actor and Reason go into the record's history. Both are required.
	Actor, Reason string
	// Force settles even while an attempt's lease is alive; that attempt finds out at its next write.
	Force bool
}

// Settle writes an operator's word into the record, on the condition that it still is what was judged (else ErrConflict).
// A live attempt is ErrInProgress unless Force is set. A completed step stays so: to do it again is another token. The
// attempt that was at work no longer owns the step. Other processes' caches may answer as before for a minute.
func (g *Guard) Settle(ctx context.Context, token string, s Settlement) (Record, error) {
	switch {
	case s.Actor == "" || s.Reason == "":
		return Record{}, errors.New("settle: say who and why")
	case s.Status != Completed && s.Status != Failed && s.Status != InProgress:
		return Record{}, fmt.Errorf("settle: status %q; want %s, %s or %s", s.Status, Completed, Failed, InProgress)
	}
	snap, err := g.Get(ctx, token)
	if err != nil {
		return snap.Record, fmt.Errorf("settle: %w", err)
	}
	old := snap.Record
	v, left := decide(snap, "", "", g.cfg.Lease)
	switch {
	case v == wait && !s.Force:
		return old, fmt.Errorf("settle %q: %w", token, &InProgressError{RetryAfter: left, AttemptID: old.AttemptID, Fence: old.Fence})
	case old.Status == Completed:
		return old, fmt.Errorf("settle %q: it is completed; do it again under a token of its own", token)
	}
	rec := g.record(Request{Token: token}, g.cfg.NewID(), &snap) // a name of its own, so that the attempt at work is not the owner
	if s.Status == Failed && s.Failure == nil {
		s.Failure = &Failure{Message: s.Reason}
	}
	g.settle(&rec, s.Status, "settled", s.Outcome.bounded(), s.Failure)
	rec.Attempts[len(rec.Attempts)-1].Note = clip(fmt.Sprintf("%s as %s: %s", s.Actor, s.Status, s.Reason))
	defer g.cache.forget(token)
	if _, err := g.store.Update(ctx, snap.Version, rec); err != nil {
		now, readErr := g.store.Get(ctx, token)
		if readErr != nil || now.Record.AttemptID != rec.AttemptID {
			return rec, fmt.Errorf("settle %q: %w", token, errors.Join(err, readErr))
		}
	}
	return rec, nil
}
