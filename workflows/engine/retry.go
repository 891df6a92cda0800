package engine

import (
	"context"
	"math"
	"time"

	"example.com/runonce/workflows/syntax"
)

// policy is a retry policy with its values: `${http.default_retry}` is one.
type policy struct {
	predicate  *function
	maxRetries int64
	backoff    backoff
}

type backoff struct{ initial, limit, multiplier float64 } // seconds, seconds, factor

// defaultBackoff is retry.default_backoff; the two documented policies have it, and five retries.
var defaultBackoff = backoff{initial: 1, limit: 60, multiplier: 1.25}

const defaultRetries = 5

// delay is the wait before the n-th retry, counted from 1.
func (b backoff) delay(n int) time.Duration {
	seconds := math.Min(b.initial*math.Pow(b.multiplier, float64(n-1)), b.limit)
	return time.Duration(seconds * float64(time.Second))
}

// retry is a compiled retry block.
type retry struct {
	policy                               valuer // nil: the block form
	predicate                            valuer
	maxRetries, initial, limit, multiply valuer // nil: as in the documented policies
}

func (c *compiler) retry(s *syntax.Retry) *retry {
	optional := func(v *syntax.Value) valuer {
		if v == nil {
			return nil
		}
		return c.value(v)
	}
	return &retry{
		policy: optional(s.Policy), predicate: optional(s.Predicate), maxRetries: optional(s.MaxRetries),
		initial: optional(s.InitialDelay), limit: optional(s.MaxDelay), multiply: optional(s.Multiplier),
	}
}

// retrying is a policy at work on one try.
type retrying struct {
	policy
	made int // retries so far
}

// start evaluates the policy, once, at the try's first error.
func (r *retry) start(f *frame) (*retrying, error) {
	if r.policy != nil {
		v, err := r.policy.eval(f)
		if err != nil {
			return nil, err
		}
		p, ok := v.(*policy)
		if !ok {
			return nil, faultf(TypeError, "retry must be a retry policy, not %s", typeName(v))
		}
		return &retrying{policy: *p}, nil
	}
	p := policy{maxRetries: defaultRetries, backoff: defaultBackoff}
	var err error
	if p.predicate, err = r.predicateFor(f); err != nil {
		return nil, err
	}
	if err := number(f, r.maxRetries, "max_retries", func(n float64) { p.maxRetries = int64(n) }); err != nil {
		return nil, err
	}
	if err := number(f, r.initial, "initial_delay", func(n float64) { p.backoff.initial = n }); err != nil {
		return nil, err
	}
	if err := number(f, r.limit, "max_delay", func(n float64) { p.backoff.limit = n }); err != nil {
		return nil, err
	}
	err = number(f, r.multiply, "multiplier", func(n float64) { p.backoff.multiplier = n })
	return &retrying{policy: p}, err
}

// predicateFor returns the function that judges; without a predicate every error is retried.
func (r *retry) predicateFor(f *frame) (*function, error) {
	if r.predicate == nil {
		return library["retry.always"], nil
	}
	v, err := r.predicate.eval(f)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *function:
		return v, nil
	case *policy:
		return v.predicate, nil
	}
	return nil, faultf(TypeError, "retry predicate must be a function, not %s", typeName(v))
}

func number(f *frame, v valuer, name string, set func(float64)) error {
	if v == nil {
		return nil
	}
	value, err := v.eval(f)
	if err != nil {
		return err
	}
	n, ok := asFloat(value)
	if !ok || n < 0 {
		return faultf(TypeError, "%s must be a number that is not negative, not %s", name, jsonText(value))
	}
	set(n)
	return nil
}

// next decides whether e is retried, and waits out the backoff if it is.
func (r *retrying) next(f *frame, e *Error) (bool, error) {
	if int64(r.made) >= r.maxRetries {
		return false, nil
	}
	verdict, err := f.callFunction(r.predicate, []any{e.Payload})
	if err != nil {
		return false, err
	}
	again, ok := verdict.(bool)
	if !ok {
		return false, faultf(TypeError, "retry predicate must return a boolean, not %s", typeName(verdict))
	}
	if !again {
		return false, nil
	}
	r.made++
	return true, f.x.backOff(f.ctx, r.backoff.delay(r.made))
}

func (x *execution) backOff(ctx context.Context, d time.Duration) error {
	if jitter := x.cfg.Semantics.Jitter; jitter != nil {
		d = jitter(d)
	}
	return sleep(ctx, x.cfg.Clock, d)
}
