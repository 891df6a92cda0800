package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// claim is an attempt that owns its step: the record as it last wrote it, kept alive by a heartbeat.
//
// Every write is conditional on the version of the one before, so writes go one at a time: whoever has the token of writing
// owns rec and version. A channel and not a mutex, because a store call may last.
type claim struct {
	g       *Guard
	attempt Attempt
	parent  *claim
	cancel  context.CancelCauseFunc // ends the effect

	writing chan struct{}
	rec     Record
	version Version

	mu         sync.Mutex // guards what follows; never held across a call to the outside
	state      state
	deadline   time.Time
	stopBeat   func() bool
	stopExpiry func() bool
	cutBeat    context.CancelFunc // ends a renewal on its way; nil before the first
}

type state int

const (
	held     state = iota
	expired        // the local deadline passed; perhaps nobody noticed
	lost           // the store says that another owns the step
	settling       // the effect has returned; no more renewals
	gone           // released: whatever goes on under this attempt must stop
)

var errExpired = fmt.Errorf("%w: its lease ran out before it could be renewed", ErrLost)

type claimKey struct{}

func claimOf(ctx context.Context) *claim {
	c, _ := ctx.Value(claimKey{}).(*claim)
	return c
}

// AttemptFrom is the guarded attempt that ctx belongs to; the innermost, where they are nested.
func AttemptFrom(ctx context.Context) (Attempt, bool) {
	if c := claimOf(ctx); c != nil {
		return c.attempt, true
	}
	return Attempt{}, false
}

// TokenFrom is the token of the guarded step that ctx belongs to, "" outside of one.
func TokenFrom(ctx context.Context) string {
	a, _ := AttemptFrom(ctx)
	return a.Token
}

// holding is ErrLost if any attempt that ctx belongs to has lost its claim: it must not begin another step. The time is
// asked again here, because a process that was stopped hears of its deadline late.
func holding(ctx context.Context) error {
	for c := claimOf(ctx); c != nil; c = c.parent {
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *claim) check() error {
	now := c.g.cfg.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == lost || c.state == gone:
		return ErrLost
	case c.state == expired, c.state == held && !now.Before(c.deadline):
		return errExpired
	}
	return nil
}

// hold starts the heartbeat of a claim that was won. The context is the effect's.
func (g *Guard) hold(ctx context.Context, rec Record, v Version, deadline time.Time) (context.Context, *claim) {
	c := &claim{
		g: g, rec: rec, version: v, parent: claimOf(ctx), deadline: deadline, writing: make(chan struct{}, 1),
		attempt: Attempt{ID: rec.AttemptID, Token: rec.Token, Fence: rec.Fence, Deadline: deadline},
	}
	ctx, c.cancel = context.WithCancelCause(context.WithValue(ctx, claimKey{}, c))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopExpiry = g.cfg.Clock.AfterFunc(deadline.Sub(g.cfg.Clock.Now()), c.expire)
	c.stopBeat = g.cfg.Clock.AfterFunc(g.cfg.Lease/3, func() { c.renew(ctx) })
	return ctx, c
}

// expire runs at the local deadline.
func (c *claim) expire() {
	now := c.g.cfg.Clock.Now()
	c.mu.Lock()
	over := c.state == held && !now.Before(c.deadline)
	if over {
		c.state = expired
	} else if c.state == held {
		c.stopExpiry = c.g.cfg.Clock.AfterFunc(c.deadline.Sub(now), c.expire)
	}
	c.mu.Unlock()
	if over {
		c.cancel(errExpired)
	}
}

// lose notes that the store gave the step to another, and ends the effect.
func (c *claim) lose(ctx context.Context) {
	c.mu.Lock()
	first := c.state != lost
	c.state = lost
	c.mu.Unlock()
	if first {
		c.cancel(ErrLost)
		c.g.observe(ctx, Lost, &c.rec, ErrLost)
	}
}

// extend moves the local deadline on after a renewal, and sets the next one for after d.
func (c *claim) extend(ctx context.Context, deadline time.Time, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != held {
		return
	}
	clock := c.g.cfg.Clock
	if deadline.After(c.deadline) {
		c.deadline = deadline
		c.stopExpiry()
		c.stopExpiry = clock.AfterFunc(deadline.Sub(clock.Now()), c.expire)
	}
	c.stopBeat = clock.AfterFunc(d, func() { c.renew(ctx) })
}

// renew is one heartbeat: a conditional write that extends the lease. It never waits for a later time: what fails is tried
// again by the next beat, until the deadline.
func (c *claim) renew(ctx context.Context) {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	// The heartbeat goes on while the effect does, even if the caller has gone.
	call, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	c.mu.Lock()
	alive := c.state == held
	c.cutBeat = cut
	c.mu.Unlock()
	if !alive {
		return
	}
	g := c.g
	sent := g.cfg.Clock.Now() // before the write, so that the store's lease ends no sooner than the one counted here
	rec := c.rec
	rec.Seq++ // a write that changes nothing would not renew
	g.lease(&rec, g.now())
	version, err := g.store.Update(call, c.version, rec)
	if err == nil {
		c.rec, c.version = rec, version
		c.extend(ctx, sent.Add(g.cfg.Lease-g.cfg.Margin), g.cfg.Lease/3)
		g.observe(ctx, Renewed, &rec, nil)
		return
	}
	// Refused, or the answer was lost: the record says which.
	asked := g.cfg.Clock.Now()
	snap, err := g.store.Get(call, rec.Token)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		c.extend(ctx, time.Time{}, g.cfg.Lease/10)
	case err != nil || !c.owns(&snap.Record):
		c.lose(ctx)
	case snap.Record.Seq < rec.Seq: // not written, or not yet
		c.rec.Seq, c.version = rec.Seq, snap.Version
		c.extend(ctx, g.deadline(snap, asked).Add(-g.cfg.Margin), g.cfg.Lease/10)
	default:
		c.rec, c.version = rec, snap.Version
		c.extend(ctx, g.deadline(snap, asked).Add(-g.cfg.Margin), g.cfg.Lease/3)
		g.observe(ctx, Renewed, &rec, nil)
	}
}

// owns reports whether a record that was read still is this attempt's, unfinished.
func (c *claim) owns(r *Record) bool {
	return r.AttemptID == c.attempt.ID && r.Fence == c.attempt.Fence && r.Status == InProgress && !r.released()
}

// stop ends the heartbeat; a renewal on its way is cut off, and whether it arrived shows at the next write.
func (c *claim) stop() {
	c.mu.Lock()
	if c.state == held || c.state == expired {
		c.state = settling
	}
	c.stopBeat()
	c.stopExpiry()
	cut := c.cutBeat
	c.mu.Unlock()
	if cut != nil {
		cut()
	}
}

// settle writes how the attempt ended, if the record still is its own. It outlives the caller, for one lease at most.
// nil: recorded. ErrLost: another owns the step, nothing was written. Any other error: nobody knows.
func (c *claim) settle(ctx context.Context, status Status, how string, o *Outcome, f *Failure) error {
	c.stop()
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	g := c.g
	ctx, cancel := g.detach(ctx, g.cfg.Lease)
	defer cancel()
	if c.check() != nil {
		return ErrLost
	}
	rec := c.rec
	g.settle(&rec, status, how, o.bounded(), f)
	err := c.write(ctx, &rec)
	if errors.Is(err, ErrLost) {
		c.lose(ctx)
		return err
	}
	if status == InProgress {
		c.mu.Lock()
		c.state = gone // even if the release did not arrive: the effect is over, and nothing may follow
		c.mu.Unlock()
	}
	if err != nil {
		g.observe(ctx, Unrecorded, &rec, err)
		return err
	}
	c.rec = rec
	g.cache.put(rec, g.cfg.Clock.Now())
	return nil
}

// write brings rec into the store over the attempt's own last write, through lost answers and short outages. What must not be
// lost is tried for longer; a claim that is not given up ends with its lease anyway.
func (c *claim) write(ctx context.Context, rec *Record) error {
	tries := 2
	if rec.Status == Completed || rec.Status == Failed {
		tries = 8 // pauses of about 6 s in all, beside what the store's client spends on its own retries
	}
	var last error
	for try := 0; try < tries && ctx.Err() == nil; try++ {
		if try > 1 {
			_ = sleep(ctx, c.g.cfg.Clock, 25*time.Millisecond<<try)
		}
		if last != nil { // refused or unknown: nothing may be written before the record was read
			done, err := c.reread(ctx, rec)
			if done || errors.Is(err, ErrLost) {
				return err
			}
			if err != nil {
				last = err
				continue
			}
		}
		rec.Seq++
		_, err := c.g.store.Update(ctx, c.version, *rec)
		if errors.Is(err, ErrTooLarge) && rec.Outcome != nil && !rec.Outcome.Tombstone {
			rec.Outcome = rec.Outcome.tombstone()
			_, err = c.g.store.Update(ctx, c.version, *rec)
		}
		if err == nil {
			return nil
		}
		last = err
	}
	if done, err := c.reread(ctx, rec); done || errors.Is(err, ErrLost) {
		return err
	}
	if last == nil {
		last = ctx.Err()
	}
	return last
}

// reread looks how the record stands after a write that failed: done, unfinished and mine (its version is taken up), or
// ErrLost.
func (c *claim) reread(ctx context.Context, rec *Record) (done bool, err error) {
	snap, err := c.g.store.Get(ctx, rec.Token)
	r := &snap.Record
	switch {
	case errors.Is(err, ErrNotFound):
		return false, ErrLost
	case err != nil:
		return false, err
	case r.AttemptID != rec.AttemptID || r.Fence != rec.Fence:
		return false, ErrLost
	case !c.owns(r):
		return true, nil // an earlier try arrived, its answer did not
	}
	c.version = snap.Version
	return false, nil
}
