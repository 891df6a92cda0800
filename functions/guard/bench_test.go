package guard

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// A fresh step over a map: what the guard itself costs. Promised: below 10 µs and 40 allocations.
func BenchmarkDo(b *testing.B) {
	g := newGuard(b, &quick{}, Config{})
	e := Effect[string]{Do: func(context.Context, Attempt) (string, error) { return "done", nil }}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.Request.Token = "run/" + strconv.Itoa(i)
		if _, err := Do(b.Context(), g, e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDoDuplicate(b *testing.B) {
	for name, cache := range map[string]int{"store": 0, "cache": 1} {
		b.Run(name, func(b *testing.B) {
			g := newGuard(b, &quick{}, Config{Cache: cache})
			e := Effect[string]{Request: Request{Token: "run"}, Do: func(context.Context, Attempt) (string, error) { return "done", nil }}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Do(b.Context(), g, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestCost holds the allocations of a fresh step to the promise; time is the benchmark's.
func TestCost(t *testing.T) {
	g := newGuard(t, &quick{}, Config{})
	e := Effect[string]{Do: func(context.Context, Attempt) (string, error) { return "done", nil }}
	i := 0
	n := testing.AllocsPerRun(200, func() {
		i++
		e.Request.Token = strconv.Itoa(i)
		_, _ = Do(t.Context(), g, e)
	})
	if n >= 40 {
		t.Errorf("%.0f allocations for a fresh step, want below 40", n)
	}
	t.Logf("%.0f allocations", n)
}

// quick keeps the last record only, so that what is measured is not the map.
type quick struct{ s Snapshot }

func (q *quick) put(r Record) (Version, error) {
	q.s = Snapshot{Record: r, Version: q.s.Version + "1", UpdatedAt: time.Unix(0, 0), ReadAt: time.Unix(0, 0)}
	if len(q.s.Version) > 8 {
		q.s.Version = "1"
	}
	return q.s.Version, nil
}

func (q *quick) Create(_ context.Context, r Record) (Version, error) {
	if q.s.Record.Token == r.Token {
		return "", ErrExists
	}
	return q.put(r)
}

func (q *quick) Get(context.Context, string) (Snapshot, error) { return q.s, nil }

func (q *quick) Update(_ context.Context, _ Version, r Record) (Version, error) { return q.put(r) }
