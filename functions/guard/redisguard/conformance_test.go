package redisguard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/runonce/functions/guard/guardtest"
	"example.com/runonce/functions/guard/guardtest/history"
)

// The same suite as every store, against a real redis-server. R7, B1–B33.
func TestConforms(t *testing.T) {
	t.Parallel()
	guardtest.RunStoreTests(t, func(t *testing.T) guardtest.Harness {
		s, client := newStore(t, Config{})
		return guardtest.Harness{
			Store: s, MaxBody: 8 << 20,
			Advance: func(d time.Duration) { age(t, s, d) },
			Delete:  func(ctx context.Context, token string) error { return client.Del(ctx, s.Key(token)).Err() },
		}
	})
}

// What concurrent clients saw of a real server is explained by one order of events. B4, B5, B18, B20.
func TestHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		for _, faults := range []int{0, 20} {
			name := fmt.Sprintf("seed %d, %d %% faults", seed+1, faults)
			cfg := history.Config{Seed: seed + 1, Faults: faults}
			t.Run("store, "+name, func(t *testing.T) {
				t.Parallel()
				s, _ := newStore(t, Config{})
				history.CheckStore(t, s, cfg)
			})
			t.Run("guard, "+name, func(t *testing.T) {
				t.Parallel()
				s, _ := newStore(t, Config{})
				cfg.Advance = func(d time.Duration) { age(t, s, d) }
				history.CheckGuard(t, s, cfg)
			})
		}
	}
}
