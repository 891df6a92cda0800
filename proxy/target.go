package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// call is one start that is to be made: what a record keeps, so that the run can be taken up without another delivery.
type call struct {
	// target is the full resource name; runID the root token.
	target string
	runID  string
	// request is the API's own request, run id in it, as JSON.
	request json.RawMessage
	// since is when the run was first accepted: nothing that was started earlier can be of this run.
	since time.Time
}

// class says what an error of a start means (facts of each API in its target file).
type class int

const (
	// unknown: it may have started. Look before anything else.
	unknown class = iota
	// permanent: certainly not started, and the same again would fail again.
	permanent
	// retryable: certainly not started, and worth another try later.
	retryable
)

// startError is an error of a call to a target's API.
type startError struct {
	api   string
	class class
	code  codes.Code
	err   error
}

func (e *startError) Error() string { return fmt.Sprintf("%s: %s: %v", e.api, e.code, e.err) }
func (e *startError) Unwrap() error { return e.err }

// classify is the table of answers to a start. Only what the service says before it takes a request is certain; anything that a
// broken connection or a busy back end can cause is not.
func classify(api string, err error) *startError {
	e := &startError{api: api, class: unknown, code: codes.Unknown, err: err}
	if s, ok := status.FromError(err); ok {
		e.code = s.Code()
	} else if errors.Is(err, context.DeadlineExceeded) {
		e.code = codes.DeadlineExceeded
	} else if errors.Is(err, context.Canceled) {
		e.code = codes.Canceled
	}
	switch e.code {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented:
		e.class = permanent
	case codes.ResourceExhausted:
		e.class = retryable
	}
	return e
}

// lookupFailed is an error of a look-up: whether the run started stays unknown, whatever the code.
func lookupFailed(api string, err error) *startError {
	e := classify(api, err)
	e.class = unknown
	return e
}
