package guard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestCache(t *testing.T) { // B10, B11, B33
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	done := func(i int) Record {
		return Record{Token: fmt.Sprint(i), Status: Completed, ExpireAt: at.Add(time.Hour)}
	}
	t.Run("bounded, the last used stay", func(t *testing.T) {
		t.Parallel()
		c := newCache(2)
		c.put(done(1), at)
		c.put(done(2), at)
		c.get("1", at)
		c.put(done(3), at)
		for token, want := range map[string]bool{"1": true, "2": false, "3": true} {
			if _, ok := c.get(token, at); ok != want {
				t.Errorf("%s is there: %t, want %t", token, ok, want)
			}
		}
		if len(c.items) != 2 || c.order.Len() != 2 {
			t.Errorf("%d items in %d places, want 2", len(c.items), c.order.Len())
		}
	})
	t.Run("only what is finished and small, until it expires", func(t *testing.T) {
		t.Parallel()
		c := newCache(9)
		for i, r := range []Record{{Status: InProgress}, {Status: Uncertain}, {Status: Completed, Outcome: &Outcome{Body: make([]byte, cacheBody+1)}}} {
			r.Token = fmt.Sprint(i)
			c.put(r, at)
		}
		if len(c.items) != 0 {
			t.Errorf("kept %v", c.items)
		}
		soon := done(5)
		soon.ExpireAt = at.Add(time.Second)
		c.put(soon, at)
		c.put(done(6), at)
		for _, row := range []struct {
			token string
			after time.Duration
			want  bool
		}{{"5", time.Second - 1, true}, {"5", time.Second, false}, {"6", cacheAge - 1, true}, {"6", cacheAge, false}} {
			if _, ok := c.get(row.token, at.Add(row.after)); ok != row.want {
				t.Errorf("%s after %v: %t, want %t", row.token, row.after, ok, row.want)
			}
		}
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		c := newCache(0)
		c.put(done(1), at)
		if _, ok := c.get("1", at); ok {
			t.Error("a cache of no size keeps something")
		}
	})
}

// TestCacheIsInvisible tells one story with the cache off and on: payloads, failures, tombstones.
func TestCacheIsInvisible(t *testing.T) { // B10, B11
	t.Parallel()
	story := func(cache int) (told []string) {
		m, n := &mem{}, 0
		g := newGuard(t, m, Config{Cache: cache})
		ask := func(token, payload string, value any, err error) {
			got, err := Do(t.Context(), g, Effect[any]{
				Request: Request{Token: token, Fingerprint: payload},
				Do:      func(context.Context, Attempt) (any, error) { n++; return value, err },
			})
			told = append(told, fmt.Sprintf("%v %t %v %d", got.Value, got.Replayed, err, n))
		}
		for _, payload := range []string{"a", "a", "b", ""} {
			ask("value", payload, "v", nil)
			ask("nothing", payload, nil, nil)
			ask("failure", payload, nil, Permanent(errors.New("declined")))
			ask("no JSON", payload, func() {}, nil)
			ask("released", payload, nil, errFault)
		}
		return told
	}
	off, on := story(0), story(100)
	for i := range off {
		a, b := off[i], on[i]
		if i%5 == 3 && i < 5 { // a function's address
			a, b = a[len(a)-2:], b[len(b)-2:]
		}
		if a != b {
			t.Errorf("line %d: off %q, on %q", i+1, off[i], on[i])
		}
	}
}
