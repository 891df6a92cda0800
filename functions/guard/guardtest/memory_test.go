package guardtest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/runonce/functions/guard"
)

func fullRecord(token string) guard.Record {
	lease := 30 * time.Second
	return guard.Record{
		Token: token, Status: guard.Completed, AttemptID: "a", Fence: 2, Lease: &lease, LeaseExpires: epoch, ExpireAt: epoch.Add(time.Hour),
		Fingerprint: "f", Input: []byte("in"), Seq: 3, Schema: 1,
		Outcome:  &guard.Outcome{Body: []byte("body"), Code: 201, Headers: map[string][]string{"X": {"1", "2"}}},
		Failure:  &guard.Failure{Code: "c", Message: "m"},
		Attempts: []guard.AttemptEntry{{AttemptID: "a", Fence: 1, Ended: "released"}},
	}
}

func TestMemoryCopiesDeeply(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	in := fullRecord("t")
	v, err := m.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(r guard.Record) {
		*r.Lease, r.Input[0], r.Outcome.Body[0] = 0, 'X', 'X'
		r.Outcome.Headers["X"][0], r.Outcome.Headers["Y"], r.Failure.Code, r.Attempts[0].Ended = "X", nil, "X", "X"
	}
	spoil(in)
	first, err := m.Get(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	spoil(first.Record)
	got, err := m.Get(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullRecord("t"), got.Record); diff != "" {
		t.Errorf("a caller's change reached the store (-want +got):\n%s", diff)
	}
	if got.Version != v {
		t.Errorf("version %q, want that of the create %q", got.Version, v)
	}
}

func TestMemoryConditions(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	ctx := t.Context()
	rec := guard.Record{Token: "t"}
	v1, _ := m.Create(ctx, rec)
	if _, err := m.Create(ctx, rec); !errors.Is(err, guard.ErrExists) {
		t.Errorf("second create: %v, want ErrExists", err)
	}
	v2, err := m.Update(ctx, v1, rec)
	if err != nil || v2 == v1 {
		t.Errorf("update: version %q after %q, error %v", v2, v1, err)
	}
	if _, err := m.Update(ctx, v1, rec); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("update of an old version: %v, want ErrConflict", err)
	}
	m.Delete("t")
	if _, err := m.Update(ctx, v2, rec); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("update of a record that is gone: %v, want ErrConflict", err)
	}
	if _, err := m.Get(ctx, "t"); !errors.Is(err, guard.ErrNotFound) {
		t.Errorf("get: %v, want ErrNotFound", err)
	}
	if v3, _ := m.Create(ctx, rec); v3 == v1 || v3 == v2 {
		t.Errorf("version %q came back after a delete", v3)
	}
}

func TestMemoryClock(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	_, _ = m.Create(t.Context(), guard.Record{Token: "t"})
	m.Advance(time.Minute)
	got, _ := m.Get(t.Context(), "t")
	if age := got.ReadAt.Sub(got.UpdatedAt); age != time.Minute {
		t.Errorf("age %v, want the minute that passed", age)
	}
}

func TestMemoryOneWinner(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	var wg sync.WaitGroup
	won := make(chan error, 20)
	for range cap(won) {
		wg.Go(func() {
			_, err := m.Create(t.Context(), guard.Record{Token: "t"})
			won <- err
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for err := range won {
		if err == nil {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d creates succeeded, want 1", n)
	}
}
