package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// claim is one attempt's hold on a record. Its mutex serialises the writes of that record, so that a renewal and a finish
// never race: each is conditional on the one before.
type claim struct {
	g         *Guard
	id        string
	request   Request
	repeat    Repeat
	canFind   bool
	began     time.Time
	waitUntil time.Time
	tries     int
	waits     int
	cancel    context.CancelCauseFunc

	mu      sync.Mutex
	held    bool
	rec     Record
	version Version
	sent    time.Time // when the last write that holds the lease was sent: before the store's stamp of it
	over    bool      // no renewal any more
	lost    error     // not nil: this attempt is a zombie
	timers  []func() bool
}

func (c *claim) hold(rec Record, version Version) { c.held, c.rec, c.version = true, rec, version }

// deadline is when this attempt stops believing in its lease: counted from before the write was sent, on the local
// monotonic clock, less the margin. The store's own count starts later, so it ends later.
func (c *claim) deadline() time.Time {
	return c.sent.Add(c.g.cfg.Lease - c.g.cfg.Margin)
}

func (c *claim) attempt() Attempt {
	return Attempt{ID: c.id, Fence: c.rec.Fence, Token: c.request.Token, Deadline: c.deadline()}
}

// perform runs Find and the effect under the lease, and records how they ended.
func (c *claim) perform(ctx context.Context, s step) (found bool, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.cancel = cancel
	above, _ := ctx.Value(attemptKey{}).(*scope)
	inner = context.WithValue(inner, attemptKey{}, &scope{claim: c, attempt: c.attempt(), above: above})
	c.beat(ctx)

	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit of the effect, which goes on after this
			_ = c.settleError(ctx, errPanicked)
		}
	}()
	outcome, found, err := c.effect(inner, s)
	returned = true
	if err != nil {
		return found, c.settleError(ctx, err)
	}
	return found, c.finish(ctx, c.settled(Completed, outcome, nil), nil)
}

var errPanicked = errors.New("effect panicked")

// effect asks Find where an earlier attempt may have done it, then does it.
func (c *claim) effect(ctx context.Context, s step) (*Outcome, bool, error) {
	a := c.attempt()
	if s.find != nil && a.Fence > 1 {
		o, found, err := s.find(ctx, a)
		if err != nil {
			return nil, false, NotApplied(fmt.Errorf("find: %w", err))
		}
		if found {
			c.g.observe(ctx, Found, c.rec, c.began, nil)
			return o, true, nil
		}
	}
	if err := c.alive(); err != nil { // Find may have outlived the lease
		return nil, false, NotApplied(err)
	}
	o, err := s.do(ctx, a)
	return o, false, err
}

// alive is nil while this attempt may act.
func (c *claim) alive() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil && !c.over && !c.g.cfg.Clock.Now().Before(c.deadline()) {
		c.lose(fmt.Errorf("%w: the lease of %s ran out here", ErrLost, c.g.cfg.Lease))
	}
	return c.lost
}

// lose makes this attempt a zombie: its effect's context ends, and its later guard calls refuse. The caller holds mu.
func (c *claim) lose(cause error) {
	if c.lost != nil {
		return
	}
	c.lost = cause
	c.cancel(cause)
	c.g.observe(context.Background(), Lost, c.rec, c.began, cause)
}

// beat starts the renewals, and the watch over the local deadline.
func (c *claim) beat(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schedule(context.WithoutCancel(ctx))
}

// schedule sets the timers for the next renewal and the deadline. The caller holds mu.
func (c *claim) schedule(ctx context.Context) {
	for _, stop := range c.timers {
		stop()
	}
	now := c.g.cfg.Clock.Now()
	next := max(c.sent.Add(c.g.cfg.Lease/3).Sub(now), c.g.cfg.Lease/10)
	c.timers = []func() bool{
		c.g.cfg.Clock.AfterFunc(next, func() { c.renew(ctx) }),
		c.g.cfg.Clock.AfterFunc(c.deadline().Sub(now), func() { _ = c.alive() }),
	}
}

// stop ends the renewals. It returns after one that is on its way.
func (c *claim) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, stop := range c.timers {
		stop()
	}
}

// renew extends the lease by a conditional write. A lost answer is settled by reading: the record is mine, or it is not.
func (c *claim) renew(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.lost != nil {
		return
	}
	now := c.g.cfg.Clock.Now()
	if !now.Before(c.deadline()) {
		return // the deadline's own timer says so
	}
	call, cancel := context.WithTimeout(ctx, c.deadline().Sub(now))
	defer cancel()
	rec := c.rec
	rec.Seq++
	rec = c.g.stamp(rec)
	version, err := c.g.store.Update(call, c.version, rec)
	if err == nil {
		c.rec, c.version, c.sent = rec, version, now
		c.g.observe(ctx, Renewed, rec, c.began, nil)
	} else if snap, err := c.g.store.Get(call, rec.Token); err == nil || errors.Is(err, ErrNotFound) {
		switch {
		case err != nil || !c.mine(snap.Record):
			c.lose(fmt.Errorf("%w: another attempt has the claim", ErrLost))
			return
		case snap.Record.Seq == rec.Seq: // written, and the answer was lost (B30)
			c.rec, c.version, c.sent = snap.Record, snap.Version, now
			c.g.observe(ctx, Renewed, c.rec, c.began, nil)
		default: // not written; the next beat tries again
			c.rec, c.version = snap.Record, snap.Version
		}
	}
	c.schedule(ctx)
}

func (c *claim) mine(rec Record) bool { return rec.AttemptID == c.id && rec.Status == InProgress }

// settled is the claim's record in a final status, its history closed.
func (c *claim) settled(status Status, o *Outcome, f *Failure) func(Record) Record {
	return func(rec Record) Record {
		rec.Attempts = endLast(rec.Attempts, c.id, string(status), c.g.cfg.Clock.Now())
		return c.g.stamp(rec.settled(status, o, f))
	}
}

// settleError records an effect's error: failed for good, uncertain, or released for the next attempt. It returns what the
// caller gets.
func (c *claim) settleError(ctx context.Context, cause error) error {
	var failed *FailedError
	fence := c.rec.Fence
	switch {
	case errors.As(cause, &failed):
		if err := c.finish(ctx, c.settled(Failed, nil, &Failure{Code: failed.Code, Message: failed.Message}), cause); err != nil {
			return err
		}
		return cause
	case c.repeat == Never && !c.canFind && !notApplied(cause):
		f := &Failure{Code: "error_after_send", Message: "the effect returned an error after it may have been sent; nobody can tell whether it happened"}
		if err := c.finish(ctx, c.settled(Uncertain, nil, f), cause); err != nil {
			return errors.Join(err, cause)
		}
		return fmt.Errorf("%w: %w", ErrUncertain, cause)
	case c.g.cfg.MaxAttempts > 0 && fence >= int64(c.g.cfg.MaxAttempts):
		f := gaveUp(fence)
		if err := c.finish(ctx, c.settled(Failed, nil, f), cause); err != nil {
			return errors.Join(err, cause)
		}
		return fmt.Errorf("%w: %w", &FailedError{Code: f.Code, Message: f.Message}, cause)
	}
	release := func(rec Record) Record {
		zero := time.Duration(0)
		rec.Attempts = endLast(rec.Attempts, c.id, "released", c.g.cfg.Clock.Now())
		rec.Lease, rec.Seq = &zero, rec.Seq+1
		return c.g.stamp(rec)
	}
	if err := c.finish(ctx, release, cause); err != nil {
		// Not released: the lease ends the claim. What happened to the effect is what the caller has to know first.
		return errors.Join(cause, err)
	}
	return cause
}

// finish writes the record's end, on the condition that it still is what this attempt wrote last. It goes on after the
// caller's context has ended, and keeps trying while the lease lasts. cause is the effect's error, nil where it happened.
func (c *claim) finish(ctx context.Context, end func(Record) Record, cause error) error {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	clock := c.g.cfg.Clock
	patience := max(c.deadline().Sub(clock.Now()), 2*time.Second)
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	var last error
	for try := range 6 {
		if try > 1 {
			if err := sleep(call, clock, 50*time.Millisecond<<try); err != nil {
				break
			}
		}
		rec := end(c.rec)
		version, err := c.g.store.Update(call, c.version, rec)
		if err == nil {
			return c.ended(ctx, rec, version, cause)
		}
		last = err
		snap, err := c.g.store.Get(call, rec.Token)
		switch {
		case errors.Is(err, ErrNotFound):
			return c.tooLate("the record is gone")
		case err != nil:
			last = err
		case snap.Record.AttemptID != c.id:
			return c.tooLate("another attempt has the claim")
		case snap.Record.Seq >= rec.Seq: // written, and the answer was lost
			return c.ended(ctx, snap.Record, snap.Version, cause)
		default: // mine, and not written yet
			c.rec, c.version = snap.Record, snap.Version
		}
	}
	if cause != nil {
		return fmt.Errorf("the claim could not be given up: %w", last)
	}
	c.g.observe(ctx, Unrecorded, c.rec, c.began, last)
	return fmt.Errorf("%w: %w", ErrUnrecorded, last)
}

// ended keeps the record as it was written, and tells the observer. The caller holds mu.
func (c *claim) ended(ctx context.Context, rec Record, version Version, cause error) error {
	c.rec, c.version = rec, version
	kind := Finished
	switch rec.Status {
	case InProgress:
		kind = Released
	case Uncertain:
		kind = WentUncertain
	}
	c.g.observe(ctx, kind, rec, c.began, cause)
	return nil
}

func (c *claim) tooLate(why string) error {
	c.lose(fmt.Errorf("%w: %s", ErrLost, why))
	return c.lost
}

type attemptKey struct{}

// scope is what a guarded step puts into its effect's context. Steps nest.
type scope struct {
	claim   *claim
	attempt Attempt
	above   *scope
}

// AttemptFrom returns the attempt whose effect ctx belongs to, the innermost one, or false outside of an effect.
func AttemptFrom(ctx context.Context) (Attempt, bool) {
	s, ok := ctx.Value(attemptKey{}).(*scope)
	if !ok {
		return Attempt{}, false
	}
	return s.attempt, true
}

// TokenFrom returns the step token that ctx belongs to, or "" outside of an effect.
func TokenFrom(ctx context.Context) string {
	a, _ := AttemptFrom(ctx)
	return a.Token
}

// lostAbove is ErrLost where ctx belongs to an attempt that lost its claim, at any depth.
func lostAbove(ctx context.Context) error {
	s, _ := ctx.Value(attemptKey{}).(*scope)
	for ; s != nil; s = s.above {
		if err := s.claim.alive(); err != nil {
			return err
		}
	}
	return nil
}
