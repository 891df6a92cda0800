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

// started is what a target started for a run: an execution, a job's execution or a build.
type started struct {
	// name of the resource at the API; "" where the API did not say.
	name string
	// answer is the API's own resource as JSON, the same bytes each time.
	answer json.RawMessage
	state  state
	// at is when it started, by the API's clock; zero where it is queued.
	at time.Time
}

// state is how far a start has come.
type state int

const (
	// running: it has started and not ended; queued counts.
	running state = iota
	succeeded
	// failed: it ended in any other way.
	failed
)

// target is an API that starts runs.
type target interface {
	// prepare turns a delivery's body, or an event's data, into the API's own request, run id in it. Errors are the caller's.
	prepare(body []byte, event bool, runID string) (json.RawMessage, error)
	// start makes the call once. Its error is a *startError.
	start(ctx context.Context, c call) (started, error)
	// find looks for everything that was started for the run, oldest first. Nothing found is a hint, since no list is promised to show a
	// start at once; an error is never "nothing".
	find(ctx context.Context, c call) ([]started, error)
	// get reads one again.
	get(ctx context.Context, name string) (started, error)
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
