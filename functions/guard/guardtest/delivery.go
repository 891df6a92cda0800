package guardtest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"example.com/runonce/functions/guard"
)

// Delivery is one delivery of Crash, in a process of its own. Its methods may be called concurrently.
type Delivery struct {
	// Store is what the function must build its guard on.
	Store guard.Store
	// N is which delivery it is, from 1.
	N int

	scenario *scenario
	store    guard.Store
	cancel   context.CancelCauseFunc
	killed   chan struct{} // closed when the process is dead
}

// scenario is one fault at one point, from an empty store to the end.
type scenario struct {
	cfg   CrashConfig
	at    int // the point that the fault strikes, from 1; 0 none
	fault string

	mu        sync.Mutex
	points    []point
	effects   []string
	once      map[string]bool
	uncertain bool
}

// point is where a fault can strike: a store call or an effect.
type point struct {
	what  string
	store bool
}

// The faults of Crash, beside those of Faults.
const (
	killBefore = "killed before"
	killAfter  = "killed after"
)

func (p point) faults() []string {
	if p.store {
		return []string{string(Refuse), string(Lose), string(Duplicate), killBefore, killAfter}
	}
	return []string{killBefore, killAfter}
}

// errKilled ends the context of a process that was killed.
var errKilled = errors.New("the process was killed")

// Effect notes a change to the world, which may have been made before: a mail sent, a payment. Call it where the real
// function would make the change. Where the process is killed, it does not return.
func (d *Delivery) Effect(name string) {
	d.effect(name, func() { d.scenario.effects = append(d.scenario.effects, name) })
}

// EffectOnce notes a change made by a callee that takes the token: a second request of one token changes nothing.
func (d *Delivery) EffectOnce(token, name string) {
	d.effect(name, func() {
		s := d.scenario
		if s.once == nil {
			s.once = map[string]bool{}
		}
		if !s.once[token] {
			s.once[token] = true
			s.effects = append(s.effects, name)
		}
	})
}

// Happened reports whether the effect has happened: what a step's Find would ask.
func (d *Delivery) Happened(name string) bool {
	d.scenario.mu.Lock()
	defer d.scenario.mu.Unlock()
	return slices.Contains(d.scenario.effects, name)
}

// reach notes a point and says which fault strikes there, if any. A dead process reaches nothing.
func (d *Delivery) reach(p point) (fault string, dead bool) {
	s := d.scenario
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-d.killed:
		return "", true
	default:
	}
	s.points = append(s.points, p)
	if len(s.points) == s.at {
		return s.fault, false
	}
	return "", false
}

// die kills the process, if it still lives, and ends the goroutine that calls: nothing of a dead process goes on.
func (d *Delivery) die() {
	d.scenario.mu.Lock()
	select {
	case <-d.killed:
	default:
		close(d.killed)
	}
	d.scenario.mu.Unlock()
	d.cancel(errKilled)
	runtime.Goexit()
}

func (d *Delivery) effect(name string, change func()) {
	fault, dead := d.reach(point{what: "effect " + name})
	if dead || fault == killBefore {
		d.die()
	}
	d.scenario.mu.Lock()
	change()
	d.scenario.mu.Unlock()
	if fault == killAfter {
		d.die()
	}
}

// gated is the delivery's store: the real one with the scenario's fault before it.
type gated struct{ d *Delivery }

func (g gated) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	return strike(g.d, Create, func(s guard.Store) (guard.Version, error) { return s.Create(ctx, rec) })
}

func (g gated) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	return strike(g.d, Get, func(s guard.Store) (guard.Snapshot, error) { return s.Get(ctx, token) })
}

func (g gated) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	return strike(g.d, Update, func(s guard.Store) (guard.Version, error) { return s.Update(ctx, v, rec) })
}

// strike carries one store call out under the fault that its point has.
func strike[T any](d *Delivery, method string, call func(guard.Store) (T, error)) (answer T, err error) {
	fault, dead := d.reach(point{what: "store call " + method, store: true})
	switch {
	case dead, fault == killBefore:
		d.die()
	case fault == killAfter:
		_, _ = call(d.store)
		d.die()
	case fault == "":
		return call(d.store)
	}
	return call(NewFaults(d.store, Fault{Kind: Kind(fault)}))
}
