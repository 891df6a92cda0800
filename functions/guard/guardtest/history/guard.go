package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/runonce/functions/guard"
)

const lease = 30 * time.Second

// told is what a delivery of a step was told: a value, and whether it is somebody else's.
type told struct {
	value    string
	replayed bool
	open     bool
}

// CheckGuard runs concurrent processes that deliver a few steps again and again, under faults and with leases that run
// out, and judges what they were told.
func CheckGuard(t testing.TB, store guard.Store, cfg Config) {
	t.Helper()
	cfg = cfg.filled()
	var now atomic.Int64
	var wg sync.WaitGroup
	clients := make([]*client, cfg.Clients)
	for i := range clients {
		c := cfg.client(i, &now, store)
		clients[i] = c
		g, err := guard.New(c.store, guard.Config{Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { c.deliver(t.Context(), cfg, g) })
	}
	wg.Wait()
	judge(t, cfg, guardModel, clients)
}

// deliver delivers steps. Each attempt's value is its own, so that one can tell whose outcome a caller was told.
func (c *client) deliver(ctx context.Context, cfg Config, g *guard.Guard) {
	for step := range cfg.Steps {
		token := fmt.Sprintf("step/%d", c.rand.IntN(cfg.Tokens)+step/8*cfg.Tokens)
		if c.rand.IntN(8) == 0 {
			cfg.Advance(lease)
		}
		at := c.now.Add(1)
		got, err := guard.Do(ctx, g, guard.Effect[string]{
			Request: guard.Request{Token: token},
			Do: func(_ context.Context, a guard.Attempt) (string, error) {
				return fmt.Sprintf("client %d, step %d, %s", c.id, step, a.ID), nil
			},
		})
		switch {
		case errors.Is(err, guard.ErrInProgress):
			continue // was told nothing, and has done nothing
		case err != nil:
			c.note(token, at, told{open: true}, true)
		default:
			c.note(token, at, told{value: got.Value, replayed: got.Replayed}, false)
		}
	}
}

// guardModel is the promise of guard.Do: the first to end decides the outcome, and everyone after it is told that one.
// A delivery that ended in an error may have decided it too: then the state is its, and the next one's word is taken.
var guardModel = porcupine.Model{
	Partition: byToken(func(in any) string { return in.(string) }),
	Init:      func() any { return "" },
	Step: func(state, _, output any) (bool, any) {
		now, out := state.(string), output.(told)
		const unheard = "decided by a delivery that was not answered"
		switch {
		case out.open && now == "":
			return true, unheard
		case out.open:
			return true, now
		case now == "":
			return !out.replayed, out.value
		case now == unheard:
			return out.replayed, out.value
		}
		return out.replayed && out.value == now, now
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v -> %+v", input, output) },
}
