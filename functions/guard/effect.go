package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Request names a step and what it was asked to do.
type Request struct {
	// Token is the step token: 1 to 255 printable ASCII characters, the same for every attempt and every duplicate.
	Token string
	// Fingerprint is of the payload; another one under the same token is ErrMismatch. Empty: not compared.
	Fingerprint string
	// Input is kept in the record, for whoever resumes the work without a delivery: at most 256 KiB, and no secrets.
	Input []byte
	// Wait is how long to wait for another attempt to finish before ErrInProgress. Zero: not at all.
	Wait time.Duration
}

const (
	// MaxToken is the longest token, in bytes.
	MaxToken = 255
	maxInput = 256 << 10
)

func (r Request) check() error {
	if len(r.Token) == 0 || len(r.Token) > MaxToken {
		return fmt.Errorf("%w: %d bytes, want 1 to %d", ErrBadToken, len(r.Token), MaxToken)
	}
	for i := range len(r.Token) {
		if c := r.Token[i]; c <= ' ' || c > '~' {
			return fmt.Errorf("%w: byte %d is not printable ASCII", ErrBadToken, i+1)
		}
	}
	if len(r.Input) > maxInput {
		return fmt.Errorf("input of %d bytes is too long to keep in the record; %d are allowed", len(r.Input), maxInput)
	}
	return nil
}

// Repeat says whether an effect may be done again when nobody can tell whether it happened.
type Repeat int

const (
	// Safe: do it again under the same token; the callee deduplicates, or twice is as good as once.
	Safe Repeat = iota
	// Never: stop as ErrUncertain and let an operator settle it, unless Find can tell.
	Never
)

// Attempt is one try at a step, as its effect sees it.
type Attempt struct {
	ID    string
	Fence int64 // 1 for the first; a resource that can compare refuses a lower one than it has seen
	Token string
	// Deadline is when the lease would run out if it were never renewed, by the local clock. The context ends on its own.
	Deadline time.Time
}

// Effect is a step: what it is called, how it is done, and how to find out whether it was.
type Effect[T any] struct {
	Request Request
	// Do makes the change. Its context ends with cause ErrLost when the claim is lost. Its result is stored as JSON. An
	// error releases the claim for the next attempt, unless it is Permanent.
	Do func(ctx context.Context, a Attempt) (T, error)
	// Find, where it is set, is asked on every attempt after the first, before Do: did an earlier attempt's effect happen?
	// An error of Find releases the claim; Do does not run.
	Find func(ctx context.Context, a Attempt) (value T, found bool, err error)
	// Repeat is Safe by default.
	Repeat Repeat
}

// Result is what a guarded step gives to its caller, the first time and every time after.
type Result[T any] struct {
	Value T
	// Replayed: this call did not do it; an earlier one had finished. Found: an earlier attempt had done it, and this one
	// recorded that.
	Replayed, Found bool
	Fence           int64
	AttemptID       string
}

// Do runs the effect once for its token, and hands its outcome to every duplicate.
//
// A fresh step costs two writes of the store, a duplicate one write that is refused and one read. Errors: ErrBadToken,
// ErrMismatch, ErrUncertain, ErrFailed and ErrNewerSchema are final; ErrInProgress, ErrLost, ErrUnrecorded and whatever the
// store or the effect returned may be retried, with the same token.
func Do[T any](ctx context.Context, g *Guard, e Effect[T]) (Result[T], error) {
	if e.Do == nil {
		return Result[T]{}, errors.New("effect has no Do")
	}
	var fresh T
	s := step{Request: e.Request, repeat: e.Repeat, do: func(ctx context.Context, a Attempt) (_ *Outcome, err error) {
		if fresh, err = e.Do(ctx, a); err != nil {
			return nil, err
		}
		return encode(fresh), nil
	}}
	if e.Find != nil {
		s.find = func(ctx context.Context, a Attempt) (*Outcome, bool, error) {
			v, found, err := e.Find(ctx, a)
			if err != nil || !found {
				return nil, false, err
			}
			fresh = v
			return encode(v), true, nil
		}
	}
	d, err := g.run(ctx, s)
	if err != nil {
		return Result[T]{Fence: d.Fence, AttemptID: d.AttemptID}, err
	}
	return decode(d, fresh)
}

// encode makes an outcome of a result. The effect has happened: a result that cannot be stored must not undo that, so it
// becomes a tombstone, and later callers get ErrNoResult.
func encode(v any) *Outcome {
	body, err := json.Marshal(v)
	if err != nil {
		return &Outcome{Tombstone: true}
	}
	return (&Outcome{Body: body}).bounded()
}

// bounded is o, or a tombstone where it is beyond what any store keeps.
func (o *Outcome) bounded() *Outcome {
	if len(o.Body) > maxBody {
		return &Outcome{Code: o.Code, Tombstone: true}
	}
	return o
}

// decode gives every caller the same value: what was stored, also to the first one. Only a result that was not kept is
// handed to the first caller as it is.
func decode[T any](d done, fresh T) (Result[T], error) {
	r := Result[T]{Replayed: d.replayed, Found: d.found, Fence: d.Fence, AttemptID: d.AttemptID}
	switch {
	case d.Outcome == nil:
		return r, nil // completed by a program that keeps no outcome
	case d.Outcome.Tombstone && (!d.replayed || d.found):
		r.Value = fresh
		return r, nil
	case d.Outcome.Tombstone:
		return r, fmt.Errorf("replay %s: %w", d.Token, ErrNoResult)
	case len(d.Outcome.Body) == 0:
		return r, nil
	}
	if err := json.Unmarshal(d.Outcome.Body, &r.Value); err != nil {
		return r, fmt.Errorf("replay %s: the recorded result is of another type: %w", d.Token, err)
	}
	return r, nil
}
