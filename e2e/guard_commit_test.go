package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/functions/guard"
)

// TestOneCommitUnderFaults runs Write and Tx with every fault at every call, delivers until they succeed, and counts the
// effect: it is in the same commit, so it happens once. B18, B19, promises 1 and 4.
func TestOneCommitUnderFaults(t *testing.T) {
	t.Parallel()
	for _, f := range forms {
		for _, mode := range []firestoretest.Mode{firestoretest.Pessimistic, firestoretest.Optimistic} {
			for _, kind := range []fault.Kind{fault.Refuse, fault.Lose, fault.Duplicate, fault.Abort} {
				for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Canceled} {
					if code != codes.Unavailable && kind != fault.Refuse && kind != fault.Lose {
						continue
					}
					t.Run(fmt.Sprintf("%s/%v/%v/%v", f.name, mode, kind, code), func(t *testing.T) {
						t.Parallel()
						for n := 1; n <= 5; n++ {
							l := newLab(t, mode, guard.Config{})
							rule := fault.Rule{N: n, Kind: kind}
							if kind != fault.Abort {
								rule.Code = code
							}
							l.server.Faults().Add(rule)
							var got guard.Result[int]
							var err error
							for range 4 {
								if got, err = f.run(l, l.guard); err == nil {
									break
								}
							}
							if err != nil || got.Value != 7 {
								t.Errorf("fault at call %d: got %+v, %v", n, got, err)
							}
							if c := l.count(); c != 1 {
								t.Errorf("fault at call %d: the counter is %d, want 1", n, c)
							}
							if got, err = f.run(l, l.again()); err != nil || got.Value != 7 || !got.Replayed || l.count() != 1 {
								t.Errorf("fault at call %d: a duplicate got %+v, %v; the counter is %d", n, got, err, l.count())
							}
						}
					})
				}
			}
		}
	}
}

// TestOneCommitRace: many at once, one effect. B8, B20.
func TestOneCommitRace(t *testing.T) {
	t.Parallel()
	for _, f := range forms {
		for _, mode := range []firestoretest.Mode{firestoretest.Pessimistic, firestoretest.Optimistic} {
			t.Run(fmt.Sprintf("%s/%v", f.name, mode), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, mode, guard.Config{})
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						got, err := f.run(l, l.again())
						for range 20 {
							if status.Code(err) != codes.Aborted { // contention, beyond the client's own five tries
								break
							}
							got, err = f.run(l, l.again())
						}
						if err != nil || got.Value != 7 {
							t.Errorf("got %+v, %v", got, err)
						}
					})
				}
				wg.Wait()
				if c := l.count(); c != 1 {
					t.Errorf("the counter is %d, want 1", c)
				}
			})
		}
	}
}

// TestOneCommitAndDo: Write and Tx honour a claim of Do under the same token: alive, released, run out, finished.
func TestOneCommitAndDo(t *testing.T) {
	t.Parallel()
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, firestoretest.Pessimistic, guard.Config{})
			do := func(fn func()) error {
				_, err := guard.Do(l.Context(), l.again(), guard.Effect[int]{Request: guard.Request{Token: labToken}, Do: func(context.Context, guard.Attempt) (int, error) {
					fn()
					return 0, errors.New("not today")
				}})
				return err
			}
			err := do(func() {
				if _, err := f.run(l, l.guard); !errors.Is(err, guard.ErrInProgress) {
					t.Errorf("over a live claim: %v", err)
				}
			})
			if err == nil || l.count() != 0 {
				t.Fatalf("%v, and the counter is %d", err, l.count())
			}
			got, err := f.run(l, l.guard)
			if err != nil || got.Fence != 2 || got.Replayed || l.count() != 1 {
				t.Errorf("over a released claim: %+v, %v; the counter is %d", got, err, l.count())
			}
			if err := do(func() { t.Error("Do ran over a finished Write") }); err != nil {
				t.Errorf("Do's replay: %v", err)
			}
		})
		t.Run(f.name+" over a run-out claim, whose owner wakes up late", func(t *testing.T) {
			t.Parallel()
			l := newLab(t, firestoretest.Pessimistic, guard.Config{})
			_, err := guard.Do(l.Context(), l.again(), guard.Effect[int]{Request: guard.Request{Token: labToken}, Do: func(context.Context, guard.Attempt) (int, error) {
				l.server.Advance(30 * time.Second)
				if got, err := f.run(l, l.guard); err != nil || got.Fence != 2 {
					t.Errorf("over a run-out claim: %+v, %v", got, err)
				}
				return 1, nil
			}})
			if !errors.Is(err, guard.ErrLost) {
				t.Errorf("the late owner: %v, want ErrLost", err)
			}
			if got, err := f.run(l, l.again()); err != nil || got.Value != 7 || l.count() != 1 {
				t.Errorf("a duplicate: %+v, %v; the counter is %d", got, err, l.count())
			}
		})
	}
}

// TestZombieCommitsNothing: an attempt that lost its claim does not write by the other forms either. B21.
func TestZombieCommitsNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, firestoretest.Pessimistic, guard.Config{Lease: 200 * time.Millisecond})
	_, err := guard.Do(t.Context(), l.guard, guard.Effect[int]{Request: guard.Request{Token: "run/outer"}, Do: func(ctx context.Context, _ guard.Attempt) (int, error) {
		l.server.Faults().Add(fault.Rule{Kind: fault.Refuse, Code: codes.PermissionDenied}) // no renewal comes through
		<-ctx.Done()
		l.server.Faults().Clear()
		late := context.WithoutCancel(ctx)
		_, err := guard.Write(late, l.guard, l.store, guard.Request{Token: labToken}, func(b *guard.Batch) (int, error) {
			b.Set(l.counter(), map[string]any{"n": 1})
			return 0, nil
		})
		if !errors.Is(err, guard.ErrLost) {
			t.Errorf("Write: %v, want ErrLost", err)
		}
		_, err = guard.Tx(late, l.guard, l.store, guard.Request{Token: labToken}, func(_ context.Context, tx *firestore.Transaction) (int, error) {
			return 0, tx.Set(l.counter(), map[string]any{"n": 1})
		})
		if !errors.Is(err, guard.ErrLost) {
			t.Errorf("Tx: %v, want ErrLost", err)
		}
		return 0, err
	}})
	if !errors.Is(err, guard.ErrLost) || l.count() != 0 {
		t.Errorf("got %v, and the counter is %d", err, l.count())
	}
}

// TestCallersOwnConditions: a precondition of the caller's that fails is the caller's error; nothing is recorded, and the
// marker's own ALREADY_EXISTS is never mistaken for it, nor it for the marker's.
func TestCallersOwnConditions(t *testing.T) {
	t.Parallel()
	l := newLab(t, firestoretest.Pessimistic, guard.Config{})
	taken := l.client.Doc("shop/taken")
	if _, err := taken.Create(t.Context(), map[string]any{"n": 1}); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		build func(b *guard.Batch)
		code  codes.Code
	}{
		"create": {func(b *guard.Batch) { b.Create(taken, map[string]any{"n": 2}) }, codes.AlreadyExists},
		"update": {func(b *guard.Batch) {
			b.Update(l.client.Doc("shop/missing"), []firestore.Update{{Path: "n", Value: 1}})
		}, codes.NotFound},
		"time": {func(b *guard.Batch) {
			b.Update(taken, []firestore.Update{{Path: "n", Value: 1}}, firestore.LastUpdateTime(time.Unix(1, 0)))
		}, codes.FailedPrecondition},
	} {
		for _, released := range []bool{false, true} {
			r := guard.Request{Token: fmt.Sprintf("run/%s/%t", name, released)}
			if released { // the marker is then an update, whose refusal has the same codes
				_, _ = guard.Do(t.Context(), l.guard, guard.Effect[int]{Request: r, Do: func(context.Context, guard.Attempt) (int, error) { return 0, errors.New("x") }})
			}
			_, err := guard.Write(t.Context(), l.guard, l.store, r, func(b *guard.Batch) (int, error) { row.build(b); return 0, nil })
			if status.Code(errors.Unwrap(err)) != row.code && !strings.Contains(fmt.Sprint(err), row.code.String()) {
				t.Errorf("%s: got %v, want %v", name, err, row.code)
			}
			got, err := guard.Write(t.Context(), l.guard, l.store, r, func(*guard.Batch) (int, error) { return 1, nil })
			if err != nil || got.Replayed {
				t.Errorf("%s: after it was put right: %+v, %v", name, got, err)
			}
		}
	}
}

// TestPermanentInOneCommit: a failure for good is recorded and nothing else is written; a plain one leaves no trace. B29.
func TestPermanentInOneCommit(t *testing.T) {
	t.Parallel()
	declined := guard.Permanent(&guard.FailedError{Code: "sold_out", Message: "none left"})
	for name, run := range map[string]func(*lab, error) error{
		"Write": func(l *lab, fail error) error {
			_, err := guard.Write(l.Context(), l.guard, l.store, guard.Request{Token: labToken}, func(b *guard.Batch) (int, error) {
				b.Set(l.counter(), map[string]any{"n": 1})
				return 0, fail
			})
			return err
		},
		"Tx": func(l *lab, fail error) error {
			_, err := guard.Tx(l.Context(), l.guard, l.store, guard.Request{Token: labToken}, func(_ context.Context, tx *firestore.Transaction) (int, error) {
				if err := tx.Set(l.counter(), map[string]any{"n": 1}); err != nil {
					return 0, err
				}
				return 0, fail
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, firestoretest.Pessimistic, guard.Config{})
			plain := errors.New("plain")
			if err := run(l, plain); !errors.Is(err, plain) {
				t.Errorf("plain: %v", err)
			}
			if _, err := l.guard.Get(t.Context(), labToken); !errors.Is(err, guard.ErrNotFound) {
				t.Errorf("after a plain error the record: %v", err)
			}
			for i := range 2 {
				var failed *guard.FailedError
				if err := run(l, declined); !errors.As(err, &failed) || failed.Code != "sold_out" {
					t.Errorf("call %d: %v", i+1, err)
				}
			}
			if l.count() != 0 {
				t.Errorf("the counter is %d, want nothing written", l.count())
			}
			func() {
				defer func() { _ = recover() }()
				_, _ = guard.Tx(t.Context(), l.guard, l.store, guard.Request{Token: "run/panic"}, func(context.Context, *firestore.Transaction) (int, error) { panic("x") })
				t.Error("the panic was swallowed")
			}()
			// Its locks are gone with it, or this would wait.
			if _, err := guard.Tx(t.Context(), l.guard, l.store, guard.Request{Token: "run/panic"}, func(context.Context, *firestore.Transaction) (int, error) { return 1, nil }); err != nil {
				t.Errorf("after a panic: %v", err)
			}
		})
	}
}
