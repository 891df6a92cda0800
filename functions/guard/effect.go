package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Repeat says whether an attempt may do the effect again when nobody knows whether an earlier one did.
type Repeat int

const (
	// Safe: it may, because the callee deduplicates by the token, or because twice is the same as once. The default.
	Safe Repeat = iota
	// Never: it may not. Where no Find can tell, such a step becomes uncertain, and an operator settles it.
	Never
)

// Attempt is one try at a step, as long as it holds the claim.
type Attempt struct {
	ID    string
	Token string
	// Fence numbers the attempts of a token from 1. A callee that remembers the highest one it saw can refuse a zombie.
	Fence int64
	// Deadline is when the claim ends on the local clock unless it is renewed, as it is while the effect runs.
	Deadline time.Time
}

// Effect is a step: one change to the world, wherever it happens.
type Effect[T any] struct {
	Request Request
	// Do makes the change. Its context ends with the caller's, and with the cause ErrLost when the claim is lost. Pass the
	// token to whatever it calls. Its error is recorded if Permanent, else the claim is given up for the next delivery,
	// or the step is uncertain (see Never). Required.
	Do func(ctx context.Context, a Attempt) (T, error)
	// Find, where the callee can tell, is asked before Do on every attempt after the first: did it happen, and with what
	// result? Its error gives the claim up, and Do does not run.
	Find   func(ctx context.Context, a Attempt) (value T, found bool, err error)
	Repeat Repeat
}

// Result is the outcome of a step.
type Result[T any] struct {
	Value T
	// Replayed: this call did not do it; an earlier attempt did.
	Replayed bool
	// Found: that was not recorded, but Find knew of it; this call recorded it.
	Found     bool
	Fence     int64
	AttemptID string
}

// Do runs e.Do once for its token, as far as its callee can tell attempts apart: one attempt at a time, never after one
// finished, and every duplicate gets the recorded outcome. See the package's table of promises.
//
// Every caller gets T as it comes out of JSON. A result that does not go in, or beyond 8 MiB, goes to this caller as it is,
// and ErrNoResult to duplicates.
// A failed step is a *FailedError, now and replayed. If the record cannot be written after the effect, the value comes with
// ErrUnrecorded; with ErrLost it may have been done again by another.
func Do[T any](ctx context.Context, g *Guard, e Effect[T]) (Result[T], error) {
	if e.Do == nil {
		return Result[T]{}, fmt.Errorf("step %q: the effect has no Do", e.Request.Token)
	}
	var fresh T
	s := step{req: e.Request, repeat: e.Repeat}
	s.do = func(ctx context.Context, a Attempt) (*Outcome, error) {
		v, err := e.Do(ctx, a)
		if err != nil {
			return nil, err
		}
		fresh = v
		return encode(v), nil
	}
	if e.Find != nil {
		s.find = func(ctx context.Context, a Attempt) (*Outcome, error) {
			v, found, err := e.Find(ctx, a)
			if err != nil || !found {
				return nil, err
			}
			fresh = v
			return encode(v), nil
		}
	}
	end, err := g.run(ctx, s)
	return result(end, fresh, err)
}

// result turns an ending into what the caller of a generic form gets. What this call did or found comes back as every later
// caller will get it, out of JSON; or as it is, where it was not kept or does not come out again.
func result[T any](end ending, fresh T, err error) (Result[T], error) {
	r := Result[T]{Replayed: end.replayed || end.found, Found: end.found, Fence: end.fence, AttemptID: end.attemptID}
	var recorded T
	kept := end.outcome != nil && len(end.outcome.Body) > 0 && !end.outcome.Tombstone
	var bad error
	if kept {
		bad = json.Unmarshal(end.outcome.Body, &recorded)
	}
	switch {
	case !end.replayed && kept && bad == nil:
		r.Value = recorded
	case !end.replayed:
		r.Value = fresh
	case err != nil:
	case end.outcome != nil && end.outcome.Tombstone:
		err = ErrNoResult
	case bad != nil:
		err = fmt.Errorf("the recorded result is of another type: %w", bad)
	default: // also where the record is of a program that keeps no outcome
		r.Value = recorded
	}
	return r, err
}

// encode never fails: the effect has happened, and that it has must be recorded whatever it returned.
func encode(v any) (o *Outcome) {
	defer func() {
		if recover() != nil { // in a MarshalJSON of the result's
			o = &Outcome{Tombstone: true}
		}
	}()
	body, err := json.Marshal(v)
	if err != nil {
		return &Outcome{Tombstone: true}
	}
	return &Outcome{Body: body}
}

// maxBody is the largest outcome that is kept; a larger one leaves a tombstone.
const maxBody = 8 << 20

func (o *Outcome) bounded() *Outcome {
	if o != nil && len(o.Body) > maxBody {
		return o.tombstone()
	}
	return o
}

func (o *Outcome) tombstone() *Outcome { return &Outcome{Code: o.Code, Tombstone: true} }

// step is an Effect without its type.
type step struct {
	req    Request
	do     func(ctx context.Context, a Attempt) (*Outcome, error)
	find   func(ctx context.Context, a Attempt) (*Outcome, error) // nil where there is none; nil outcome: not found
	repeat Repeat
}

// blind reports whether the step must not run again when nobody knows how the attempt before ended.
func (s *step) blind() bool { return s.repeat == Never && s.find == nil }

// ending is how a step ended for one caller.
type ending struct {
	outcome   *Outcome
	replayed  bool
	found     bool
	fence     int64
	attemptID string
}

func endingOf(r *Record) ending {
	return ending{outcome: r.Outcome, fence: r.Fence, attemptID: r.AttemptID}
}
