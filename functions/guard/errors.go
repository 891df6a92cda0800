package guard

import (
	"errors"
	"fmt"
	"time"
)

// What Do, Write, Tx and Get answer, for errors.Is. Each is wrapped with what was tried.
var (
	// ErrInProgress: another attempt holds the claim; come back. Always an *InProgressError.
	ErrInProgress = errors.New("in progress")
	// ErrMismatch: the token was used for another request. Do not retry; find out who made the token.
	ErrMismatch = errors.New("token was used for another request")
	// ErrLost: this attempt's claim ran out or was taken over. Whatever it did not write will not be written.
	ErrLost = errors.New("claim was lost")
	// ErrUncertain: nobody can tell whether the effect happened; an operator settles it. Do not retry.
	ErrUncertain = errors.New("outcome is uncertain")
	// ErrFailed: the step failed for good. Always a *FailedError, fresh or replayed.
	ErrFailed = errors.New("step failed")
	// ErrUnrecorded: the effect happened, and the store stayed away before that could be recorded. Retry with the same
	// token: the next attempt waits for the lease and then asks Find.
	ErrUnrecorded = errors.New("effect happened but is not recorded")
	// ErrNoResult: the step is done and will not be repeated, but its result was beyond the limit, or no JSON, and was not
	// kept. Do not retry.
	ErrNoResult = errors.New("step is done, its result was not kept")
	// ErrNewerSchema: the record was written by a newer version of this package. Deploy that one.
	ErrNewerSchema = errors.New("record is of a newer schema")
	// ErrBadToken: the token is empty, too long or not printable ASCII.
	ErrBadToken = errors.New("bad token")
)

// InProgressError says how long the other attempt's lease still lasts. It is ErrInProgress.
type InProgressError struct {
	RetryAfter time.Duration // more than zero, at most the lease
	AttemptID  string        // of the attempt at work
	Fence      int64
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("%v: attempt %d is at work, its lease lasts %s more", ErrInProgress, e.Fence, e.RetryAfter.Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrInProgress) hold.
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// FailedError is a failure for good. An effect returns it (or Permanent) to have it recorded; every duplicate gets it
// again. It is ErrFailed.
type FailedError struct {
	Code    string // for programs; may be empty
	Message string // for people; it is stored, so no secrets
	cause   error
}

func (e *FailedError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%v: %s", ErrFailed, e.Message)
	}
	return fmt.Sprintf("%v: %s: %s", ErrFailed, e.Code, e.Message)
}

// Is makes errors.Is(err, ErrFailed) hold.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// Unwrap returns the cause; nil after a replay, since only code and message are stored.
func (e *FailedError) Unwrap() error { return e.cause }

// Permanent marks err as a failure for good: it is recorded and replayed, and the effect never runs again. Its text is
// stored and shown to later callers. A *FailedError inside err keeps its code. nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	var f *FailedError
	if errors.As(err, &f) {
		return err
	}
	return &FailedError{Message: err.Error(), cause: err}
}

// NotApplied marks err as having happened before the effect, for certain: the claim is released even under Repeat: Never,
// and the next attempt may try again at once. nil stays nil.
func NotApplied(err error) error {
	if err == nil {
		return nil
	}
	return &notAppliedError{err}
}

type notAppliedError struct{ error }

func (e *notAppliedError) Unwrap() error { return e.error }

func notApplied(err error) bool {
	var n *notAppliedError
	return errors.As(err, &n)
}
