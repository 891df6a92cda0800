package firestoretest

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
)

var modes = map[string]Mode{"pessimistic": Pessimistic, "optimistic": Optimistic}

// Fifty writers of one counter lose nothing.
func TestCounterLosesNothing(t *testing.T) {
	t.Parallel()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const writers = 50
			s, c := start(t, Config{Mode: mode, LockWait: 20 * time.Second})
			doc := c.Doc("c/counter")
			set(t, doc, map[string]any{"n": 0})
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					err := retryFast(t.Context(), c, func(_ context.Context, tx *firestore.Transaction) error {
						snap, err := tx.Get(doc)
						if err != nil {
							return err
						}
						return tx.Update(doc, []firestore.Update{{Path: "n", Value: snap.Data()["n"].(int64) + 1}})
					})
					if err != nil {
						t.Errorf("increment: %v", err)
					}
				})
			}
			wg.Wait()
			if got := get(t, doc).Data()["n"]; got != int64(writers) {
				t.Errorf("counter is %v after %d increments", got, writers)
			}
			t.Logf("%d commits for %d increments", s.Faults().Count("/Commit"), writers)
		})
	}
}

// retryFast is RunTransaction again and again, without the client's pause of a second between its own attempts.
func retryFast(ctx context.Context, c *firestore.Client, f func(context.Context, *firestore.Transaction) error) error {
	for {
		err := c.RunTransaction(ctx, f, firestore.MaxAttempts(1))
		if !isAborted(err) {
			return err
		}
	}
}
