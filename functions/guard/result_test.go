package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestResults: whatever an effect returns, it does not run again, and every caller gets the same. B9.
func TestResults(t *testing.T) {
	t.Parallel()
	type shape struct {
		A int
		B []string
		C *int
		D time.Time
	}
	seven := 7
	same(t, "zero", 0)
	same(t, "false", false)
	same(t, "empty string", "")
	same(t, "void", struct{}{})
	same(t, "nil pointer", (*shape)(nil))
	same(t, "nil slice", []int(nil))
	same(t, "empty slice", []int{})
	same(t, "nil map", map[string]int(nil))
	same(t, "empty map", map[string]int{})
	same(t, "any nil", any(nil))
	same(t, "any", any(map[string]any{"a": 1.0, "b": []any{nil, "<&>"}}))
	same(t, "raw", json.RawMessage(`{"a":1e2}`))
	same(t, "bytes", []byte{0, 255})
	same(t, "shape", shape{1, []string{""}, &seven, time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC)})
	same(t, "text that is no UTF-8 is the same for all", "\xff")
}

func same[T any](t *testing.T, name string, value T) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{})
		e := Effect[T]{Request: Request{Token: "run/step"}, Do: func(context.Context, Attempt) (T, error) { n++; return value, nil }}
		first, err1 := Do(t.Context(), g, e)
		again, err2 := Do(t.Context(), g, e)
		if err1 != nil || err2 != nil || n != 1 || first.Replayed || !again.Replayed || !reflect.DeepEqual(first.Value, again.Value) {
			t.Errorf("first %#v, %v; again %#v, %v; %d effects", first.Value, err1, again.Value, err2, n)
		}
		if name != "text that is no UTF-8 is the same for all" && !reflect.DeepEqual(first.Value, value) {
			t.Errorf("got %#v, want %#v", first.Value, value)
		}
	})
}

// TestResultsThatAreNotKept: the effect has happened, so the step is done, whatever its result. B25.
func TestResultsThatAreNotKept(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		value any
		limit int // of the store
	}{
		"no JSON":               {math.NaN(), 0},
		"a channel":             {make(chan int), 0},
		"beyond every store":    {strings.Repeat("x", maxBody), 0},
		"beyond this store":     {strings.Repeat("x", 2000), 1000},
		"a panicking marshaler": {panics{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := &mem{}, 0
			g := newGuard(t, limited{m, row.limit}, Config{})
			e := Effect[any]{Request: Request{Token: "run/step"}, Do: func(context.Context, Attempt) (any, error) { n++; return row.value, nil }}
			got, err := Do(t.Context(), g, e)
			if err != nil || fmt.Sprint(got.Value) != fmt.Sprint(row.value) {
				t.Errorf("the first caller got an error or another value: %v", err)
			}
			_, err = Do(t.Context(), g, e)
			if !errors.Is(err, ErrNoResult) || n != 1 {
				t.Errorf("a duplicate got %v after %d effects", err, n)
			}
			if r := m.record("run/step"); r.Status != Completed || !r.Outcome.Tombstone {
				t.Errorf("the record is %s", r.Status)
			}
		})
	}
	t.Run("of another type", func(t *testing.T) {
		t.Parallel()
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{})
		if _, err := Do(t.Context(), g, effect("run/step", "text", &n)); err != nil {
			t.Fatal(err)
		}
		_, err := Do(t.Context(), g, Effect[int]{Request: Request{Token: "run/step"}, Do: func(context.Context, Attempt) (int, error) { n++; return 1, nil }})
		if err == nil || n != 1 {
			t.Errorf("got %v after %d effects", err, n)
		}
	})
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

// limited refuses records whose outcome is beyond limit bytes; 0: none.
type limited struct {
	*mem
	limit int
}

func (l limited) Update(ctx context.Context, v Version, r Record) (Version, error) {
	if l.limit > 0 && r.Outcome != nil && len(r.Outcome.Body) > l.limit {
		return "", ErrTooLarge
	}
	return l.mem.Update(ctx, v, r)
}

// TestErrors: which errors end a step, and that they are the same to every caller. B29, B32.
func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for name, row := range map[string]struct {
		err    error
		repeat Repeat
		status Status
		fresh  error // what the first caller's error is, beside cause
		next   error // what a duplicate gets; nil: it runs
		code   string
	}{
		"plain":              {cause, Safe, InProgress, cause, nil, ""},
		"not applied":        {NotApplied(cause), Safe, InProgress, cause, nil, ""},
		"permanent":          {Permanent(cause), Safe, Failed, ErrFailed, ErrFailed, ""},
		"permanent, wrapped": {fmt.Errorf("x: %w", Permanent(cause)), Safe, Failed, ErrFailed, ErrFailed, ""},
		"failed":             {fmt.Errorf("%w: %w", &FailedError{Code: "declined", Message: "m"}, cause), Safe, Failed, ErrFailed, ErrFailed, "declined"},
		"permanent failed":   {Permanent(fmt.Errorf("%w: %w", &FailedError{Code: "declined"}, cause)), Safe, Failed, ErrFailed, ErrFailed, "declined"},
		"outer mark wins":    {NotApplied(fmt.Errorf("inner step: %w: %w", &FailedError{Code: "c"}, cause)), Safe, InProgress, ErrFailed, nil, ""},
		"never, plain":       {cause, Never, Uncertain, ErrUncertain, ErrUncertain, ""},
		"never, not applied": {NotApplied(cause), Never, InProgress, cause, nil, ""},
		"never, permanent":   {Permanent(cause), Never, Failed, ErrFailed, ErrFailed, ""},
		"never, context":     {fmt.Errorf("%w: %w", context.DeadlineExceeded, cause), Never, Uncertain, ErrUncertain, ErrUncertain, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := &mem{}, 0
			g := newGuard(t, m, Config{})
			e := effect("run/step", "done", &n)
			e.Repeat = row.repeat
			plain := e.Do
			e.Do = func(context.Context, Attempt) (string, error) { return "", row.err }
			_, err := Do(t.Context(), g, e)
			if !errors.Is(err, cause) || !errors.Is(err, row.fresh) {
				t.Errorf("the first caller got %v, want %v and its own error", err, row.fresh)
			}
			if r := m.record("run/step"); r.Status != row.status {
				t.Errorf("the record is %s, want %s", r.Status, row.status)
			}
			e.Do = plain
			_, err = Do(t.Context(), g, e)
			if !errors.Is(err, row.next) || n != map[bool]int{true: 1}[row.next == nil] {
				t.Errorf("a duplicate got %v after %d effects, want %v", err, n, row.next)
			}
			if f := (*FailedError)(nil); errors.As(err, &f) && f.Code != row.code {
				t.Errorf("a duplicate got code %q, want %q", f.Code, row.code)
			}
		})
	}
	if Permanent(nil) != nil || NotApplied(nil) != nil {
		t.Error("nothing became an error")
	}
}
