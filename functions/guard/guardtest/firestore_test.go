package guardtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/guard/guardtest"
	"example.com/runonce/functions/guard/guardtest/history"
)

// newFirestore starts a Firestore of a test's own and a guard's store in it.
func newFirestore(t *testing.T, mode firestoretest.Mode) (*firestoretest.Server, *guard.Firestore) {
	t.Helper()
	s := firestoretest.New(firestoretest.Config{Mode: mode})
	t.Cleanup(s.Close)
	client, err := s.Client(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return s, guard.NewFirestore(client, guard.FirestoreConfig{})
}

// The real Firestore client against the fake server passes what every store must, in both concurrency modes. R7, B1–B33.
func TestFirestoreConforms(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]firestoretest.Mode{"pessimistic": firestoretest.Pessimistic, "optimistic": firestoretest.Optimistic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guardtest.RunStoreTests(t, func(t *testing.T) guardtest.Harness {
				s, f := newFirestore(t, mode)
				return guardtest.Harness{
					Store: f, Advance: s.Advance, MaxBody: 8 << 20, Coarse: time.Microsecond,
					Delete: func(ctx context.Context, token string) error {
						_, err := f.Doc(token).Delete(ctx)
						return err
					},
				}
			})
		})
	}
}

// One order of events explains what concurrent clients saw of Firestore. B4, B5, B18, B20.
func TestFirestoreHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		for _, faults := range []int{0, 20} {
			name := fmt.Sprintf("seed %d, %d %% faults", seed+1, faults)
			cfg := history.Config{Seed: seed + 1, Faults: faults, Steps: 25}
			t.Run("store, "+name, func(t *testing.T) {
				t.Parallel()
				_, f := newFirestore(t, firestoretest.Pessimistic)
				history.CheckStore(t, f, cfg)
			})
			t.Run("guard, "+name, func(t *testing.T) {
				t.Parallel()
				s, f := newFirestore(t, firestoretest.Pessimistic)
				cfg.Advance = s.Advance
				history.CheckGuard(t, f, cfg)
			})
		}
	}
}
