package engine

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Virtual is a Clock that stands still while any execution on it works, and jumps to the next timer as soon as all of
// them wait: in sys.sleep, in a retry's backoff, for a callback, or for their branches. An hour of backoff costs nothing.
//
// An execution that waits for an HTTP answer counts as working, so time stands still during a call, unless the answering
// code sleeps on this clock with the request's context (Sleep), as an in-process server does. Whoever else must keep time
// from moving, such as a test that starts several executions at the same instant, takes Hold.
//
// Make one with NewVirtual. Its methods may be called from any goroutine.
type Virtual struct {
	mu       sync.Mutex
	now      time.Time
	busy     int
	serial   bool            // deterministic: one goroutine at a time, in order of their waking
	running  bool            // serial: somebody has the turn
	queue    []chan struct{} // serial: who waits for the turn
	timers   timerHeap
	sequence uint64
}

// NewVirtual returns a virtual clock that stands at start.
func NewVirtual(start time.Time) *Virtual { return &Virtual{now: start} }

// NewDeterministic returns a virtual clock that also lets only one goroutine of its executions work at a time, each until
// it waits, in the order in which they were started or woken: the same workflow with the same answers takes the same
// steps in the same order, parallel branches too.
func NewDeterministic(start time.Time) *Virtual { return &Virtual{now: start, serial: true} }

// Now returns the virtual time.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// AfterFunc calls f when the virtual time has moved on by d.
func (v *Virtual) AfterFunc(d time.Duration, f func()) func() bool {
	v.mu.Lock()
	t := &timer{at: v.now.Add(max(d, 0)), sequence: v.sequence, f: f}
	v.sequence++
	heap.Push(&v.timers, t)
	v.mu.Unlock()
	return func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		if t.index < 0 {
			return false
		}
		heap.Remove(&v.timers, t.index)
		return true
	}
}

// Hold keeps the time from moving until release is called (once).
func (v *Virtual) Hold() (release func()) {
	v.mu.Lock()
	v.busy++
	v.mu.Unlock()
	return sync.OnceFunc(func() {
		v.mu.Lock()
		v.busy--
		v.advance()
	})
}

// Sleep is for code that answers a workflow's calls in-process: it waits until d of virtual time has passed, or ctx is
// done. With the context of a request that an execution on this clock sent, the execution counts as waiting meanwhile.
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error {
	if c, ok := ctx.Value(inflightKey{}).(*inflight); ok && c.sched == scheduler(v) {
		return c.sleep(ctx, v, d)
	}
	done := make(chan struct{})
	stop := v.AfterFunc(d, func() { close(done) })
	defer stop()
	// An outsider's timer must be able to fire when nobody works.
	v.Hold()()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v *Virtual) enter() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy++
	if !v.serial {
		return nil
	}
	if !v.running {
		v.running = true
		return nil
	}
	turn := make(chan struct{})
	v.queue = append(v.queue, turn)
	return turn
}

func (v *Virtual) leave() {
	v.mu.Lock()
	v.busy--
	if v.serial {
		v.passTurn()
	}
	v.advance()
}

// passTurn gives the turn to the next in the queue. Called locked.
func (v *Virtual) passTurn() {
	if len(v.queue) == 0 {
		v.running = false
		return
	}
	next := v.queue[0]
	v.queue = v.queue[1:]
	close(next)
}

// advance moves the time to the next timer, and runs all that are due then, for as long as nobody works. Called locked,
// returns unlocked.
func (v *Virtual) advance() {
	for v.busy == 0 && len(v.timers) > 0 {
		v.now = v.timers[0].at
		var due []*timer
		for len(v.timers) > 0 && v.timers[0].at.Equal(v.now) {
			due = append(due, heap.Pop(&v.timers).(*timer))
		}
		v.busy++ // the timers' functions are work: nobody else moves the time under them
		v.mu.Unlock()
		for _, t := range due {
			t.f()
		}
		v.mu.Lock()
		v.busy--
	}
	v.mu.Unlock()
}

type timer struct {
	at       time.Time
	sequence uint64
	f        func()
	index    int // in the heap; -1 once popped or removed
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].sequence < h[j].sequence
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
