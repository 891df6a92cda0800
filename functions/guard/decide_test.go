package guard

import (
	"fmt"
	"testing"
	"time"
)

// TestDecide goes through every combination of what a record can say about itself and what its reader may be, and holds the
// verdict to rules that are stated one by one, in the order of their weight. B1, B2, B3, B10, B15, B16.
func TestDecide(t *testing.T) {
	t.Parallel()
	const lease, fallback = 30 * time.Second, 7 * time.Second
	updated := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dur := func(d time.Duration) *time.Duration { return &d }
	leases := map[string]*time.Duration{"none": nil, "zero": dur(0), "negative": dur(-1), "1ns": dur(1), "30s": dur(lease)}
	expiries := map[string]time.Time{"none": {}, "past": updated.Add(-time.Hour), "now": updated.Add(lease), "ahead": updated.Add(time.Hour)}
	ages := []time.Duration{-time.Minute, 0, 1, lease - 1, lease, lease + 1, 365 * 24 * time.Hour}
	n := 0
	for _, v := range []int64{0, schema, schema + 1} {
		for _, st := range []Status{InProgress, Completed, Failed, Uncertain, "", "a word from elsewhere"} {
			for ln, l := range leases {
				for en, e := range expiries {
					for _, age := range ages {
						for _, owner := range []string{"me", "other", ""} {
							for _, prints := range [][2]string{{"", ""}, {"a", "a"}, {"a", "b"}, {"", "b"}, {"a", ""}} {
								s := Snapshot{UpdatedAt: updated, ReadAt: updated.Add(age), Record: Record{
									Schema: v, Status: st, Lease: l, LeaseExpires: e, AttemptID: owner, Fingerprint: prints[0],
								}}
								got, left := decide(s, "me", prints[1], fallback)
								want, wantLeft := expected(s, prints[1], fallback)
								n++
								if got != want || left != wantLeft {
									t.Fatalf("v%d %q lease %s expires %s age %v owner %q fingerprints %q: got %v with %v left, want %v with %v",
										v, st, ln, en, age, owner, prints, got, left, want, wantLeft)
								}
								if got == wait && left <= 0 {
									t.Fatalf("in progress with %v left", left)
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations", n)
}

// expected states the rules another way than decide does: who may write at all, then who owns, then time.
func expected(s Snapshot, fingerprint string, fallback time.Duration) (verdict, time.Duration) {
	r := s.Record
	if r.Schema == schema+1 {
		return refuseSchema, 0
	}
	if r.Fingerprint == "a" && fingerprint == "b" {
		return refuseMismatch, 0
	}
	switch r.Status {
	case "", "a word from elsewhere":
		return wait, fallback
	case Uncertain:
		return refuseUnsure, 0
	case Completed, Failed:
		if r.AttemptID == "me" {
			return mine, 0
		}
		return replay, 0
	}
	var left time.Duration
	if r.Lease == nil && r.LeaseExpires.IsZero() {
		left = fallback
	} else if r.Lease == nil {
		left = r.LeaseExpires.Sub(s.ReadAt)
	} else if age := s.ReadAt.Sub(s.UpdatedAt); age < 0 {
		left = *r.Lease
	} else {
		left = *r.Lease - age
	}
	switch {
	case left <= 0:
		return takeOver, 0
	case r.AttemptID == "me":
		return mine, left
	}
	return wait, left
}

func TestVerdictNames(t *testing.T) {
	t.Parallel()
	for v := refuseSchema; v <= takeOver; v++ {
		if fmt.Sprint(v) == "" {
			t.Errorf("verdict %d has no name", int(v))
		}
	}
}
