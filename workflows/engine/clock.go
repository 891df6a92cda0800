package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// Clock is the time that an execution lives in: sys.now, sys.sleep, backoff, time-outs and callbacks use nothing else.
// The zero Config has the wall clock; NewVirtual gives one that jumps as soon as every execution on it waits.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, d from now, and must not call it before it has returned. stop reports whether it kept
	// f from being called. f returns soon and does not block.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// scheduler is what a clock may also be: one that must know how much of the program is at work, so that it moves only
// when nothing is. Virtual is one; for other clocks idle does nothing.
type scheduler interface {
	// enter says that one more goroutine is about to work. It returns nil, or a channel that the goroutine must
	// receive from first.
	enter() <-chan struct{}
	// leave says that one of them has ended or is about to wait.
	leave()
	// Hold keeps the time from moving until release is called.
	Hold() (release func())
}

type noScheduler struct{}

func (noScheduler) enter() <-chan struct{} { return nil }
func (noScheduler) leave()                 {}
func (noScheduler) Hold() func()           { return func() {} }

func schedulerOf(c Clock) scheduler {
	if s, ok := c.(scheduler); ok {
		return s
	}
	return noScheduler{}
}

// parking is one wait of one goroutine. Exactly one of wake and the waiter's own context ends it, and whoever does
// counts the goroutine as working again before anybody can look, so that a virtual clock never runs ahead of it.
type parking struct {
	sched scheduler
	done  atomic.Bool
	ready chan (<-chan struct{})
}

func newParking(s scheduler) *parking {
	return &parking{sched: s, ready: make(chan (<-chan struct{}), 1)}
}

// wake ends the wait; it reports whether it was the one that did.
func (p *parking) wake() bool {
	if !p.done.CompareAndSwap(false, true) {
		return false
	}
	p.ready <- p.sched.enter()
	return true
}

// wait blocks until wake was called or ctx is done, and returns the context's error in the second case.
func (p *parking) wait(ctx context.Context) error {
	p.sched.leave()
	var err error
	var turn <-chan struct{}
	select {
	case turn = <-p.ready:
	case <-ctx.Done():
		err = ctx.Err()
		if p.done.CompareAndSwap(false, true) {
			turn = p.sched.enter()
		} else {
			turn, err = <-p.ready, nil
		}
	}
	if turn != nil {
		<-turn
	}
	return err
}

// sleep waits until d has passed on the clock, or ctx is done.
func sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	p := newParking(schedulerOf(c))
	stop := c.AfterFunc(d, func() { p.wake() })
	defer stop()
	return p.wait(ctx)
}
