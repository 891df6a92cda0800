package guard

import "time"

// verdict is what a caller may do about the record that it found.
type verdict int

const (
	goOn           verdict = iota // the claim is mine; an earlier answer was lost
	replay                        // finished: completed, failed or uncertain
	mismatch                      // the token was used for another request
	busy                          // another attempt's lease is alive
	takeOver                      // released
	takeOverRanOut                // the lease ran out while the attempt was at work
	newer                         // written by a newer version
)

// decide judges a record by the store's stamps alone: no client clock takes part. left is how long the other attempt's
// lease still lasts, where it is busy; zero: nobody knows.
func decide(s Snapshot, r Request, attemptID string) (v verdict, left time.Duration) {
	rec := s.Record
	switch {
	case rec.Schema > schema:
		return newer, 0
	case rec.AttemptID == attemptID && rec.Status == InProgress:
		return goOn, 0
	case rec.Fingerprint != "" && r.Fingerprint != "" && rec.Fingerprint != r.Fingerprint:
		return mismatch, 0
	}
	switch rec.Status {
	case Completed, Failed, Uncertain:
		return replay, 0
	case InProgress:
	default: // a status of somebody else's: as unreadable as a newer schema
		return newer, 0
	}
	var end time.Time
	switch {
	case rec.Lease != nil && *rec.Lease <= 0:
		return takeOver, 0
	case rec.Lease != nil:
		end = s.UpdatedAt.Add(*rec.Lease)
	case !rec.LeaseExpires.IsZero():
		end = rec.LeaseExpires // Google's sample keeps no other; judged by the store's clock all the same
	default:
		return busy, 0 // no lease at all: locked, never free (B3)
	}
	if s.ReadAt.Before(end) {
		return busy, end.Sub(s.ReadAt)
	}
	return takeOverRanOut, 0
}
