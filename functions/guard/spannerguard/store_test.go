package spannerguard

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner"

	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/guard/guardtest"
	"example.com/runonce/functions/guard/guardtest/history"
)

// The same suite as every store, against the client's own in-memory server. R7, B1–B33; doc.go says what that shows.
func TestConforms(t *testing.T) {
	t.Parallel()
	guardtest.RunStoreTests(t, func(t *testing.T) guardtest.Harness {
		s, client := newStore(t, Config{})
		one := serial{&sync.Mutex{}, s}
		return guardtest.Harness{
			Store:   one,
			Advance: func(d time.Duration) { one.age(t, client, d) },
			Delete: func(ctx context.Context, token string) error {
				_, err := client.Apply(ctx, []*spanner.Mutation{spanner.Delete("runonce", spanner.Key{ID(token)})})
				return err
			},
		}
	})
}

func TestHistory(t *testing.T) { // B18
	t.Parallel()
	s, _ := newStore(t, Config{})
	history.CheckStore(t, serial{&sync.Mutex{}, s}, history.Config{Faults: 20, Steps: 20})
}

func TestTooLarge(t *testing.T) { // B25
	t.Parallel()
	s := New(nil, Config{})
	rec := guard.Record{Token: "t", Outcome: &guard.Outcome{Body: make([]byte, maxCell+1)}}
	if _, err := s.Create(t.Context(), rec); !errors.Is(err, guard.ErrTooLarge) {
		t.Errorf("create: %v, want ErrTooLarge", err)
	}
	if _, err := s.Update(t.Context(), "v", rec); !errors.Is(err, guard.ErrTooLarge) {
		t.Errorf("update: %v, want ErrTooLarge", err)
	}
}

func TestID(t *testing.T) { // B14: a change of these keys would run every finished step again
	t.Parallel()
	hash := strings.Repeat("0123456789abcdef", 4)
	for token, want := range map[string]string{
		hash:       hash,
		"run/step": "f3989eb7fcad07341343605936d7ad759a49544b799b858cb4308fdda69dc685",
	} {
		if got := ID(token); got != want {
			t.Errorf("id of %q is %q, want %q", token, got, want)
		}
	}
}

func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		record string
		schema int64
		bad    bool
	}{
		"a newer schema with other types": {`{"v": 2, "token": {"new": "form"}}`, 2, false},
		"broken":                          {`{"v": 1, "token": 5}`, 0, true},
		"not JSON":                        {`x`, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decode(tt.record, nil, nil)
			if got.Schema != tt.schema || (err != nil) != tt.bad {
				t.Errorf("schema %d, error %v; want %d, error %t", got.Schema, err, tt.schema, tt.bad)
			}
		})
	}
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Create(ctx, guard.Record{Token: "t"})
	if err == nil || errors.Is(err, guard.ErrExists) || errors.Is(err, guard.ErrConflict) {
		t.Errorf("create without an answer: %v, want an error that leaves it open", err)
	}
}
