package guard

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What a guarded call returns when the effect did not run, or did not run to a recorded end. Test with errors.Is.
var (
	// ErrInProgress: another attempt holds the claim. The error is an *InProgressError; come back after its RetryAfter.
	ErrInProgress = errors.New("another attempt is in progress")
	// ErrMismatch: the token was used with another fingerprint. The caller must not retry with this token.
	ErrMismatch = errors.New("token was used for another request")
	// ErrLost: this attempt no longer owns the step; another does, or will. It changed nothing in the record.
	ErrLost = errors.New("claim lost")
	// ErrUncertain: nobody can tell whether the effect happened, and the step must not be repeated blindly.
	// It stays so until an operator settles it, see Guard.Settle.
	ErrUncertain = errors.New("outcome uncertain")
	// ErrUnrecorded: the effect happened, but the store did not confirm its outcome. The next attempt asks Find, does the
	// effect again, or ends as ErrUncertain, as the step says.
	ErrUnrecorded = errors.New("effect done, outcome not recorded")
	// ErrFailed: the step failed for good, now or in an earlier attempt. The error is a *FailedError.
	ErrFailed = errors.New("step failed for good")
	// ErrNoResult: the step is done and will not run again, but its result was too large to keep, or no JSON.
	ErrNoResult = errors.New("step is done, its result was not kept")
	// ErrNewerSchema: a newer version of this package wrote the record. It is neither read nor changed.
	ErrNewerSchema = errors.New("record has a newer schema")
	// ErrBadToken: the token is missing, blank, longer than 255 bytes or not printable ASCII.
	ErrBadToken = errors.New("bad token")
)

// InProgressError is ErrInProgress with what is known of the attempt that holds the claim.
type InProgressError struct {
	// RetryAfter is what is left of its lease, above zero. It may renew, or end sooner.
	RetryAfter time.Duration
	AttemptID  string
	Fence      int64
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("%v (attempt %d, %v of its lease left)", ErrInProgress, e.Fence, e.RetryAfter)
}

// Is makes errors.Is(err, ErrInProgress) hold.
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// FailedError is ErrFailed with the recorded reason: the same for the attempt that failed and for every duplicate.
type FailedError struct {
	Code    string // for programs; may be empty
	Message string // for people; it is stored, so no secrets
	cause   error  // what the effect returned; only the attempt that failed has it
}

func (e *FailedError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%v: %s", ErrFailed, e.Message)
	}
	return fmt.Sprintf("%v: %s: %s", ErrFailed, e.Code, e.Message)
}

// Is makes errors.Is(err, ErrFailed) hold.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

func (e *FailedError) Unwrap() error { return e.cause }

type marked struct {
	error
	permanent bool // else: certainly not applied
}

func (m *marked) Unwrap() error { return m.error }

// Permanent marks an error of an effect as final: the step is recorded as failed, and every duplicate gets a FailedError
// with err's text, and with its Code where err is or wraps a *FailedError. A *FailedError is permanent without it.
func Permanent(err error) error { return mark(err, true) }

// NotApplied marks an error as certainly raised before the effect, so that the claim is given up even under Never.
func NotApplied(err error) error { return mark(err, false) }

func mark(err error, permanent bool) error {
	if err == nil {
		return nil
	}
	return &marked{err, permanent}
}

// class is what an error of an effect means for the record.
type class int

const (
	unknown class = iota
	permanent
	notApplied
)

func classify(err error) class {
	var m *marked
	switch {
	case errors.As(err, &m) && m.permanent:
		return permanent
	case m != nil:
		return notApplied
	case errors.Is(err, ErrFailed):
		return permanent
	}
	return unknown
}

const maxMessage = 2048 // bytes of an error's text that a record keeps

func failureOf(err error) *Failure {
	var f *FailedError
	if errors.As(err, &f) {
		return &Failure{Code: clip(f.Code), Message: clip(f.Message)}
	}
	return &Failure{Message: clip(err.Error())}
}

// clip bounds a text that is stored, and makes it valid UTF-8, which stores insist on.
func clip(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage]
	}
	return strings.ToValidUTF8(s, "")
}

// failed is what the caller gets for a failed record. cause is nil on a replay.
func (f *Failure) failed(cause error) *FailedError {
	if f == nil {
		return &FailedError{Message: "no reason was recorded", cause: cause}
	}
	return &FailedError{Code: f.Code, Message: f.Message, cause: cause}
}
