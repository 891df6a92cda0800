package guardtest

import (
	"slices"
	"sync"
	"time"
)

// Clock is a guard.Clock that stands still until Advance moves it. The zero value starts on 1 January 2026, UTC.
// All methods may be called concurrently.
type Clock struct {
	mu     sync.Mutex
	start  time.Time
	passed time.Duration
	timers []*timer
}

type timer struct {
	due time.Duration
	f   func()
}

// NewClock starts a clock at t, so that two of them can disagree.
func NewClock(t time.Time) *Clock { return &Clock{start: t} }

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	if c.start.IsZero() {
		return epoch.Add(c.passed)
	}
	return c.start.Add(c.passed)
}

// AfterFunc calls f once Advance has moved the clock on by d; at the next Advance where d is not above zero.
// stop reports whether it kept f from being called.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{due: c.passed + max(d, 0), f: f}
	c.timers = append(c.timers, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, t)
		if i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return i >= 0
	}
}

// Advance moves the clock on by d and calls what comes due, one after the other in the order of time; those due at one
// instant in the order in which they were set. While a function runs, the clock shows when it was due. Advance returns
// when the last has returned, so a function must not wait for a later time of the same clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.passed + d
	for {
		t := c.next(end)
		if t == nil {
			break
		}
		c.passed = max(c.passed, t.due)
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
	c.passed = max(c.passed, end)
	c.mu.Unlock()
}

// next takes the earliest timer that is due by end.
func (c *Clock) next(end time.Duration) *timer {
	best := -1
	for i, t := range c.timers {
		if t.due <= end && (best < 0 || t.due < c.timers[best].due) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	t := c.timers[best]
	c.timers = slices.Delete(c.timers, best, best+1)
	return t
}

// Timers is how many functions wait for their time.
func (c *Clock) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}
