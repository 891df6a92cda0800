package firestoretest

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Clock tells the server the time. It may stand still or go back: the server's stamps rise all the same.
type Clock interface {
	Now() time.Time
}

// Manual is a Clock that moves only when told. The zero value stands at the Unix epoch; NewManual starts elsewhere.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that stands at t.
func NewManual(t time.Time) *Manual { return &Manual{now: t} }

// Now is the time the clock was set to.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return m.now
}

// Set puts the clock to t. A call that waits for a lock notices at the next Server.Advance only.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
}

// Advance moves the clock by d.
func (m *Manual) Advance(d time.Duration) { m.Set(m.Now().Add(d)) }

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// stamp is a server time: microseconds since the Unix epoch. 0 means none.
type stamp int64

func stampOf(t time.Time) stamp { return stamp(t.UnixMicro()) }

func fromProto(ts *timestamppb.Timestamp) stamp {
	if ts == nil {
		return 0
	}
	return stampOf(ts.AsTime())
}

func (s stamp) time() time.Time { return time.UnixMicro(int64(s)).UTC() }

func (s stamp) proto() *timestamppb.Timestamp { return timestamppb.New(s.time()) }

func (s stamp) add(d time.Duration) stamp { return s + stamp(d/time.Microsecond) }

// serverClock hands out the stamps. A read's stamp is never below an earlier commit's, a commit's always above every earlier stamp,
// so that a read at t sees exactly the commits up to t.
type serverClock struct {
	mu     sync.Mutex
	base   Clock
	offset time.Duration
	last   stamp
}

func (c *serverClock) read() stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, c.nowLocked())
	return c.last
}

func (c *serverClock) commit() stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, c.nowLocked())
	return c.last
}

// now is the time without handing out a stamp; expiry is judged by it.
func (c *serverClock) now() stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.last, c.nowLocked())
}

func (c *serverClock) nowLocked() stamp { return stampOf(c.base.Now().Add(c.offset)) }

func (c *serverClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// atLeast keeps the stamps above t, which an earlier process handed out.
func (c *serverClock) atLeast(t stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, t)
}
