package guard

import (
	"context"
	"time"
)

// Kind names a transition of a record, as its attempt saw it.
type Kind string

// The transitions. Duplicates are no errors: Replayed and Refused are the guard at work.
const (
	Claimed       Kind = "claimed"        // a fresh claim
	TookOver      Kind = "took_over"      // a claim after one that was released or had run out
	Replayed      Kind = "replayed"       // a duplicate got the recorded outcome
	Refused       Kind = "refused"        // in progress, or another request
	Renewed       Kind = "renewed"        // the lease was renewed
	Lost          Kind = "lost"           // the claim was lost; this attempt is a zombie
	Found         Kind = "found"          // Find said that an earlier attempt had done it
	Finished      Kind = "finished"       // completed or failed, and recorded
	Released      Kind = "released"       // given up for the next attempt
	WentUncertain Kind = "went_uncertain" // an operator must settle it
	Unrecorded    Kind = "unrecorded"     // the effect happened and the store stayed away
)

// Event is one transition.
type Event struct {
	Kind      Kind
	Token     string // goes into logs and traces, not into metric labels: there are as many as steps
	AttemptID string
	Fence     int64
	Status    Status        // of the record afterwards; empty where nobody read it
	Took      time.Duration // since the attempt began, by the local clock
	Err       error
}

// Observer is told of every transition, on the goroutine that made it: it must be quick and safe for concurrent use.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

func (g *Guard) observe(ctx context.Context, kind Kind, rec Record, since time.Time, err error) {
	if g.cfg.Observer == nil {
		return
	}
	g.cfg.Observer.Observe(ctx, Event{
		Kind: kind, Token: rec.Token, AttemptID: rec.AttemptID, Fence: rec.Fence, Status: rec.Status,
		Took: g.cfg.Clock.Now().Sub(since), Err: err,
	})
}
