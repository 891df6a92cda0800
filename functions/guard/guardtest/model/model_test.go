package model

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"example.com/runonce/functions/guard"
)

// depth is how far to go: RUNONCE_MODEL_DEPTH, 1 where it is not set.
func depth(t *testing.T) int {
	t.Helper()
	s := os.Getenv("RUNONCE_MODEL_DEPTH")
	if s == "" {
		return 1
	}
	d, err := strconv.Atoi(s)
	if err != nil || d < 1 {
		t.Fatalf("RUNONCE_MODEL_DEPTH=%q: want a number from 1", s)
	}
	return d
}

// deeper allows one thing more for each step of depth beyond the first: a crash, a lapse of time, a fault, in turns.
func (sc scenario) deeper(depth int) scenario {
	for i := range depth - 1 {
		switch i % 3 {
		case 0:
			sc.crashes++
		case 1:
			sc.lapses++
		case 2:
			sc.faults++
		}
	}
	return sc
}

func readFirst(c *guard.Config) { c.ReadFirst = true }

// scenarios are bounded so that all of them take half a minute or so on two cores.
var scenarios = []scenario{
	{name: "never repeated", sink: plain, actors: 2, faults: 1, lapses: 1, stalls: true},
	{name: "never repeated, killed", sink: plain, actors: 2, crashes: 1, lapses: 1, stalls: true},
	{name: "callee takes the token, killed", sink: dedup, actors: 2, crashes: 1, lapses: 1, stalls: true},
	{name: "callee takes the fence and can be asked", sink: fenced, actors: 2, crashes: 1, lapses: 1, stalls: true},
	{name: "clocks run together", sink: dedup, actors: 2, faults: 1, lapses: 1, late: true},
	{name: "one delivery, time passes", sink: dedup, actors: 1, faults: 1, lapses: 3, late: true},
	{name: "two faults", sink: dedup, actors: 1, faults: 2, lapses: 1, stalls: true, late: true},
	{name: "reads first", sink: dedup, actors: 2, crashes: 1, lapses: 1, stalls: true, tune: readFirst},
	{name: "another payload", sink: dedup, actors: 2, crashes: 1, lapses: 1, stalls: true, other: true},
	{name: "three deliveries", sink: plain, actors: 3, lapses: 1, stalls: true},
}

// TestModel explores the guard as it is. It must find nothing. B4, B5, B17, B18, B20, B30 and promises 1 to 6.
func TestModel(t *testing.T) {
	t.Parallel()
	d := depth(t)
	if raceEnabled && d == 1 {
		t.Log("under the race detector, which is slow, each scenario stops at seven actions")
	}
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			sc = sc.deeper(d)
			if raceEnabled && d == 1 {
				sc.depth = 7
			}
			began := time.Now()
			r := explore(t, sc)
			t.Logf("%s in %v", r, time.Since(began).Round(time.Millisecond))
			if r.violation != nil {
				t.Fail()
			}
		})
	}
}

// The stores of TestModelFindsViolations. Each breaks one rule of guard.Store.
type (
	blindUpdate struct{ guard.Store } // replaces whatever is there
	blindCreate struct{ guard.Store }
	alwaysOld   struct{ guard.Store } // says that every record was written long ago
	neverOld    struct{ guard.Store } // says that every record was written just now
)

func (s blindUpdate) Update(ctx context.Context, _ guard.Version, rec guard.Record) (guard.Version, error) {
	snap, err := s.Get(ctx, rec.Token)
	if err != nil {
		return "", err
	}
	return s.Store.Update(ctx, snap.Version, rec)
}

func (s blindCreate) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	v, err := s.Store.Create(ctx, rec)
	if err == nil {
		return v, nil
	}
	return blindUpdate(s).Update(ctx, "", rec)
}

func (s alwaysOld) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	snap, err := s.Store.Get(ctx, token)
	snap.UpdatedAt = snap.UpdatedAt.Add(-time.Hour)
	return snap, err
}

func (s neverOld) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	snap, err := s.Store.Get(ctx, token)
	snap.UpdatedAt = snap.ReadAt
	return snap, err
}

// TestModelFindsViolations shows that the check can fail: over a store that breaks its contract it must find a schedule.
func TestModelFindsViolations(t *testing.T) {
	for name, spoil := range map[string]func(guard.Store) guard.Store{
		"update ignores the version": func(s guard.Store) guard.Store { return blindUpdate{s} },
		"create replaces":            func(s guard.Store) guard.Store { return blindCreate{s} },
		"leases run out at once":     func(s guard.Store) guard.Store { return alwaysOld{s} },
		"leases never run out":       func(s guard.Store) guard.Store { return neverOld{s} },
	} {
		t.Run(name, func(t *testing.T) {
			r := explore(t, scenario{sink: plain, actors: 2, crashes: 1, lapses: 1, stalls: true, spoil: spoil})
			if r.violation == nil {
				t.Fatalf("%s", r)
			}
			if len(r.schedule) > 8 {
				t.Errorf("the schedule has %d actions; it should be a shortest one", len(r.schedule))
			}
			t.Log(r)
		})
	}
}
