package engine

import (
	"context"
	"sync"
	"time"
)

type inflightKey struct{}

// inflight is one HTTP call under way. Code that answers it in-process may sleep on the execution's virtual clock; while
// it does, the caller counts as waiting, and it counts as working again before anything else can see the time.
type inflight struct {
	sched scheduler

	mu       sync.Mutex
	over     bool
	sleepers map[*parking]struct{}
}

func withInflight(ctx context.Context, s scheduler) (context.Context, *inflight) {
	c := &inflight{sched: s, sleepers: map[*parking]struct{}{}}
	return context.WithValue(ctx, inflightKey{}, c), c
}

// sleep parks in the caller's name. Once the call is over, nobody waits for it any more, so it sleeps as an outsider.
func (c *inflight) sleep(ctx context.Context, v *Virtual, d time.Duration) error {
	p := newParking(c.sched)
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return v.Sleep(context.WithValue(ctx, inflightKey{}, nil), d)
	}
	first := len(c.sleepers) == 0
	if !first { // the caller waits already, in the name of an earlier sleeper
		p.sched = noScheduler{}
	}
	c.sleepers[p] = struct{}{}
	c.mu.Unlock()
	stop := v.AfterFunc(d, func() { p.wake() })
	defer stop()
	err := p.wait(ctx)
	c.mu.Lock()
	delete(c.sleepers, p)
	c.mu.Unlock()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// end is called by the caller when it has its answer or gave up. Sleepers that are still there no longer speak for it.
func (c *inflight) end() {
	c.mu.Lock()
	c.over = true
	left := make([]*parking, 0, len(c.sleepers))
	for p := range c.sleepers {
		left = append(left, p)
	}
	c.mu.Unlock()
	for _, p := range left {
		if !p.done.CompareAndSwap(false, true) {
			continue
		}
		turn := p.sched.enter()
		if turn != nil {
			<-turn
		}
		p.ready <- nil
	}
}

// wakeAll wakes whoever sleeps in the caller's name, because the call was cut short.
func (c *inflight) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.sleepers {
		p.wake()
	}
}
