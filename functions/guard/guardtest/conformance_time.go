package guardtest

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/runonce/functions/guard"
)

// B15: seconds are seconds. Just inside the lease it holds, at its end it does not; the record is kept as long as asked.
func unitsOfTime(b *bench) {
	const lease, retention = 90 * time.Second, 72 * time.Hour
	p := b.process(func(c *guard.Config) { c.Lease, c.Retention = lease, retention })
	p.crash(benchToken)
	rec := b.snapshot(benchToken).Record
	if rec.Lease == nil || *rec.Lease != lease {
		b.Errorf("the record's lease is %v, want %v", rec.Lease, lease)
	}
	if got := rec.LeaseExpires.Sub(p.clock.Now()); got != lease {
		b.Errorf("lease_expires is %v ahead, want %v", got, lease)
	}
	if got := rec.ExpireAt.Sub(p.clock.Now()); got < retention || got > retention+lease {
		b.Errorf("expire_at is %v ahead, want %v", got, retention)
	}
	b.later(lease - slack)
	var n atomic.Int64
	_, err := b.process().do(benchToken, "early", &n)
	b.wantErr(err, guard.ErrInProgress)
	b.later(slack)
	got, err := b.process().do(benchToken, "late", &n)
	b.want(got, err, "late", false)
	b.wantCount(&n, 1)
}

// B16: two processes whose clocks are twenty minutes apart, and both wrong. Neither takes over early; the time left is
// above zero and within the lease.
func skewedClocks(b *bench) {
	for name, skew := range map[string]time.Duration{"holder_behind": -10 * time.Minute, "holder_ahead": 10 * time.Minute} {
		b.each(name, func(b *bench, token string) {
			now := b.serverTime()
			b.process(func(c *guard.Config) { c.Clock = NewClock(now.Add(skew)) }).crash(token)
			taker := b.process(func(c *guard.Config) { c.Clock = NewClock(now.Add(-skew)) })
			var n atomic.Int64
			_, err := taker.do(token, "early", &n)
			b.wantInProgress(err)
			b.later(benchLease - slack)
			_, err = taker.do(token, "early", &n)
			b.wantInProgress(err)
			b.later(slack)
			got, err := taker.do(token, "late", &n)
			b.want(got, err, "late", false)
			b.wantCount(&n, 1)
		})
	}
}

// B23: while a run is live, its record is kept: each renewal moves expire_at on.
func retentionOutlivesTheRun(b *bench) {
	const lease, retention = 9 * time.Hour, 24 * time.Hour
	p := b.process(func(c *guard.Config) { c.Lease, c.Retention = lease, retention })
	run := p.stick(benchToken, func(context.Context) (string, error) { return "long", nil })
	for i := range 10 {
		b.later(lease / 3)
		p.clock.Advance(lease / 3)
		b.eventually("the holder does not renew", func() bool { return p.events.count(guard.Renewed) > i })
		if left := b.snapshot(benchToken).Record.ExpireAt.Sub(p.clock.Now()); left < retention-lease {
			b.Fatalf("after %d renewals the record of a live run is kept for %v", i+1, left)
		}
	}
	got, err := run.letGo()
	b.want(got, err, "long", false)
	if left := b.snapshot(benchToken).Record.ExpireAt.Sub(p.clock.Now()); left < retention {
		b.Errorf("the finished record is kept for %v, want %v", left, retention)
	}
}
