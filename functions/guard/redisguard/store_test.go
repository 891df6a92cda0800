package redisguard

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/runonce/functions/guard"
)

var start = time.Date(2026, time.March, 1, 12, 0, 0, 123456789, time.UTC)

func fullRecord(token string) guard.Record {
	lease := 30*time.Second + time.Nanosecond
	return guard.Record{
		Token: token, Status: guard.Failed, AttemptID: "a", Fence: 1 << 60, Lease: &lease, LeaseExpires: start, ExpireAt: start.Add(48 * time.Hour),
		Fingerprint: "f", Input: []byte{0, 255}, Seq: 3, Schema: 1,
		Outcome:  &guard.Outcome{Body: []byte("\x00\xffbody"), Code: 201, Headers: map[string][]string{"X": {"1", "2"}}, Tombstone: true},
		Failure:  &guard.Failure{Code: "c", Message: "m"},
		Attempts: []guard.AttemptEntry{{AttemptID: "a", Fence: 1, ClaimedAt: start, EndedAt: start, Ended: "released", Note: "n"}},
	}
}

func TestRoundTrip(t *testing.T) { // R7
	t.Parallel()
	zero := time.Duration(0)
	for name, want := range map[string]guard.Record{
		"full":                fullRecord("t"),
		"bare":                {Token: "t"},
		"empty, not nil":      {Token: "t", Input: []byte{}, Outcome: &guard.Outcome{Body: []byte{}}, Failure: &guard.Failure{}},
		"a lease given up":    {Token: "t", Lease: &zero},
		"a name that is odd":  {Token: "ключ \"'\\ \x7f"},
		"a newer schema":      {Token: "t", Schema: 99},
		"outcome without any": {Token: "t", Outcome: &guard.Outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t, Config{})
			v, err := s.Create(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Get(t.Context(), want.Token)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Record); diff != "" || got.Version != v {
				t.Errorf("version %q of %q, record (-want +got):\n%s", got.Version, v, diff)
			}
		})
	}
}

func TestConditions(t *testing.T) { // R7, R11
	t.Parallel()
	s, client := newStore(t, Config{})
	ctx := t.Context()
	if _, err := s.Get(ctx, "t"); !errors.Is(err, guard.ErrNotFound) {
		t.Errorf("get before create: %v, want ErrNotFound", err)
	}
	if _, err := s.Update(ctx, "", guard.Record{Token: "t"}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("update before create: %v, want ErrConflict", err)
	}
	v1, err := s.Create(ctx, guard.Record{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, guard.Record{Token: "t", Fence: 9}); !errors.Is(err, guard.ErrExists) {
		t.Errorf("second create: %v, want ErrExists", err)
	}
	if _, err := s.Update(ctx, v1, guard.Record{Token: "t", Fence: 2}); err != nil {
		t.Errorf("update: %v", err)
	}
	if _, err := s.Update(ctx, v1, guard.Record{Token: "t", Fence: 9}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("update of an old version: %v, want ErrConflict", err)
	}
	got, err := s.Get(ctx, "t")
	if err != nil || got.Record.Fence != 2 {
		t.Errorf("fence %d, error %v; want 2: a refused write changes nothing", got.Record.Fence, err)
	}
	client.Del(ctx, s.Key("t"))
	if _, err := s.Update(ctx, got.Version, guard.Record{Token: "t"}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("update of a record that is gone: %v, want ErrConflict", err)
	}
}

// A client library that sends a call again after a broken connection must not refuse its own write.
func TestResentWriteIsTheSameWrite(t *testing.T) { // B18, B19
	t.Parallel()
	name := "v1"
	s, _ := newStore(t, Config{NewVersion: func() string { return name }})
	ctx := t.Context()
	for range 2 {
		if v, err := s.Create(ctx, guard.Record{Token: "t", Fence: 1}); err != nil || v != "v1" {
			t.Fatalf("create: version %q, error %v", v, err)
		}
	}
	name = "v2"
	for range 2 {
		if v, err := s.Update(ctx, "v1", guard.Record{Token: "t", Fence: 2}); err != nil || v != "v2" {
			t.Fatalf("update: version %q, error %v", v, err)
		}
	}
	name = "v3"
	if _, err := s.Update(ctx, "v1", guard.Record{Token: "t"}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("another write of the old version: %v, want ErrConflict", err)
	}
}

func TestServerTimeCounts(t *testing.T) { // B16
	t.Parallel()
	s, _ := newStore(t, Config{Now: func() time.Time { return time.Unix(0, 0) }})
	ctx := t.Context()
	if _, err := s.Create(ctx, guard.Record{Token: "t"}); err != nil {
		t.Fatal(err)
	}
	age(t, s, time.Hour)
	got, err := s.Get(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	if d := got.ReadAt.Sub(got.UpdatedAt); d < time.Hour || d > 2*time.Hour {
		t.Errorf("age %v, want the hour that passed", d)
	}
}

func TestTimeToLive(t *testing.T) { // B15, B23
	t.Parallel()
	now := func() time.Time { return start }
	tests := []struct {
		name   string
		expire time.Time
		want   time.Duration
	}{
		{"record says longer", start.Add(48 * time.Hour), 48 * time.Hour},
		{"record says shorter", start.Add(time.Minute), 3 * time.Hour},
		{"record says nothing", time.Time{}, 3 * time.Hour},
		{"writer's clock is days behind", start.Add(-240 * time.Hour), 3 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, client := newStore(t, Config{Retention: 3 * time.Hour, Now: now})
			if _, err := s.Create(t.Context(), guard.Record{Token: "t", ExpireAt: tt.expire}); err != nil {
				t.Fatal(err)
			}
			got := client.PTTL(t.Context(), s.Key("t")).Val()
			if got > tt.want || got < tt.want-time.Minute {
				t.Errorf("time to live %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOneWinner(t *testing.T) { // R7
	t.Parallel()
	s, _ := newStore(t, Config{})
	ctx := t.Context()
	race := func(write func() error) (won int) {
		errs := make(chan error, 16)
		var wg sync.WaitGroup
		for range cap(errs) {
			wg.Go(func() { errs <- write() })
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err == nil {
				won++
			}
		}
		return won
	}
	if n := race(func() error { _, err := s.Create(ctx, guard.Record{Token: "t"}); return err }); n != 1 {
		t.Errorf("%d creates won, want 1", n)
	}
	snap, err := s.Get(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	if n := race(func() error { _, err := s.Update(ctx, snap.Version, guard.Record{Token: "t"}); return err }); n != 1 {
		t.Errorf("%d updates of one version won, want 1", n)
	}
}

func TestKey(t *testing.T) { // B14: a change of these keys would run every finished step again
	t.Parallel()
	s := New(nil, Config{})
	hash := strings.Repeat("0123456789abcdef", 4)
	for token, want := range map[string]string{
		hash:                  "runonce:" + hash,
		strings.ToUpper(hash): "runonce:0ea37c243f60974b0d54c6b2d76cece3f4c742492cce48eaf81f357931d6d69e",
		"run/step":            "runonce:f3989eb7fcad07341343605936d7ad759a49544b799b858cb4308fdda69dc685",
	} {
		if got := s.Key(token); got != want {
			t.Errorf("key of %q is %q, want %q", token, got, want)
		}
	}
}

func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body   string
		schema int64
		bad    bool
	}{
		"a newer schema with other types": {`{"v": 2, "token": {"new": "form"}}`, 2, false},
		"broken":                          {`{"v": 1, "token": 5}`, 0, true},
		"not JSON":                        {`x`, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(tt.body))
			if got.Schema != tt.schema || (err != nil) != tt.bad {
				t.Errorf("schema %d, error %v; want %d, error %t", got.Schema, err, tt.schema, tt.bad)
			}
		})
	}
}

func TestCheckEviction(t *testing.T) {
	s, client := newStore(t, Config{})
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("check of a server that keeps everything: %v", err)
	}
	t.Cleanup(func() { client.ConfigSet(context.Background(), "maxmemory-policy", "noeviction") })
	if err := client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("check of a server that evicts: %v, want an error that names the policy", err)
	}
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	s, client := newStore(t, Config{})
	_ = client.Close()
	_, err := s.Create(t.Context(), guard.Record{Token: "t"})
	if err == nil || errors.Is(err, guard.ErrExists) || errors.Is(err, guard.ErrConflict) {
		t.Errorf("create without a server: %v, want an error that leaves it open", err)
	}
}
