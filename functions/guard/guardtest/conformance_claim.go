package guardtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"example.com/runonce/functions/guard"
)

// B1: the next delivery takes over at the end of the lease, not before, and not only when the record expires.
func crashedClaimIsTakenOver(b *bench) {
	var n atomic.Int64
	b.process().crash(benchToken)
	next := b.process()
	_, err := next.do(benchToken, "early", &n)
	b.wantInProgress(err)
	b.later(benchLease - slack)
	_, err = next.do(benchToken, "early", &n)
	b.wantInProgress(err)
	b.wantCount(&n, 0)
	b.later(slack)
	got, err := next.do(benchToken, "second", &n)
	b.want(got, err, "second", false)
	if got.Fence != 2 || next.events.count(guard.TookOver) != 1 {
		b.Errorf("fence %d and %d takeovers, want 2 and 1", got.Fence, next.events.count(guard.TookOver))
	}
	b.wantCount(&n, 1)
}

// B2: a lease of nothing is a lease that is over, never one without an end; and a tiny one can be taken over.
func leaseOfNothing(b *bench) {
	for name, lease := range map[string]time.Duration{"zero": 0, "negative": -time.Second, "one_nanosecond": 1} {
		b.each("record_"+name, func(b *bench, token string) {
			rec := contractRecords()["claimed"]
			rec.Token, rec.Lease, rec.Fingerprint = token, &lease, "payload"
			if _, err := b.Store.Create(b.Context(), rec); err != nil {
				b.Fatal(err)
			}
			if lease > 0 {
				b.later(time.Second)
			}
			var n atomic.Int64
			got, err := b.process().do(token, "mine", &n)
			b.want(got, err, "mine", false)
		})
		b.each("config_"+name, func(b *bench, token string) {
			g, err := guard.New(b.Store, guard.Config{Lease: lease, Clock: &Clock{}})
			if err != nil {
				return // refused at the start: no record can come of it
			}
			ctx, cancel := context.WithCancel(b.Context())
			_, _ = guard.Do(ctx, g, guard.Effect[string]{
				Request: guard.Request{Token: token, Fingerprint: "payload"},
				Do:      func(context.Context, guard.Attempt) (string, error) { cancel(); return "", errKilled },
			})
			b.later(time.Hour)
			var n atomic.Int64
			got, err := b.process().do(token, "mine", &n)
			b.want(got, err, "mine", false)
		})
	}
}

// B3: a record without a lease field is locked, and judged by lease_expires where it has that.
func noLeaseFieldIsLocked(b *bench) {
	now := b.serverTime()
	for name, row := range map[string]struct {
		expires time.Time
		free    bool
	}{
		"no_end":       {time.Time{}, false},
		"end_to_come":  {now.Add(time.Hour), false},
		"end_has_past": {now.Add(-time.Hour), true},
	} {
		b.each(name, func(b *bench, token string) {
			rec := guard.Record{Token: token, Status: guard.InProgress, AttemptID: "theirs", LeaseExpires: row.expires}
			if _, err := b.Store.Create(b.Context(), rec); err != nil {
				b.Fatal(err)
			}
			before := b.snapshot(token)
			var n atomic.Int64
			got, err := b.process().do(token, "mine", &n)
			if row.free {
				b.want(got, err, "mine", false)
				return
			}
			b.wantErr(err, guard.ErrInProgress)
			b.wantCount(&n, 0)
			b.unchanged(before)
		})
	}
	b.each("no_end_a_month_later", func(b *bench, token string) {
		if _, err := b.Store.Create(b.Context(), guard.Record{Token: token, Status: guard.InProgress, AttemptID: "theirs"}); err != nil {
			b.Fatal(err)
		}
		b.later(30 * 24 * time.Hour)
		var n atomic.Int64
		_, err := b.process().do(token, "mine", &n)
		b.wantErr(err, guard.ErrInProgress)
		b.wantCount(&n, 0)
	})
}

// serverTime asks the store for its time.
func (b *bench) serverTime() time.Time {
	b.Helper()
	probe := "probe/of/time/" + b.Name()
	if _, err := b.Store.Create(b.Context(), guard.Record{Token: probe, Status: guard.Completed}); err != nil {
		b.Fatal(err)
	}
	return b.snapshot(probe).ReadAt
}

// B4: between the read that found a lease run out and the takeover, another completes. The takeover must not happen.
func takeoverIsConditional(b *bench) {
	for name, finish := range map[string]func(b *bench, first *stuck, n *atomic.Int64){
		"another_took_over_and_completed": func(b *bench, _ *stuck, n *atomic.Int64) {
			got, err := b.process().do("row/"+"another_took_over_and_completed", "winner", n)
			b.want(got, err, "winner", false)
		},
		"the_first_completed_after_all": func(b *bench, first *stuck, n *atomic.Int64) {
			got, err := first.letGo()
			b.want(got, err, "winner", false)
		},
	} {
		b.each(name, func(b *bench, token string) {
			var n atomic.Int64
			first := b.process().stick(token, func(context.Context) (string, error) { n.Add(1); return "winner", nil })
			if name == "another_took_over_and_completed" {
				first.faults.Add(Fault{Kind: Refuse, Err: errKilled})
			}
			b.later(benchLease)
			gate := NewGate()
			slow := b.process()
			slow.faults.Add(Fault{Kind: HoldAnswer, Method: Get, N: 1, Gate: gate})
			done := make(chan struct{})
			var got guard.Result[string]
			var err error
			go func() {
				defer close(done)
				got, err = slow.do(token, "loser", &n)
			}()
			b.await(gate.Arrived(), "the slow process does not read the record")
			finish(b, first, &n)
			before := b.snapshot(token)
			gate.Open()
			b.await(done, "the slow delivery does not end")
			b.want(got, err, "winner", true)
			b.wantCount(&n, 1)
			b.unchanged(before)
		})
	}
}

// B20: any number of processes find one run-out claim at the same instant; one takes it over.
func recoveryRace(b *bench) {
	b.process().crash(benchToken)
	b.later(benchLease)
	var n atomic.Int64
	inside := NewGate()
	e := step(benchToken, "recovered", &n)
	plain := e.Do
	e.Do = func(ctx context.Context, a guard.Attempt) (string, error) {
		_ = inside.Wait(ctx)
		return plain(ctx, a)
	}
	processes := make(chan *process, 12)
	for range cap(processes) {
		processes <- b.process()
	}
	won := make(chan struct{})
	go func() {
		defer close(won)
		ended := race(func() error {
			_, err := guard.Do(b.Context(), (<-processes).Guard, e)
			if err != nil && !errors.Is(err, guard.ErrInProgress) {
				b.Errorf("a recovering process was told %v", err)
			}
			return err
		})
		if ended < 1 {
			b.Error("nobody recovered the run")
		}
	}()
	b.await(inside.Arrived(), "nobody takes over")
	inside.Open()
	b.await(won, "the race does not end")
	b.wantCount(&n, 1)
	if fence := b.snapshot(benchToken).Record.Fence; fence != 2 {
		b.Errorf("fence %d, want 2: one takeover", fence)
	}
}

// B27: the record that refused the claim is gone when it is read. The guard starts again, boundedly, and never runs the
// effect unclaimed.
func recordVanishes(b *bench) {
	b.each("once", func(b *bench, token string) {
		if b.Delete == nil {
			b.Skip("this store's records cannot be deleted; guardtest's own tests run this on Memory")
		}
		old := contractRecords()["claimed"]
		old.Token = token
		if _, err := b.Store.Create(b.Context(), old); err != nil {
			b.Fatal(err)
		}
		p := b.process()
		p.faults.Add(Fault{Kind: Hold, Method: Get, N: 1, Gate: opened(), Do: func() {
			if err := b.Delete(b.Context(), token); err != nil {
				b.Error(err)
			}
		}})
		var n atomic.Int64
		got, err := p.do(token, "mine", &n)
		b.want(got, err, "mine", false)
		if rec := b.snapshot(token).Record; rec.Status != guard.Completed || rec.AttemptID != got.AttemptID {
			b.Errorf("record of attempt %q is %s, want that of %q completed", rec.AttemptID, rec.Status, got.AttemptID)
		}
	})
	b.each("always", func(b *bench, token string) {
		p := b.process()
		p.faults.Add(Fault{Kind: Refuse, Method: Create, Err: guard.ErrExists})
		var n atomic.Int64
		_, err := p.do(token, "mine", &n)
		if err == nil {
			b.Error("the step ran although no claim was ever granted")
		}
		b.wantCount(&n, 0)
		if calls := p.faults.Count(""); calls > 100 {
			b.Errorf("%d store calls, want the loop bounded", calls)
		}
	})
}

func opened() *Gate {
	g := NewGate()
	g.Open()
	return g
}
