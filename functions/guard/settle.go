package guard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Settlement is what an operator says of a step that no attempt can settle.
type Settlement struct {
	// Status: Completed (it happened), Failed (it did not, and must not), or InProgress (it may be tried again at once).
	Status  Status
	Outcome *Outcome // of Completed; nil: nothing to show
	Failure *Failure // of Failed
	// Actor and Reason go into the record's history. Both are required.
	Actor, Reason string
	// Force settles even while an attempt's lease is alive; the attempt finds out at its next write.
	Force bool
}

// Settle writes down an operator's word, on the condition that the record still is what was judged: a live attempt is
// ErrInProgress, a finished record is an error. The attempt that was at work becomes a zombie.
func (g *Guard) Settle(ctx context.Context, token string, s Settlement) (Record, error) {
	if s.Actor == "" || s.Reason == "" {
		return Record{}, errors.New("settle: say who and why")
	}
	snap, err := g.Get(ctx, token)
	if err != nil {
		return Record{}, fmt.Errorf("settle: %w", err)
	}
	rec := snap.Record
	v, left := decide(snap, Request{Token: token}, "")
	switch {
	case v == newer:
		return rec, fmt.Errorf("settle %s: %w", token, ErrNewerSchema)
	case v == busy && !s.Force:
		return rec, fmt.Errorf("settle %s: %w", token, &InProgressError{RetryAfter: max(left, time.Millisecond), AttemptID: rec.AttemptID, Fence: rec.Fence})
	case rec.Status == Completed:
		return rec, fmt.Errorf("settle %s: it is completed; do it again under a token of its own", token)
	}
	now := g.cfg.Clock.Now()
	rec.Attempts = append(endLast(rec.Attempts, rec.AttemptID, "settled", now), AttemptEntry{
		AttemptID: g.cfg.NewID(), Fence: rec.Fence + 1, ClaimedAt: now.UTC().Truncate(time.Microsecond), EndedAt: now.UTC().Truncate(time.Microsecond),
		Ended: "settled", Note: fmt.Sprintf("%s as %s: %s", s.Actor, s.Status, s.Reason),
	})
	last := rec.Attempts[len(rec.Attempts)-1]
	rec.AttemptID, rec.Fence = last.AttemptID, last.Fence // whoever was at work is not the owner any more
	switch s.Status {
	case Completed, Failed:
		rec = rec.settled(s.Status, s.Outcome, s.Failure)
	case InProgress:
		rec = rec.settled(InProgress, nil, nil)
	default:
		return rec, fmt.Errorf("settle %s: status %q; want %s, %s or %s", token, s.Status, Completed, Failed, InProgress)
	}
	rec = g.stamp(rec)
	if _, err := g.store.Update(ctx, snap.Version, rec); err != nil {
		return rec, fmt.Errorf("settle %s: %w", token, err)
	}
	return rec, nil
}
