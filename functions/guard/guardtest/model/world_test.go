package model

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/guard/guardtest"
)

// scenario is one thing to explore and the bound to explore it to.
type scenario struct {
	name    string
	sink    sinkKind
	actors  int // deliveries
	faults  int // lost and doubled calls in one schedule
	crashes int
	lapses  int  // times that time passes
	late    bool // a fault may be an answer that takes its time, too
	depth   int  // actions in one schedule; 0: no bound
	// stalls lets the server's time pass while every process stands still. Without it the clocks run together, and a
	// step must be alone while its context is.
	stalls bool
	// other gives the last actor another payload.
	other bool
	tune  func(*guard.Config)
	spoil func(guard.Store) guard.Store
}

// world is one run of a scenario: a store, the deliveries, what they wait for.
type world struct {
	scenario
	server *server
	sink   *sink
	actors []*actor

	faultsLeft, crashesLeft, lapsesLeft int

	mu      sync.Mutex
	waiting []*op
	ghosts  []*op
}

// actor is one delivery in a process of its own, whose clock agrees with no other.
type actor struct {
	world       *world
	name        string
	fingerprint string
	clock       clock
	cancel      context.CancelFunc
	started     bool
	writes      int // writes of its own that the store applied
	ids, ops    int

	mu      sync.Mutex
	killed  bool
	done    bool
	result  guard.Result[string]
	err     error
	history maphash.Hash
}

func newWorld(sc scenario, seed maphash.Seed) *world {
	w := &world{
		scenario: sc, server: newServer(seed, sc.spoil), sink: &sink{kind: sc.sink},
		faultsLeft: sc.faults, crashesLeft: sc.crashes, lapsesLeft: sc.lapses,
	}
	for i := range sc.actors {
		w.add(string(rune('A'+i)), time.Duration(1-2*(i%2))*10*time.Minute)
	}
	if sc.other {
		w.actors[len(w.actors)-1].fingerprint = "another payload"
	}
	return w
}

// add gives the world one more process. Its clock is off by skew.
func (w *world) add(name string, skew time.Duration) *actor {
	a := &actor{world: w, name: name, fingerprint: "payload", clock: clock{w.server.memory, skew}}
	a.history.SetSeed(w.server.seed)
	w.actors = append(w.actors, a)
	return a
}

// start delivers: the actor runs until its first scheduling point.
func (a *actor) start() {
	a.started = true
	cfg := guard.Config{Lease: lease, Clock: a.clock, NewID: a.newID}
	if a.world.tune != nil {
		a.world.tune(&cfg)
	}
	g, err := guard.New(port{a}, cfg)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	go func() {
		result, err := guard.Do(ctx, g, a.effect(a.world.sink.kind))
		a.learn("done", err)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.done, a.result, a.err = true, result, err
	}()
}

func (a *actor) newID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids++
	return fmt.Sprintf("%s%d", a.name, a.ids)
}

// learn adds to what a process has done and heard, and when: all that it can base a decision on.
func (a *actor) learn(what ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprint(&a.history, a.clock.Now().UnixNano(), what)
}

func (a *actor) learnt() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.history.Sum64()
}

func (a *actor) owns(id string) bool { return strings.HasPrefix(id, a.name) }

func (a *actor) dead() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.killed
}

func (a *actor) finished() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// running: started, and neither finished nor killed.
func (a *actor) running() bool { return a.started && !a.dead() && !a.finished() }

// post puts o among those that wait, in an order that does not depend on who came first by chance.
func (w *world) post(o *op, method string) {
	o.actor.learn("asked", method)
	w.mu.Lock()
	defer w.mu.Unlock()
	o.actor.ops++
	o.name = fmt.Sprintf("%s%d.%s", o.actor.name, o.actor.ops, method)
	w.waiting = append(w.waiting, o)
	slices.SortFunc(w.waiting, byName)
}

// calls are the calls that wait for the explorer, and those that nobody waits for.
func (w *world) calls() (waiting, ghosts []*op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting), slices.Clone(w.ghosts)
}

// isLate tells whether o was carried out and its answer is still on its way.
func (w *world) isLate(o *op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return o.late != nil
}

// abandon leaves o to the network: nobody waits for it.
func (w *world) abandon(o *op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, o)
	if i < 0 {
		return
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	read := strings.HasSuffix(o.name, "Get") || strings.HasSuffix(o.name, "Find")
	if !read && o.late == nil { // a read that nobody hears is nothing
		w.ghosts = append(w.ghosts, o)
		slices.SortFunc(w.ghosts, byName)
	}
}

func byName(a, b *op) int { return strings.Compare(a.name, b.name) }

// settle gives o its answer and lets everything run on to the next scheduling points.
func (w *world) settle(o *op, r reply) {
	w.mu.Lock()
	w.waiting = slices.DeleteFunc(w.waiting, func(x *op) bool { return x == o })
	w.mu.Unlock()
	o.actor.learn(o.name, r.describe(w.server))
	o.answer <- r
	synctest.Wait()
}

// kill ends a process between two instructions. What it had sent may still arrive.
func (w *world) kill(a *actor) {
	a.mu.Lock()
	a.killed = true
	a.mu.Unlock()
	waiting, _ := w.calls()
	for _, o := range waiting {
		if o.actor == a {
			w.abandon(o)
			o.answer <- reply{err: errDead}
		}
	}
	a.cancel()
	synctest.Wait()
}

// bury waits until the goroutines of a dead process are gone.
func (a *actor) bury() error {
	for range 1000 {
		if a.finished() {
			return nil
		}
		time.Sleep(lease) // of the bubble's time
		synctest.Wait()
	}
	return fmt.Errorf("%s does not end after its process was killed", a.name)
}

// pass lets d go by for everyone: what comes due runs to its next scheduling point.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// clock is a process's own: it runs as the server's does, but shows another time.
type clock struct {
	server *guardtest.Memory
	skew   time.Duration
}

func (c clock) Now() time.Time { return c.server.Now().Add(c.skew) }

// AfterFunc never calls f at once, but when time passes next: what is late already must not race with what goes on.
func (c clock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(max(d, time.Nanosecond), f).Stop
}
