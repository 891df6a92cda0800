package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNewRefusesWhatCannotWork(t *testing.T) { // B2
	t.Parallel()
	for name, row := range map[string]struct {
		cfg  Config
		want string
	}{
		"zero":              {Config{}, ""},
		"negative lease":    {Config{Lease: -time.Second}, "Lease"},
		"one nanosecond":    {Config{Lease: 1}, "Lease"},
		"shortest":          {Config{Lease: MinLease}, ""},
		"margin":            {Config{Lease: time.Second, Margin: time.Second / 2}, "Margin"},
		"negative margin":   {Config{Margin: -1}, "Margin"},
		"retention":         {Config{Lease: time.Hour, Retention: time.Hour}, "Retention"},
		"negative attempts": {Config{MaxAttempts: -1}, "MaxAttempts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(&mem{}, row.cfg)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error that names %q", err, row.want)
			}
		})
	}
	if _, err := New(nil, Config{}); err == nil {
		t.Error("a guard without a store was made")
	}
}

func TestBadToken(t *testing.T) { // B12
	t.Parallel()
	for name, token := range map[string]string{
		"empty": "", "blank": "   ", "tab": "\t", "newline": "a\nb", "control": "a\x00", "delete": "a\x7f", "not ASCII": "ключ", "long": strings.Repeat("x", MaxToken+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := &mem{}, 0
			g := newGuard(t, m, Config{})
			if _, err := Do(t.Context(), g, effect(token, "x", &n)); !errors.Is(err, ErrBadToken) {
				t.Errorf("got %v, want ErrBadToken", err)
			}
			if _, err := g.Get(t.Context(), token); !errors.Is(err, ErrBadToken) {
				t.Errorf("Get: got %v, want ErrBadToken", err)
			}
			if n != 0 || m.count() != 0 {
				t.Errorf("%d effects and %d store calls, want none", n, m.count())
			}
		})
	}
	m, n := &mem{}, 0
	if _, err := Do(t.Context(), newGuard(t, m, Config{}), effect(strings.Repeat("x", MaxToken), "x", &n)); err != nil {
		t.Errorf("the longest token was refused: %v", err)
	}
}

func TestDoCountsStoreCalls(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		cfg              Config
		fresh, duplicate int
	}{
		"default":    {Config{}, 2, 2},
		"cache":      {Config{Cache: 4}, 2, 0},
		"read first": {Config{ReadFirst: true}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := &mem{}, 0
			g := newGuard(t, m, row.cfg)
			for i, want := range []int{row.fresh, row.duplicate} {
				before := m.count()
				got, err := Do(t.Context(), g, effect("run/step", "done", &n))
				if err != nil || got.Value != "done" || got.Replayed != (i == 1) || got.Fence != 1 {
					t.Errorf("got %+v, %v", got, err)
				}
				if calls := m.count() - before; calls != want {
					t.Errorf("call %d cost %d store calls, want %d", i+1, calls, want)
				}
			}
			if n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
		})
	}
}

// TestEveryFault runs a step with each store call in turn refused, or its answer lost, and every pair of them; then delivers
// until it succeeds. B17, B18, B28: the callee, which takes the token, is asked for one change, and the end is the same.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for _, first := range []int{1, 2, 3, 4, 5, 6} {
		for _, second := range []int{0, 1, 2, 3, 4} {
			for kind := range 4 {
				m, n := &mem{}, 0
				m.fault = func(_ string, i int) (error, bool) {
					switch i {
					case first:
						return errFault, kind&1 == 1
					case first + second:
						return errFault, kind&2 == 2
					}
					return nil, false
				}
				name := fmt.Sprintf("calls %d and %d, kind %d", first, first+second, kind)
				tokens := map[string]bool{}
				e := effect("run/step", "done", &n)
				e.Do = func(_ context.Context, a Attempt) (string, error) { tokens[a.Token] = true; return "done", nil }
				var got Result[string]
				var err error
				for range 6 {
					if got, err = Do(t.Context(), newGuard(t, m, Config{Lease: 30 * time.Second}), e); err == nil {
						break
					}
					m.advance(30 * time.Second)
				}
				if err != nil || got.Value != "done" || len(tokens) != 1 {
					t.Errorf("%s: got %+v, error %v, changes %v", name, got, err, tokens)
				}
				if r := m.record("run/step"); r.Status != Completed || string(r.Outcome.Body) != `"done"` {
					t.Errorf("%s: the record is %+v", name, r)
				}
			}
		}
	}
}

// TestFailsClosed: whatever the store cannot do, the effect does not run.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errFault, ErrExists, ErrTooLarge, context.DeadlineExceeded} {
		m, n := &mem{}, 0
		m.fault = func(method string, _ int) (error, bool) {
			if method == "get" && errors.Is(err, ErrExists) {
				return ErrNotFound, false // B27: it refuses, and then there is nothing
			}
			return err, false
		}
		_, got := Do(t.Context(), newGuard(t, m, Config{}), effect("run/step", "x", &n))
		if got == nil || n != 0 {
			t.Errorf("a store that says %v: error %v and %d effects, want an error and none", err, got, n)
		}
		if m.count() > 2*rounds {
			t.Errorf("a store that says %v was called %d times", err, m.count())
		}
	}
}

func TestUnrecorded(t *testing.T) { // B17
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n, seen := &mem{}, 0, &events{}
		m.fault = func(method string, _ int) (error, bool) {
			if method != "create" {
				return errFault, false
			}
			return nil, false
		}
		e := effect("run/step", "done", &n)
		e.Repeat = Never
		got, err := Do(t.Context(), newGuard(t, m, Config{Observer: seen}), e)
		if !errors.Is(err, ErrUnrecorded) || !errors.Is(err, errFault) || got.Value != "done" || got.Replayed {
			t.Errorf("got %+v, %v; want the value and ErrUnrecorded", got, err)
		}
		m.faults(nil)
		time.Sleep(30 * time.Second)
		if _, err = Do(t.Context(), newGuard(t, m, Config{}), e); !errors.Is(err, ErrUncertain) || n != 1 {
			t.Errorf("the next attempt: %v and %d effects, want ErrUncertain and 1", err, n)
		}
		if r := m.record("run/step"); r.Status != Uncertain || r.Fence != 2 || !r.LeaseExpires.Equal(r.ExpireAt) {
			t.Errorf("the record is %+v", r)
		}
	})
}

func TestMaxAttempts(t *testing.T) {
	t.Parallel()
	m, n := &mem{}, 0
	g := newGuard(t, m, Config{MaxAttempts: 2})
	down := errors.New("callee is down, password hunter2")
	e := effect("run/step", "", &n)
	e.Do = func(context.Context, Attempt) (string, error) { n++; return "", down }
	if _, err := Do(t.Context(), g, e); !errors.Is(err, down) || errors.Is(err, ErrFailed) {
		t.Errorf("first: %v", err)
	}
	if _, err := Do(t.Context(), g, e); !errors.Is(err, down) || !errors.Is(err, ErrFailed) {
		t.Errorf("second, the last one: %v", err)
	}
	_, err := Do(t.Context(), g, e)
	var failed *FailedError
	if !errors.As(err, &failed) || failed.Code != CodeMaxAttempts || n != 2 {
		t.Errorf("third: %v after %d effects", err, n)
	}
	if r := m.record("run/step"); strings.Contains(fmt.Sprintf("%+v", r.Failure), "hunter2") {
		t.Error("the record holds the error's own text")
	}

	// A crash in the last attempt: with Find it is asked first, and only then is the step given up.
	for found, want := range map[bool]error{true: nil, false: ErrFailed} {
		m := &mem{}
		g := newGuard(t, m, Config{MaxAttempts: 1})
		e := effect("run/step", "", &n)
		e.Find = func(context.Context, Attempt) (string, bool, error) { return "found", found, nil }
		if _, err := m.Create(t.Context(), g.record(e.Request, "crashed", nil)); err != nil {
			t.Fatal(err)
		}
		m.advance(time.Minute)
		before := n
		got, err := Do(t.Context(), g, e)
		if !errors.Is(err, want) || n != before || got.Found != found || found && (got.Value != "found" || !got.Replayed) {
			t.Errorf("found %t: got %+v, %v", found, got, err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		found   bool
		err     error
		want    string
		effects int
		status  Status
	}{
		"happened":       {true, nil, "found", 0, Completed},
		"did not":        {false, nil, "done", 1, Completed},
		"nobody can say": {false, errFault, "", 0, InProgress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n, asked := &mem{}, 0, 0
			g := newGuard(t, m, Config{})
			e := effect("run/step", "done", &n)
			e.Repeat = Never // with Find, Never does not stop
			e.Find = func(_ context.Context, a Attempt) (string, bool, error) {
				asked++
				return "found", row.found, row.err
			}
			e.Do = func(context.Context, Attempt) (string, error) { return "", errors.New("who knows") }
			if _, err := Do(t.Context(), g, e); errors.Is(err, ErrUncertain) || err == nil || asked != 0 {
				t.Fatalf("the first attempt: %v, Find was asked %d times", err, asked)
			}
			e.Do = effect("", "done", &n).Do
			got, err := Do(t.Context(), g, e)
			if !errors.Is(err, row.err) || got.Value != row.want || n != row.effects || asked != 1 {
				t.Errorf("got %+v, %v with %d effects, Find asked %d times", got, err, n, asked)
			}
			if r := m.record("run/step"); r.Status != row.status || r.Fence != 2 {
				t.Errorf("the record is %s with fence %d", r.Status, r.Fence)
			}
		})
	}
}

// TestSettle: an operator's word is conditional, has an author, and makes whoever was at work a zombie.
func TestSettle(t *testing.T) {
	t.Parallel()
	word := Settlement{Status: Completed, Outcome: &Outcome{Body: []byte(`"by hand"`)}, Actor: "ops", Reason: "seen at the bank"}
	t.Run("incomplete", func(t *testing.T) {
		t.Parallel()
		g := newGuard(t, &mem{}, Config{})
		for _, s := range []Settlement{{}, {Status: Completed, Actor: "a"}, {Status: Uncertain, Actor: "a", Reason: "r"}} {
			if _, err := g.Settle(t.Context(), "x", s); err == nil {
				t.Errorf("%+v was taken", s)
			}
		}
		if _, err := g.Settle(t.Context(), "x", word); !errors.Is(err, ErrNotFound) {
			t.Errorf("no record: %v", err)
		}
	})
	t.Run("force", func(t *testing.T) {
		t.Parallel()
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{})
		e := effect("run/step", "", &n)
		e.Do = func(ctx context.Context, _ Attempt) (string, error) {
			if _, err := g.Settle(t.Context(), "run/step", word); !errors.Is(err, ErrInProgress) {
				t.Errorf("over a live attempt: %v", err)
			}
			forced := word
			forced.Force = true
			r, err := g.Settle(t.Context(), "run/step", forced)
			if err != nil || r.Fence != 2 {
				t.Errorf("forced: %+v, %v", r, err)
			}
			return "zombie", nil
		}
		if _, err := Do(t.Context(), g, e); !errors.Is(err, ErrLost) {
			t.Errorf("the attempt that was at work: %v, want ErrLost", err)
		}
		if got, err := Do(t.Context(), g, e); err != nil || got.Value != "by hand" {
			t.Errorf("a duplicate got %+v, %v", got, err)
		}
		if _, err := g.Settle(t.Context(), "run/step", word); err == nil {
			t.Error("a completed step was settled")
		}
	})
	t.Run("rerun after a failure, and its answer lost", func(t *testing.T) {
		t.Parallel()
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{Cache: 4})
		e := effect("run/step", "done", &n)
		e.Do = func(context.Context, Attempt) (string, error) { return "", Permanent(errors.New("declined")) }
		if _, err := Do(t.Context(), g, e); !errors.Is(err, ErrFailed) {
			t.Fatal(err)
		}
		calls := m.count()
		m.faults(func(_ string, i int) (error, bool) { return map[bool]error{true: errFault}[i == calls+2], true })
		if _, err := g.Settle(t.Context(), "run/step", Settlement{Status: InProgress, Actor: "ops", Reason: "card renewed"}); err != nil {
			t.Fatal(err)
		}
		got, err := Do(t.Context(), g, effect("run/step", "done", &n))
		if err != nil || got.Value != "done" || got.Fence != 3 {
			t.Errorf("the rerun: %+v, %v", got, err)
		}
		note := m.record("run/step").Attempts[1].Note
		if !strings.Contains(note, "ops") || !strings.Contains(note, "card renewed") {
			t.Errorf("the history says %q", note)
		}
	})
}

// TestInstancesWithOneName: a NewID that repeats names must not make a finished step run again.
func TestRepeatedAttemptID(t *testing.T) {
	t.Parallel()
	m, n := &mem{}, 0
	g := newGuard(t, m, Config{NewID: func() string { return "same" }})
	for range 3 {
		if got, err := Do(t.Context(), g, effect("run/step", "done", &n)); err != nil || got.Value != "done" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestConcurrentDuplicates: many callers at once, one effect, one value; those that wait are replayed. B8, B31.
func TestConcurrentDuplicates(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				e := effect("run/step", "", &n)
				e.Request.Wait = time.Minute
				e.Do = func(ctx context.Context, _ Attempt) (string, error) {
					n++
					time.Sleep(45 * time.Second) // beyond the lease, which is renewed
					return "done", context.Cause(ctx)
				}
				if got, err := Do(t.Context(), g, e); err != nil || got.Value != "done" {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
		wg.Wait()
		if n != 1 {
			t.Errorf("%d effects, want 1", n)
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{})
		e := effect("run/step", "mine", &n)
		if _, err := m.Create(t.Context(), g.record(e.Request, "other", nil)); err != nil {
			t.Fatal(err)
		}
		e.Request.Wait = 10 * time.Second
		began := time.Now()
		_, err := Do(t.Context(), g, e)
		var busy *InProgressError
		if waited := time.Since(began); !errors.As(err, &busy) || waited != 10*time.Second || busy.RetryAfter != 20*time.Second {
			t.Errorf("after %v: %v", waited, err)
		}
		e.Request.Wait = time.Hour // the other crashed: its lease ends first
		got, err := Do(t.Context(), g, e)
		if err != nil || got.Fence != 2 || time.Since(began) != 30*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(began), got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		e.Request.Token = "run/other"
		if _, err := m.Create(t.Context(), g.record(e.Request, "other", nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := Do(ctx, g, e); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that left: %v", err)
		}
	})
}

// TestCancelledClaim: the caller goes while its claim is made. Nothing stays locked, and the effect does not run. B28.
func TestCancelledClaim(t *testing.T) {
	t.Parallel()
	for _, lose := range []bool{false, true} {
		m, n := &mem{}, 0
		ctx, cancel := context.WithCancel(t.Context())
		m.fault = func(method string, _ int) (error, bool) {
			if method == "create" {
				cancel()
				if lose {
					return context.Canceled, true
				}
			}
			return nil, false
		}
		_, err := Do(ctx, newGuard(t, m, Config{}), effect("run/step", "x", &n))
		if !errors.Is(err, context.Canceled) || n != 0 {
			t.Errorf("lose %t: %v with %d effects", lose, err, n)
		}
		if r := m.record("run/step"); !r.released() || r.Fence != 1 || r.Attempts[0].Ended != "released" {
			t.Errorf("lose %t: the record is %+v", lose, r)
		}
	}
}

func TestInputIsBounded(t *testing.T) { // B7
	t.Parallel()
	m, n := &mem{}, 0
	g := newGuard(t, m, Config{})
	e := effect("run/step", "x", &n)
	e.Request.Input = make([]byte, maxInput+1)
	if _, err := Do(t.Context(), g, e); err == nil || m.count() != 0 || n != 0 {
		t.Errorf("got %v after %d store calls", err, m.count())
	}
	e.Request.Input = []byte("as it came")
	e.Do = func(context.Context, Attempt) (string, error) { e.Request.Input[0] = 'X'; return "", errFault }
	if _, err := Do(t.Context(), g, e); !errors.Is(err, errFault) {
		t.Error(err)
	}
	if r := m.record("run/step"); string(r.Input) != "as it came" {
		t.Errorf("the record's input is %q", r.Input)
	}
}
