package history

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/runonce/functions/guard"
)

// Config shapes a check. The zero value works.
type Config struct {
	Clients int // that work concurrently; default 6
	Steps   int // calls of each client; default 40
	Tokens  int // that they share; default 3
	// Faults is how many calls in a hundred get no answer, half of them carried out; default 0.
	Faults int
	// Seed of what each client does. Default 1. The order in which the clients run is not seeded.
	Seed uint64
	// Advance moves the store's clock on; CheckGuard lets leases run out with it. Nil: they do not.
	Advance func(d time.Duration)
	// Timeout of the search for an order. Default one minute.
	Timeout time.Duration
}

func (c Config) filled() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Clients, 6)
	def(&c.Steps, 40)
	def(&c.Tokens, 3)
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.Advance == nil {
		c.Advance = func(time.Duration) {}
	}
	return c
}

// client is one of several that work concurrently; its operations are one after the other.
type client struct {
	id    int
	rand  *rand.Rand
	now   *atomic.Int64 // logical time, common to all: every event has an instant of its own
	store guard.Store
	last  map[string]known // by token
	ops   []porcupine.Operation
}

func (c Config) client(id int, now *atomic.Int64, store guard.Store) *client {
	r := rand.New(rand.NewPCG(c.Seed, uint64(id)))
	net := flaky{store: store, rand: rand.New(rand.NewPCG(c.Seed, uint64(id)+1<<32)), faults: c.Faults}
	return &client{id: id, rand: r, now: now, store: net, last: map[string]known{}}
}

// never is when an operation without an answer ended: it may happen at any time, after all others too.
const never = int64(1) << 62

// note records one operation. open says that nobody knows whether it happened.
func (c *client) note(input any, call int64, output any, open bool) {
	ended := c.now.Add(1)
	if open {
		ended = never
	}
	c.ops = append(c.ops, porcupine.Operation{ClientId: c.id, Input: input, Call: call, Output: output, Return: ended})
}

// judge asks for an order that explains everything.
func judge(t testing.TB, cfg Config, model porcupine.Model, clients []*client) {
	t.Helper()
	var ops []porcupine.Operation
	open := 0
	for _, c := range clients {
		for _, op := range c.ops {
			if op.Return == never {
				open++
			}
			ops = append(ops, op)
		}
	}
	switch porcupine.CheckOperationsTimeout(model, ops, cfg.Timeout) {
	case porcupine.Ok:
		t.Logf("%d operations of %d clients, %d of them open: an order explains them", len(ops), len(clients), open)
	case porcupine.Illegal:
		t.Errorf("no order of events explains these %d operations (seed %d):", len(ops), cfg.Seed)
		for _, op := range ops {
			t.Logf("client %d [%d, %d] %s", op.ClientId, op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
		}
	case porcupine.Unknown:
		t.Errorf("no verdict on %d operations within %v; take fewer", len(ops), cfg.Timeout)
	}
}

// errNoAnswer is what a client gets of a call that a fault swallowed.
var errNoAnswer = errors.New("no answer")

// flaky is a store whose answers, and sometimes whose calls, are lost.
type flaky struct {
	store  guard.Store
	rand   *rand.Rand
	faults int
}

// through says whether the call is carried out and whether its answer arrives.
func (f flaky) through() (sent, answered bool) {
	if f.rand.IntN(100) >= f.faults {
		return true, true
	}
	return f.rand.IntN(2) == 0, false
}

func call[T any](f flaky, do func() (T, error)) (answer T, err error) {
	sent, answered := f.through()
	if sent {
		answer, err = do()
	}
	if !answered {
		var none T
		return none, errNoAnswer
	}
	return answer, err
}

func (f flaky) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	return call(f, func() (guard.Version, error) { return f.store.Create(ctx, rec) })
}

func (f flaky) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	return call(f, func() (guard.Snapshot, error) { return f.store.Get(ctx, token) })
}

func (f flaky) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	return call(f, func() (guard.Version, error) { return f.store.Update(ctx, v, rec) })
}
