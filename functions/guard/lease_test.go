package guard

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs f on virtual time: it stands while anything moves, and jumps when all wait.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// TestHeartbeat: an effect of many leases stays alone, and its record says so. B1, B23.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n, seen := &mem{}, 0, &events{}
		g := newGuard(t, m, Config{Observer: seen})
		e := effect("run/step", "", &n)
		e.Do = func(ctx context.Context, a Attempt) (string, error) {
			for range 10 {
				time.Sleep(25 * time.Second)
				if _, err := Do(t.Context(), newGuard(t, m, Config{}), effect("run/step", "thief", &n)); !errors.Is(err, ErrInProgress) {
					t.Errorf("another attempt: %v", err)
				}
			}
			return "done", context.Cause(ctx)
		}
		if got, err := Do(t.Context(), g, e); err != nil || got.Value != "done" || n != 0 {
			t.Errorf("got %+v, %v and %d thieves", got, err, n)
		}
		renewed := 0
		for _, k := range seen.list() {
			if k == Renewed {
				renewed++
			}
		}
		if renewed != 24 && renewed != 25 { // the last is due as the effect ends
			t.Errorf("%d renewals in 250 s, want one every 10 s", renewed)
		}
		if r := m.record("run/step"); r.Seq != int64(renewed+2) { // each write differs from the one before, or it would not renew
			t.Errorf("%d writes were counted after %d renewals", r.Seq, renewed)
		}
		time.Sleep(time.Hour)
		if now := seen.list(); now[len(now)-1] != Finished {
			t.Errorf("after the end: %v", now)
		}
	})
}

// TestLostRenewals: each renewal's answer is lost, or each second one refused; the holder goes on. B30.
func TestLostRenewals(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(n int) (error, bool){
		"every answer lost":   func(int) (error, bool) { return errFault, true },
		"each second refused": func(n int) (error, bool) { return map[int]error{0: errFault}[n%2], false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				m, n, updates := &mem{}, 0, 0
				m.fault = func(method string, _ int) (error, bool) {
					if method != "update" {
						return nil, false
					}
					updates++
					return fault(updates)
				}
				e := effect("run/step", "", &n)
				e.Do = func(ctx context.Context, _ Attempt) (string, error) {
					time.Sleep(5 * time.Minute)
					return "done", context.Cause(ctx)
				}
				if got, err := Do(t.Context(), newGuard(t, m, Config{}), e); err != nil || got.Value != "done" {
					t.Errorf("got %+v, %v", got, err)
				}
				if r := m.record("run/step"); r.Status != Completed || r.Fence != 1 {
					t.Errorf("the record is %+v", r)
				}
			})
		})
	}
}

// TestStoreAwayWhileTheEffectRuns: the local deadline ends the effect before the store's lease ends, every guard call in its
// context refuses, and what it returns late changes nothing once another took over. B5, B16, B21.
func TestStoreAwayWhileTheEffectRuns(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n := &mem{ahead: -10 * time.Minute}, 0
		seen := &events{}
		g := newGuard(t, m, Config{Observer: seen})
		began := time.Now()
		e := effect("run/step", "", &n)
		e.Do = func(ctx context.Context, a Attempt) (string, error) {
			m.faults(func(string, int) (error, bool) { return errFault, false })
			<-ctx.Done()
			if at := time.Since(began); at != 27*time.Second || !errors.Is(context.Cause(ctx), ErrLost) {
				t.Errorf("the context ended after %v with %v, want 27s and ErrLost", at, context.Cause(ctx))
			}
			m.faults(nil)
			if _, err := Do(context.WithoutCancel(ctx), g, effect("run/later", "x", &n)); !errors.Is(err, ErrLost) {
				t.Errorf("a later step of the zombie: %v", err)
			}
			time.Sleep(3 * time.Second) // now the store's lease is over too
			if got, err := Do(t.Context(), g, effect("run/step", "owner", &n)); err != nil || got.Fence != 2 {
				t.Errorf("the owner: %+v, %v", got, err)
			}
			return "zombie", nil
		}
		if _, err := Do(t.Context(), g, e); !errors.Is(err, ErrLost) {
			t.Errorf("the zombie was told %v", err)
		}
		got, err := Do(t.Context(), g, effect("run/step", "third", &n))
		if err != nil || got.Value != "owner" || n != 1 {
			t.Errorf("a duplicate got %+v, %v after %d effects", got, err, n)
		}
		if !slices.Contains(seen.list(), Lost) {
			t.Errorf("nobody heard of the loss: %v", seen.list())
		}
	})
}

// TestLateButUnbeaten: the local deadline passed, but nobody took over: what the effect returned is recorded, not redone.
func TestLateButUnbeaten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n := &mem{}, 0
		e := effect("run/step", "", &n)
		e.Do = func(ctx context.Context, _ Attempt) (string, error) {
			m.faults(func(string, int) (error, bool) { return errFault, false })
			<-ctx.Done()
			m.faults(nil)
			time.Sleep(time.Minute)
			return "late", nil
		}
		if got, err := Do(t.Context(), newGuard(t, m, Config{}), e); err != nil || got.Value != "late" {
			t.Errorf("got %+v, %v", got, err)
		}
		if got, err := Do(t.Context(), newGuard(t, m, Config{}), effect("run/step", "again", &n)); err != nil || got.Value != "late" || n != 0 {
			t.Errorf("a duplicate got %+v, %v", got, err)
		}
	})
}

// TestSlowClaim: the answer to the claim comes after the lease has passed. The effect does not begin. B2.
func TestSlowClaim(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n := &mem{}, 0
		s := slow{m, 28 * time.Second}
		if _, err := Do(t.Context(), newGuard(t, s, Config{}), effect("run/step", "x", &n)); !errors.Is(err, ErrLost) || n != 0 {
			t.Errorf("got %v with %d effects", err, n)
		}
		if r := m.record("run/step"); !r.released() {
			t.Errorf("the record is %+v", r)
		}
	})
}

// slow answers a create late.
type slow struct {
	*mem
	d time.Duration
}

func (s slow) Create(ctx context.Context, r Record) (Version, error) {
	v, err := s.mem.Create(ctx, r)
	time.Sleep(s.d)
	return v, err
}

// TestFinishCutsARenewalOff: the effect ends while a renewal hangs in the store; that is applied later, and finish still
// records the outcome once.
func TestFinishCutsARenewalOff(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			m, n := &mem{}, 0
			h := &hang{mem: m, applied: applied, gate: make(chan struct{})}
			e := effect("run/step", "", &n)
			e.Do = func(context.Context, Attempt) (string, error) {
				<-h.gate
				time.Sleep(time.Second)
				return "done", nil
			}
			began := time.Now()
			if got, err := Do(t.Context(), newGuard(t, h, Config{}), e); err != nil || got.Value != "done" {
				t.Errorf("got %+v, %v", got, err)
			}
			if d := time.Since(began); d != 11*time.Second {
				t.Errorf("finished after %v, want at once when the effect ends, at 11s", d)
			}
			if r := m.record("run/step"); r.Status != Completed {
				t.Errorf("the record is %+v", r)
			}
		})
	}
}

// hang holds the first update until its context ends.
type hang struct {
	*mem
	applied bool
	once    sync.Once
	gate    chan struct{}
}

func (h *hang) Update(ctx context.Context, v Version, r Record) (Version, error) {
	first := false
	h.once.Do(func() { first = true })
	if !first {
		return h.mem.Update(ctx, v, r)
	}
	if h.applied {
		_, _ = h.mem.Update(ctx, v, r)
	}
	close(h.gate)
	<-ctx.Done()
	return "", ctx.Err()
}

// TestPanic: the claim is given up, or uncertain, and the panic goes on; the same for runtime.Goexit. B28.
func TestPanic(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		repeat Repeat
		find   bool
		exit   bool
		want   Status
	}{
		"safe":           {want: InProgress},
		"never":          {repeat: Never, want: Uncertain},
		"never and find": {repeat: Never, find: true, want: InProgress},
		"goexit":         {exit: true, want: InProgress},
		"goexit never":   {exit: true, repeat: Never, want: Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := &mem{}, 0
			e := effect("run/step", "", &n)
			e.Repeat = row.repeat
			if row.find {
				e.Find = func(context.Context, Attempt) (string, bool, error) { return "", false, nil }
			}
			e.Do = func(context.Context, Attempt) (string, error) {
				if row.exit {
					runtime.Goexit()
				}
				panic("in the effect")
			}
			g := newGuard(t, m, Config{})
			var recovered any
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recovered = recover() }()
				_, _ = Do(context.Background(), g, e)
			}()
			<-done
			if !row.exit && recovered != "in the effect" {
				t.Errorf("recovered %v", recovered)
			}
			r := m.record("run/step")
			if r.Status != row.want || row.want == InProgress && !r.released() {
				t.Errorf("the record is %+v, want %s", r, row.want)
			}
		})
	}
}

// TestNestedLoss: the outer attempt lost its claim; steps under an inner one refuse too. B8, B21.
func TestNestedLoss(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{})
		outer := effect("run/outer", "", &n)
		outer.Do = func(ctx context.Context, _ Attempt) (string, error) {
			inner := effect("run/inner", "", &n)
			inner.Do = func(ctx context.Context, a Attempt) (string, error) {
				if got, ok := AttemptFrom(ctx); !ok || got != a || TokenFrom(ctx) != "run/inner" {
					t.Errorf("inside, the context is of %+v", got)
				}
				m.mu.Lock()
				delete(m.records, "run/outer") // whoever did that, it is not ours any more
				m.mu.Unlock()
				time.Sleep(11 * time.Second)
				_, err := Do(context.WithoutCancel(ctx), g, effect("run/third", "x", &n))
				return "", err
			}
			_, err := Do(ctx, g, inner)
			return "", err
		}
		if _, err := Do(t.Context(), g, outer); !errors.Is(err, ErrLost) || n != 0 {
			t.Errorf("got %v with %d effects, want ErrLost and none", err, n)
		}
		if r := m.record("run/third"); r.Token != "" {
			t.Errorf("the zombie claimed a later step: %+v", r)
		}
		if TokenFrom(t.Context()) != "" {
			t.Error("there is a token outside of every step")
		}
	})
}
