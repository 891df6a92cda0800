package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// claim takes the step's record for a new attempt, or finds it finished: then the claim is nil and the record is what to
// replay. The record comes back with every error that was about somebody else's.
//
// The order is create, read, decide, update: a fresh step costs one call. A write whose answer was lost is never repeated
// blindly: the record is read, and the attempt knows its own id.
func (g *Guard) claim(ctx context.Context, s step) (*claim, Record, error) {
	if rec, ok := g.cache.get(s.Token); ok {
		if v, _ := decide(Snapshot{Record: rec}, s.Request, ""); v == replay {
			g.observe(ctx, Replayed, rec, g.cfg.Clock.Now(), nil)
			return nil, rec, nil
		}
	}
	c := &claim{g: g, began: g.cfg.Clock.Now(), id: g.cfg.NewID(), request: s.Request, repeat: s.repeat, canFind: s.find != nil}
	c.waitUntil = c.began.Add(s.Wait)
	read := g.cfg.ReadFirst
	for c.tries = 0; c.tries < maxClaims; c.tries++ {
		if !read {
			fresh, err := c.create(ctx)
			if fresh || err != nil {
				return c, Record{}, err
			}
		}
		snap, err := g.store.Get(ctx, s.Token)
		if errors.Is(err, ErrNotFound) {
			read = false // expired or deleted between the two calls, or never written (B27)
			continue
		}
		if err != nil {
			return nil, Record{}, fmt.Errorf("read: %w", err)
		}
		read = true
		again, err := c.judge(ctx, snap)
		switch {
		case err != nil:
			return nil, snap.Record, err
		case again:
			continue
		case c.held:
			return c, Record{}, nil
		default:
			g.cache.put(snap.Record)
			return nil, snap.Record, nil
		}
	}
	return nil, Record{}, fmt.Errorf("the record kept changing: %w", &InProgressError{RetryAfter: g.cfg.Lease})
}

// create tries the fresh claim. Not fresh and no error: somebody's record is there, or nobody knows; read it.
func (c *claim) create(ctx context.Context) (fresh bool, err error) {
	c.sent = c.g.cfg.Clock.Now()
	rec := c.newRecord(Record{Fingerprint: c.request.Fingerprint, Input: c.request.Input})
	version, err := c.g.store.Create(ctx, rec)
	switch {
	case err == nil:
		c.hold(rec, version)
		c.g.observe(ctx, Claimed, rec, c.began, nil)
		return true, nil
	case errors.Is(err, ErrExists):
		return false, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("create: %w", err) // nobody waits for an answer; if it was written, the lease ends it
	}
	return false, nil
}

// judge acts on what decide says of the record that is there. again: read it once more.
func (c *claim) judge(ctx context.Context, snap Snapshot) (again bool, err error) {
	g, rec := c.g, snap.Record
	v, left := decide(snap, c.request, c.id)
	switch v {
	case goOn:
		c.hold(rec, snap.Version)
		g.observe(ctx, Claimed, rec, c.began, nil)
		return false, nil
	case replay:
		g.observe(ctx, Replayed, rec, c.began, nil)
		return false, nil
	case mismatch:
		g.observe(ctx, Refused, rec, c.began, ErrMismatch)
		return false, ErrMismatch
	case newer:
		return false, fmt.Errorf("%w: version %d, status %q", ErrNewerSchema, rec.Schema, rec.Status)
	case busy:
		return c.wait(ctx, rec, left)
	}
	return c.takeOver(ctx, snap, v == takeOverRanOut)
}

// wait lets a part of the other attempt's lease pass where the caller asked for it, and refuses otherwise.
func (c *claim) wait(ctx context.Context, rec Record, left time.Duration) (again bool, err error) {
	g := c.g
	patience := c.waitUntil.Sub(g.cfg.Clock.Now())
	if left <= 0 {
		left = g.cfg.Lease
	}
	if patience <= 0 {
		err := &InProgressError{RetryAfter: max(left, time.Millisecond), AttemptID: rec.AttemptID, Fence: rec.Fence}
		g.observe(ctx, Refused, rec, c.began, err)
		return false, err
	}
	c.waits++
	c.tries-- // the caller's patience bounds the waiting
	pause := min(patience, left, 50*time.Millisecond<<min(c.waits, 5))
	return true, sleep(ctx, g.cfg.Clock, pause)
}

// takeOver claims a record whose claim was released or ran out, on the condition that it still is the one that was read.
func (c *claim) takeOver(ctx context.Context, snap Snapshot, ranOut bool) (again bool, err error) {
	g, old := c.g, snap.Record
	how := "released"
	if ranOut {
		how = "ran out"
	}
	base := old
	base.Attempts = endLast(old.Attempts, old.AttemptID, how, g.cfg.Clock.Now())
	var rec Record
	kind := TookOver
	switch {
	case ranOut && c.repeat == Never && !c.canFind:
		rec = base.settled(Uncertain, nil, &Failure{Code: "lease_ran_out", Message: "the attempt ended without a word; nobody can tell whether its effect happened"})
		kind = WentUncertain
	case g.cfg.MaxAttempts > 0 && old.Fence >= int64(g.cfg.MaxAttempts):
		rec = base.settled(Failed, nil, gaveUp(old.Fence))
		kind = Finished
	default:
		rec = c.newRecord(base)
	}
	rec = g.stamp(rec)
	c.sent = g.cfg.Clock.Now()
	version, err := g.store.Update(ctx, snap.Version, rec)
	if err != nil {
		if ctx.Err() != nil {
			return false, fmt.Errorf("take over: %w", err)
		}
		return true, nil // refused or unknown: the record says which
	}
	g.observe(ctx, kind, rec, c.began, nil)
	if kind != TookOver {
		return true, nil // finished now; the next read replays it
	}
	c.hold(rec, version)
	return false, nil
}

// newRecord is base claimed by this attempt.
func (c *claim) newRecord(base Record) Record {
	g := c.g
	now := g.cfg.Clock.Now()
	lease := g.cfg.Lease
	base.Token, base.Status, base.AttemptID, base.Fence = c.request.Token, InProgress, c.id, base.Fence+1
	base.Lease, base.Seq, base.Outcome, base.Failure = &lease, base.Seq+1, nil, nil
	if base.Fingerprint == "" {
		base.Fingerprint = c.request.Fingerprint
	}
	base.Attempts = append(slices.Clone(base.Attempts), AttemptEntry{AttemptID: c.id, Fence: base.Fence, ClaimedAt: now})
	if n := len(base.Attempts) - g.cfg.MaxHistory; n > 0 {
		base.Attempts = base.Attempts[n:]
	}
	return g.stamp(base)
}

// stamp sets what is written for people and for TTL, and the schema.
func (g *Guard) stamp(rec Record) Record {
	now := g.cfg.Clock.Now().UTC().Truncate(time.Microsecond)
	rec.LeaseExpires = now
	if rec.Status == InProgress && rec.Lease != nil {
		rec.LeaseExpires = now.Add(*rec.Lease)
	}
	rec.ExpireAt = now.Add(g.cfg.Retention)
	rec.Schema = schema
	return rec
}

// settled is rec in a final status.
func (r Record) settled(status Status, o *Outcome, f *Failure) Record {
	zero := time.Duration(0)
	r.Status, r.Outcome, r.Failure, r.Lease, r.Seq = status, o, f, &zero, r.Seq+1
	return r
}

// endLast closes the history's line of an attempt.
func endLast(history []AttemptEntry, id, how string, at time.Time) []AttemptEntry {
	out := slices.Clone(history)
	for i := range out {
		if out[i].AttemptID == id && out[i].Ended == "" {
			out[i].Ended, out[i].EndedAt = how, at.UTC().Truncate(time.Microsecond)
		}
	}
	return out
}

func gaveUp(fence int64) *Failure {
	return &Failure{Code: "max_attempts", Message: fmt.Sprintf("gave up after %d attempts", fence)}
}

// sleep waits on the clock, or until ctx ends.
func sleep(ctx context.Context, clock Clock, d time.Duration) error {
	woken := make(chan struct{})
	stop := clock.AfterFunc(d, func() { close(woken) })
	defer stop()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
