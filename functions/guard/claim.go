package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// rounds is how often a bid tries to write before it gives up: each failed try means that another caller was faster, that
// the record vanished, or that the answer was lost.
const rounds = 5

// bid tries to write the record of a token for one attempt, as the first or over a claim that is free, and says what became
// of it. It is the one way to a claim, for Do, Write and Tx alike.
type bid struct {
	g     *Guard
	store Store
	req   Request
	id    string
	put   func(ctx context.Context) error // writes over prev, or creates
	prev  *Snapshot                       // the free claim to write over; nil: there is no record
	seen  *Snapshot                       // set by a put that has read what stands against it
	own   bool                            // the put carries conditions of the caller's, which may be what failed
}

// stopped is an error of a put after which trying again is of no use.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

// run bids until the record is the attempt's (mine), or a verdict stands against it, with the record that says so. asked is
// from before that record was read. A snapshot without a version: written, and the answer was not lost.
func (b *bid) run(ctx context.Context) (v verdict, snap Snapshot, asked time.Time, err error) {
	clock := b.g.cfg.Clock
	until, pause := clock.Now().Add(b.req.Wait), 50*time.Millisecond
	var last error
	read := b.g.cfg.ReadFirst
	for tries := 0; tries < rounds; {
		if !read {
			// Create first: the fresh case costs one call.
			if last = b.put(ctx); last == nil {
				return mine, Snapshot{}, asked, nil
			}
			if stop := (stopped{}); errors.As(last, &stop) {
				return 0, Snapshot{}, asked, stop.error
			}
			tries++
		}
		read = false
		// Whether the write was refused or its answer lost: read before anything else.
		asked = clock.Now()
		if snap, err = b.look(ctx); errors.Is(err, ErrNotFound) {
			if b.prev == nil && b.own && certainly(last) {
				return 0, snap, asked, last // the record is not there, so it was one of the caller's documents
			}
			b.prev = nil // nothing there, or gone between the refusal and this read
			continue
		}
		if err != nil {
			return 0, snap, asked, errors.Join(last, err) // fail closed
		}
		var left time.Duration
		v, left = decide(snap, b.id, b.req.Fingerprint, b.g.cfg.Lease)
		rest := until.Sub(clock.Now())
		switch {
		case v == takeOver && b.own && b.prev != nil && b.prev.Version == snap.Version && certainly(last):
			return 0, snap, asked, last // the record's condition holds, so it was one of the caller's
		case v == takeOver:
			b.prev = &snap
		case v == wait && rest > 0:
			if err := sleep(ctx, clock, min(pause, left, rest)); err != nil {
				return 0, snap, asked, err
			}
			pause, read = min(2*pause, time.Second), true
		default:
			return v, snap, asked, nil
		}
	}
	return 0, Snapshot{}, asked, fmt.Errorf("gave up after %d tries: %w", rounds, last)
}

// certainly reports whether a write was refused, as against one of which nobody knows.
func certainly(err error) bool { return errors.Is(err, ErrExists) || errors.Is(err, ErrConflict) }

func (b *bid) look(ctx context.Context) (Snapshot, error) {
	if s := b.seen; s != nil {
		b.seen = nil
		return *s, nil
	}
	return b.store.Get(ctx, b.req.Token)
}

// claim makes the caller the owner of the step, with the context for its effect; or says how it ended for this caller.
func (g *Guard) claim(ctx context.Context, s *step) (context.Context, *claim, ending, error) {
	id := g.cfg.NewID()
	var won struct {
		rec     Record
		version Version
		sent    time.Time
	}
	b := bid{g: g, store: g.store, req: s.req, id: id}
	b.put = func(ctx context.Context) (err error) {
		prev := b.prev
		won.rec = g.record(s.req, id, prev)
		// Where nobody may know whether the attempt before did it, this one ends here, in one conditional write.
		if s.blind() && prev != nil && !prev.Record.released() {
			g.settle(&won.rec, Uncertain, "uncertain", nil, &Failure{Message: "the attempt before ended without a word"})
		}
		won.sent = g.cfg.Clock.Now()
		if prev == nil {
			won.version, err = g.store.Create(ctx, won.rec)
		} else {
			won.version, err = g.store.Update(ctx, prev.Version, won.rec)
		}
		if errors.Is(err, ErrTooLarge) {
			return stopped{err}
		}
		return err
	}
	v, snap, asked, err := b.run(ctx)
	switch {
	case err != nil:
		if ctx.Err() != nil {
			g.abandon(ctx, s.req.Token, id)
		}
		return ctx, nil, ending{}, fmt.Errorf("claim %q: %w", s.req.Token, err)
	case v == mine && snap.Record.Status != InProgress && snap.Version != "":
		v = replay // an attempt that claims has not finished; so somebody's NewID repeats a name
		fallthrough
	case v != mine && !(v == refuseUnsure && snap.Record.AttemptID == id):
		end, err := g.refuse(ctx, v, snap)
		return ctx, nil, end, err
	}
	rec, version, deadline := won.rec, won.version, won.sent.Add(g.cfg.Lease)
	if snap.Version != "" { // the answer was lost: the record is mine as it was read
		rec, version, deadline = snap.Record, snap.Version, g.deadline(snap, asked)
	}
	if rec.Status == Uncertain {
		g.observe(ctx, WentUncertain, &rec, nil)
		return ctx, nil, endingOf(&rec), fmt.Errorf("step %q: %w: %s", rec.Token, ErrUncertain, rec.Failure.Message)
	}
	kind := Claimed
	if rec.Fence > 1 {
		kind = TookOver
	}
	g.observe(ctx, kind, &rec, nil)
	inner, c := g.hold(ctx, rec, version, deadline.Add(-g.cfg.Margin))
	return inner, c, ending{}, nil
}

// deadline is when the claim that was read ends on the local clock. asked is from before the read was sent, and the store
// stamped it later than that, so the true end is not before this one.
func (g *Guard) deadline(s Snapshot, asked time.Time) time.Time {
	left, _ := remaining(s, 0)
	return asked.Add(left)
}

// refuse turns a verdict that stands against the caller into what it gets: the outcome, or why not. Nothing is written.
func (g *Guard) refuse(ctx context.Context, v verdict, s Snapshot) (ending, error) {
	r := &s.Record
	end := endingOf(r)
	var err error
	switch v {
	case replay:
		g.cache.put(*r, g.cfg.Clock.Now())
		end.replayed = true
		g.observe(ctx, Replayed, r, nil)
		if r.Status == Failed {
			return end, fmt.Errorf("step %q: %w", r.Token, r.Failure.failed(nil))
		}
		return end, nil
	case wait:
		_, left := decide(s, "", "", g.cfg.Lease)
		err = &InProgressError{RetryAfter: left, AttemptID: r.AttemptID, Fence: r.Fence}
	case refuseMismatch:
		err = ErrMismatch
	case refuseSchema:
		err = ErrNewerSchema
	case refuseUnsure:
		err = ErrUncertain
		if r.Failure != nil {
			err = fmt.Errorf("%w: %s", ErrUncertain, r.Failure.Message)
		}
	default:
		err = fmt.Errorf("record is %v with the verdict %v", r.Status, v) // a record with my name that I never wrote
	}
	g.observe(ctx, Refused, r, err)
	return ending{fence: r.Fence, attemptID: r.AttemptID}, fmt.Errorf("step %q: %w", r.Token, err)
}

// abandon gives up a claim whose making was cut off by the caller's going, so that the next delivery need not wait for it.
func (g *Guard) abandon(ctx context.Context, token, id string) {
	ctx, cancel := g.detach(ctx, g.cfg.Lease/3)
	defer cancel()
	snap, err := g.store.Get(ctx, token)
	if err != nil || snap.Record.AttemptID != id || snap.Record.Status != InProgress {
		return
	}
	rec := snap.Record
	rec.Seq++
	g.settle(&rec, InProgress, "released", nil, nil)
	if _, err := g.store.Update(ctx, snap.Version, rec); err == nil {
		g.observe(ctx, Released, &rec, context.Cause(ctx))
	}
}

// record is a new claim, the first or over prev. What the first claimant asked for stays.
func (g *Guard) record(r Request, id string, prev *Snapshot) Record {
	now := g.now()
	rec := Record{
		Token: r.Token, Status: InProgress, AttemptID: id, Fence: 1, Fingerprint: r.Fingerprint, Input: bytes.Clone(r.Input), Seq: 1, Schema: schema,
	}
	if prev != nil {
		old := &prev.Record
		rec.Fence = max(old.Fence, 1) + 1 // a record without a fence had one attempt at least
		if old.Fingerprint != "" {
			rec.Fingerprint = old.Fingerprint
		}
		if len(old.Input) > 0 {
			rec.Input = old.Input
		}
		rec.Attempts = slices.Clone(old.Attempts)
		if n := len(rec.Attempts); n > 0 && rec.Attempts[n-1].Ended == "" {
			rec.Attempts[n-1].Ended, rec.Attempts[n-1].EndedAt = "taken_over", now
		}
	}
	rec.Attempts = append(rec.Attempts, AttemptEntry{AttemptID: id, Fence: rec.Fence, ClaimedAt: now})
	if n := len(rec.Attempts) - g.cfg.MaxHistory; n > 0 {
		rec.Attempts = slices.Delete(rec.Attempts, 0, n)
	}
	g.lease(&rec, now)
	return rec
}

// lease gives the record a lease from now, and moves its retention on.
func (g *Guard) lease(r *Record, now time.Time) {
	lease := g.cfg.Lease
	r.Lease, r.LeaseExpires, r.ExpireAt = &lease, now.Add(lease), now.Add(g.cfg.Retention)
}

// settle ends an attempt in its record. InProgress means released: fence and history stay, the lease ends.
func (g *Guard) settle(r *Record, status Status, how string, o *Outcome, f *Failure) {
	now := g.now()
	var none time.Duration
	r.Status, r.Outcome, r.Failure, r.Lease = status, o, f, &none
	r.LeaseExpires, r.ExpireAt = now, now.Add(g.cfg.Retention)
	if status == Failed || status == Uncertain {
		// Google's sample knows neither word and judges by this field alone: it must not run such a step again.
		r.LeaseExpires = r.ExpireAt
	}
	n := len(r.Attempts)
	if n == 0 {
		return
	}
	r.Attempts = slices.Clone(r.Attempts)
	last := &r.Attempts[n-1]
	last.Ended, last.EndedAt = how, now
	if f != nil {
		last.Note = clip(f.Message)
	}
}
