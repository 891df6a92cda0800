package guard

import (
	"context"
	"errors"
	"fmt"
)

// run takes one step from its request to its ending. Everything that claims and finishes in two writes comes through here.
func (g *Guard) run(ctx context.Context, s step) (ending, error) {
	ctx = g.began(ctx)
	if err := g.admit(ctx, s.req); err != nil {
		return ending{}, err
	}
	if end, err, ok := g.cached(ctx, s.req); ok {
		return end, err
	}
	ctx, c, end, err := g.claim(ctx, &s)
	if c == nil {
		return end, err
	}
	defer c.cancel(context.Canceled)
	w := work{g: g, c: c, s: &s}
	defer w.unwind(ctx)
	o, err := w.effect(ctx)
	w.returned = true
	return w.conclude(ctx, o, err)
}

// work is one attempt at its effect.
type work struct {
	g        *Guard
	c        *claim
	s        *step
	sent     bool // Do was called
	found    bool
	returned bool // the effect came back, as against a panic or runtime.Goexit
}

// effect finds out whether the change was made, and makes it if it was not.
func (w *work) effect(ctx context.Context) (*Outcome, error) {
	a, max := w.c.attempt, w.g.cfg.MaxAttempts
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx) // the caller went while it claimed
	}
	if a.Fence > 1 && w.s.find != nil {
		o, err := w.s.find(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("find out whether it happened: %w", err)
		}
		if o != nil {
			w.found = true
			w.g.observe(ctx, Found, &w.c.rec, nil)
			return o, nil
		}
	}
	if err := holding(ctx); err != nil {
		return nil, err
	}
	w.sent = true
	if max > 0 && a.Fence > int64(max) {
		return nil, w.exhausted().failed(nil)
	}
	return w.s.do(ctx, a)
}

func (w *work) exhausted() *Failure {
	return &Failure{Code: CodeMaxAttempts, Message: fmt.Sprintf("%d attempts ended without an outcome", w.g.cfg.MaxAttempts)}
}

// CodeMaxAttempts is the code of the FailedError of a step that used up Config.MaxAttempts.
const CodeMaxAttempts = "max_attempts"

// unwind gives the claim up if the effect panicked or ended its goroutine; the panic goes on.
func (w *work) unwind(ctx context.Context) {
	if !w.returned {
		_, _ = w.conclude(ctx, nil, errors.New("the effect panicked"))
	}
}

// conclude records how the effect ended and makes the caller's answer of it.
func (w *work) conclude(ctx context.Context, o *Outcome, err error) (ending, error) {
	c := w.c
	end := ending{outcome: o, found: w.found, fence: c.attempt.Fence, attemptID: c.attempt.ID}
	kind := notApplied
	if w.sent && err != nil {
		kind = classify(err)
	}
	last := w.sent && w.g.cfg.MaxAttempts > 0 && c.attempt.Fence >= int64(w.g.cfg.MaxAttempts)
	switch {
	case err == nil:
		return end, w.complete(ctx, o)
	case kind == permanent:
		return end, w.fail(ctx, failureOf(err), err)
	case kind == unknown && w.s.blind():
		return end, w.doubt(ctx, err)
	case last && (kind == notApplied || w.s.find == nil):
		// With a Find, another attempt asks it first, since this one may have been made.
		return end, w.fail(ctx, w.exhausted(), err)
	}
	return end, w.release(ctx, err)
}

func (w *work) complete(ctx context.Context, o *Outcome) error {
	err := w.c.settle(ctx, Completed, "completed", o, nil)
	switch {
	case err == nil:
		w.g.observe(ctx, Finished, &w.c.rec, nil)
	case errors.Is(err, ErrLost):
		return fmt.Errorf("finish %q: %w", w.c.attempt.Token, err)
	default:
		return fmt.Errorf("finish %q: %w: %w", w.c.attempt.Token, ErrUnrecorded, err)
	}
	return nil
}

func (w *work) fail(ctx context.Context, f *Failure, cause error) error {
	failed := f.failed(cause)
	if err := w.c.settle(ctx, Failed, "failed", nil, f); err != nil {
		return fmt.Errorf("fail %q: %w: %w", w.c.attempt.Token, err, cause)
	}
	w.g.observe(ctx, Finished, &w.c.rec, failed)
	return fmt.Errorf("step %q: %w", w.c.attempt.Token, failed)
}

func (w *work) doubt(ctx context.Context, cause error) error {
	// Not the error's own text: it was not written to be stored, and may hold a secret.
	f := &Failure{Message: "the effect returned an error after it may have happened"}
	err := w.c.settle(ctx, Uncertain, "uncertain", nil, f)
	if errors.Is(err, ErrLost) {
		return fmt.Errorf("step %q: %w: %w", w.c.attempt.Token, err, cause)
	}
	// If it was not recorded, the lease runs out, and the next attempt records it.
	w.g.observe(ctx, WentUncertain, &w.c.rec, cause)
	return fmt.Errorf("step %q: %w: %w", w.c.attempt.Token, ErrUncertain, cause)
}

func (w *work) release(ctx context.Context, cause error) error {
	err := w.c.settle(ctx, InProgress, "released", nil, nil)
	if errors.Is(err, ErrLost) {
		if errors.Is(cause, ErrLost) {
			return cause
		}
		return fmt.Errorf("release %q: %w: %w", w.c.attempt.Token, err, cause)
	}
	if err == nil {
		w.g.observe(ctx, Released, &w.c.rec, cause)
	}
	return cause // if the release did not arrive, the lease runs out
}
