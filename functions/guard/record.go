package guard

import "time"

// Status is where a record stands. The words are those of Google's sample, and uncertain beside them.
type Status string

const (
	// InProgress: an attempt holds the claim, or held it until its lease ran out or it released.
	InProgress Status = "in_progress"
	// Completed: the effect happened; duplicates get the outcome.
	Completed Status = "completed"
	// Failed: the effect failed for good; duplicates get the same failure.
	Failed Status = "failed"
	// Uncertain: nobody can tell whether the effect happened, and the step must not be repeated blindly.
	Uncertain Status = "uncertain"
)

// schema is the version of the record that this package writes. A record of a newer one is refused, never misread.
const schema = 1

// Record is what the store keeps for one token. See doc.go for the field names in Firestore.
type Record struct {
	Token  string
	Status Status
	// AttemptID is the random name of the attempt that claimed last, Fence its number, from 1.
	AttemptID string
	Fence     int64
	// Lease is how long the claim lasts from the store's stamp of the last write. nil: the record was written by a
	// program that keeps no such field, and LeaseExpires decides. Zero: the claim was given up.
	Lease *time.Duration
	// LeaseExpires is for people and for Google's sample, which judges it by its own clock. ExpireAt is for TTL only.
	LeaseExpires time.Time
	ExpireAt     time.Time
	// Fingerprint is of the request that claimed first. Empty: nothing to compare.
	Fingerprint string
	// Input is what the first claimant asked to be kept, for whoever resumes the work without a delivery.
	Input []byte
	// Outcome is set once Status is Completed; Failure once it is Failed or Uncertain.
	Outcome *Outcome
	Failure *Failure
	// Attempts is the history, oldest first, the last MaxHistory of them.
	Attempts []AttemptEntry
	// Seq counts the writes of the present attempt, so that a renewal always changes the record.
	Seq int64
	// Schema is the record's version; 0 where the writer had none.
	Schema int64
}

// Outcome is what a duplicate gets. For Do it is the JSON of the result; for Handler the response.
type Outcome struct {
	Body    []byte
	Code    int                 // HTTP status; 0 for Do, Write and Tx
	Headers map[string][]string // canonical names, the kept ones only
	// Tombstone: the body was beyond the limit and was not kept. Done, never repeated.
	Tombstone bool
}

// Failure is why a step failed for good, or why nobody knows.
type Failure struct {
	Code    string // for programs; may be empty
	Message string // for people; no secrets
}

// AttemptEntry is one line of a record's history.
type AttemptEntry struct {
	AttemptID string
	Fence     int64
	ClaimedAt time.Time // local clock of the claimant
	EndedAt   time.Time // zero while it runs, or where nobody saw its end
	// How it ended: completed, failed, released, uncertain, taken_over, found, settled; empty while it runs.
	Ended string
	// Note says who settled it and why, or what the error was.
	Note string
}
