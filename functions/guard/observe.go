package guard

import (
	"context"
	"time"
)

// Kind names a transition of a step, as one call saw it.
type Kind string

// The transitions. Duplicates are no errors: Replayed and Refused are the guard at work.
const (
	Claimed       Kind = "claimed"        // the first attempt owns the step
	TookOver      Kind = "took_over"      // a later attempt owns it: the one before released, or its lease ran out
	Replayed      Kind = "replayed"       // a duplicate got the recorded outcome
	Refused       Kind = "refused"        // in progress, mismatch, uncertain or a newer schema; Err says which
	Renewed       Kind = "renewed"        // the lease was extended
	Lost          Kind = "lost"           // the attempt no longer owns the step; it is a zombie
	Found         Kind = "found"          // Find said that an earlier attempt had done it
	Finished      Kind = "finished"       // completed or failed, and recorded; Err is the failure
	Released      Kind = "released"       // given up for the next attempt; Err is why
	WentUncertain Kind = "went_uncertain" // an operator must settle it
	Unrecorded    Kind = "unrecorded"     // the store did not confirm how the attempt ended; Err is why
)

// Event is one transition.
type Event struct {
	Kind      Kind
	Token     string // for logs and traces, not for metric labels: there are as many as steps
	AttemptID string
	Fence     int64
	Status    Status        // of the record as this call knows it
	Took      time.Duration // since the guarded call began, by the local clock
	Err       error
}

// Observer hears of every transition, for metrics, traces and logs of the caller's choice. Observe is called on the caller's
// goroutine, or on the heartbeat's for Renewed and Lost; it must be quick and safe for concurrent use.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

type beganKey struct{}

// began notes when a guarded call began, for Event.Took.
func (g *Guard) began(ctx context.Context) context.Context {
	if g.cfg.Observer == nil {
		return ctx
	}
	return context.WithValue(ctx, beganKey{}, g.cfg.Clock.Now())
}

func (g *Guard) observe(ctx context.Context, kind Kind, r *Record, err error) {
	if g.cfg.Observer == nil {
		return
	}
	e := Event{Kind: kind, Token: r.Token, AttemptID: r.AttemptID, Fence: r.Fence, Status: r.Status, Err: err}
	if at, ok := ctx.Value(beganKey{}).(time.Time); ok {
		e.Took = g.cfg.Clock.Now().Sub(at)
	}
	g.cfg.Observer.Observe(ctx, e)
}
