package history

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/guard/guardtest"
)

func TestMemoryHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		for _, faults := range []int{0, 20} {
			t.Run(fmt.Sprintf("seed %d, %d %% faults", seed+1, faults), func(t *testing.T) {
				t.Parallel()
				CheckStore(t, &guardtest.Memory{}, Config{Seed: seed + 1, Faults: faults})
			})
		}
	}
}

func TestGuardHistory(t *testing.T) { // B5, B18, B20
	t.Parallel()
	for seed := range uint64(5) {
		for _, faults := range []int{0, 10} {
			t.Run(fmt.Sprintf("seed %d, %d %% faults", seed+1, faults), func(t *testing.T) {
				t.Parallel()
				m := &guardtest.Memory{}
				CheckGuard(t, m, Config{Seed: seed + 1, Faults: faults, Advance: m.Advance})
			})
		}
	}
}

// forgetful is a store that loses the condition of every third update.
type forgetful struct {
	guard.Store
	n *atomic.Int64
}

func (f forgetful) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	if f.n.Add(1)%3 == 0 {
		if snap, err := f.Get(ctx, rec.Token); err == nil {
			v = snap.Version
		}
	}
	return f.Store.Update(ctx, v, rec)
}

// The check can fail: it must not find an order for a store that forgets its conditions.
func TestHistoryFindsViolations(t *testing.T) {
	t.Parallel()
	cfg := Config{}.filled()
	var now atomic.Int64
	store := forgetful{&guardtest.Memory{}, new(atomic.Int64)}
	a, b := cfg.client(0, &now, store), cfg.client(1, &now, store)
	for step := range 60 { // in turns, so that the run is the same every time
		a.use(t.Context(), 1, step)
		b.use(t.Context(), 1, step)
	}
	if porcupine.CheckOperations(storeModel, append(a.ops, b.ops...)) {
		t.Error("an order was found that explains a store which forgets its conditions")
	}
}
