package guard

import "time"

// verdict is what a caller may do about a record that exists.
type verdict int

const (
	refuseSchema   verdict = iota // a newer program's record
	refuseMismatch                // the token belongs to another request
	mine                          // this very attempt wrote it; an earlier answer was lost
	replay                        // completed or failed
	refuseUnsure                  // uncertain, until an operator settles it
	wait                          // somebody's claim is alive
	takeOver                      // released, or its lease ran out
)

func (v verdict) String() string {
	return [...]string{"newer schema", "mismatch", "mine", "replay", "uncertain", "in progress", "take over"}[v]
}

// decide judges a record for the attempt id of a request with that fingerprint. Time is the store's alone: both of the
// snapshot's stamps are its own, so no two clocks are compared (only a record without a lease falls back on the time that
// its writer's clock gave it). left is how long a live claim still lasts, above zero; fallback where nobody can tell.
func decide(s Snapshot, id, fingerprint string, fallback time.Duration) (v verdict, left time.Duration) {
	r := &s.Record
	switch {
	case r.Schema > schema:
		return refuseSchema, 0
	case r.Fingerprint != "" && fingerprint != "" && r.Fingerprint != fingerprint:
		return refuseMismatch, 0
	case r.Status == Completed, r.Status == Failed:
		return settledVerdict(r, id), 0
	case r.Status == Uncertain:
		return refuseUnsure, 0
	case r.Status != InProgress: // a word from elsewhere: locked, never free
		return wait, fallback
	}
	if left, alive := remaining(s, fallback); alive {
		if r.AttemptID == id {
			return mine, left
		}
		return wait, left
	}
	return takeOver, 0
}

// settledVerdict: an attempt that finds its own finish has done the work itself, so that for it nothing is a replay.
func settledVerdict(r *Record, id string) verdict {
	if r.AttemptID == id {
		return mine
	}
	return replay
}

// remaining is how long the claim still lasts by the store's clock.
func remaining(s Snapshot, fallback time.Duration) (left time.Duration, alive bool) {
	switch r := &s.Record; {
	case r.Lease != nil:
		// A read that seems older than the write it saw is of the same instant.
		left = min(*r.Lease, *r.Lease-s.ReadAt.Sub(s.UpdatedAt))
	case !r.LeaseExpires.IsZero():
		left = r.LeaseExpires.Sub(s.ReadAt)
	default:
		left = fallback // no word about its end: locked
	}
	return left, left > 0
}

// released reports whether the last attempt gave its claim up and said so, as against one whose lease ran out.
func (r *Record) released() bool { return r.Lease != nil && *r.Lease == 0 }
