package schedulertest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Clock is the time that a Server goes by. f is called on a goroutine of its own or by whoever moves the clock.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// Virtual is a clock that stands still but for Advance, which anybody may call, and for the Server's own waits: where the
// Server waits for a back-off or a slot, it moves the clock there at once. Make it with NewVirtual.
type Virtual struct {
	// Moved is told of every move, after it, so that other fakes' clocks can follow. Set it before use.
	Moved func(d time.Duration)

	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

// NewVirtual returns a clock that stands at start.
func NewVirtual(start time.Time) *Virtual { return &Virtual{now: start} }

// Now implements Clock.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// AfterFunc implements Clock. A d of zero or less calls f at once.
func (v *Virtual) AfterFunc(d time.Duration, f func()) func() bool {
	if d <= 0 {
		f()
		return func() bool { return false }
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	t := &timer{at: v.now.Add(d), f: f}
	v.timers = append(v.timers, t)
	return func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		i := slices.Index(v.timers, t)
		if i < 0 {
			return false
		}
		v.timers = slices.Delete(v.timers, i, i+1)
		return true
	}
}

// Advance moves the clock by d and calls what falls due on the way, in order.
func (v *Virtual) Advance(d time.Duration) { v.AdvanceTo(v.Now().Add(d)) }

// AdvanceTo moves the clock to t, if that is ahead.
func (v *Virtual) AdvanceTo(t time.Time) {
	for {
		v.mu.Lock()
		due := v.next(t)
		at := t
		if due != nil {
			at = due.at
		}
		moved := at.Sub(v.now)
		if moved > 0 {
			v.now = at
		}
		v.mu.Unlock()
		if moved > 0 && v.Moved != nil {
			v.Moved(moved)
		}
		if due == nil {
			return
		}
		due.f()
	}
}

// next takes the earliest timer that is due at t.
func (v *Virtual) next(t time.Time) *timer {
	best := -1
	for i, x := range v.timers {
		if !x.at.After(t) && (best < 0 || x.at.Before(v.timers[best].at)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	due := v.timers[best]
	v.timers = slices.Delete(v.timers, best, best+1)
	return due
}

// sleep waits until t, or until wake has something, or ctx ends. On a Virtual it moves the clock instead.
func (s *Server) sleep(ctx context.Context, t time.Time, wake <-chan struct{}) error {
	if v, ok := s.cfg.Clock.(*Virtual); ok {
		v.AdvanceTo(t)
		return ctx.Err()
	}
	due := make(chan struct{})
	stop := s.cfg.Clock.AfterFunc(t.Sub(s.cfg.Clock.Now()), func() { close(due) })
	defer stop()
	select {
	case <-due:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
