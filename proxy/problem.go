package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"example.com/runonce/functions/guard"
)

// problem is what a caller is told (RFC 9457) and, beside it, what only the log is told.
type problem struct {
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	Code       string        `json:"code"` // for programs: stable
	RunID      string        `json:"run_id,omitempty"`
	RetryAfter time.Duration `json:"-"`
	cause      error
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.Detail + ": " + p.cause.Error()
	}
	return p.Detail
}

func (p *problem) Unwrap() error { return p.cause }

func refuse(status int, code, format string, args ...any) *problem {
	return &problem{Status: status, Code: code, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...)}
}

func badRequest(code, format string, args ...any) *problem {
	return refuse(http.StatusBadRequest, code, format, args...)
}

func (p *problem) because(err error) *problem {
	p.cause = err
	return p
}

// problemOf turns any error of this package into what the caller is told. It never gives 503: App Engine retries that outside
// the job's own count (R6).
func problemOf(err error) *problem {
	var p *problem
	var busy *guard.InProgressError
	var start *startError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &busy):
		p = refuse(http.StatusConflict, "in-progress", "another delivery of this run is at work; come back when its lease has run out")
		p.RetryAfter = busy.RetryAfter
	case errors.Is(err, guard.ErrInProgress), errors.Is(err, guard.ErrLost):
		p = refuse(http.StatusConflict, "in-progress", "another attempt took over this run; come back later")
		p.RetryAfter = time.Second
	case errors.Is(err, guard.ErrMismatch):
		p = refuse(http.StatusUnprocessableEntity, "mismatch", "this run was claimed with another target or payload; send the same again, or use another key")
	case errors.Is(err, guard.ErrUnrecorded):
		p = refuse(http.StatusInternalServerError, "unrecorded", "the run was started, and the store stayed away before that was recorded; the next delivery looks before it starts")
	case errors.Is(err, guard.ErrNewerSchema):
		p = refuse(http.StatusInternalServerError, "newer-record", "the run's record was written by a newer version of the proxy; finish the roll-out")
	case errors.Is(err, guard.ErrUncertain):
		p = refuse(http.StatusInternalServerError, "uncertain", "nobody can tell whether this run was started; settle it with runs complete or runs rerun")
	case errors.As(err, &start):
		return start.problem()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p = refuse(http.StatusInternalServerError, "time-out", "the delivery took too long and was given up; the next one goes on from here")
	default:
		p = refuse(http.StatusInternalServerError, "store", "the store did not answer as it should, so nothing was started by this delivery; deliver it again")
	}
	return p.because(err)
}

// problem of a start that did not succeed. What the API said goes to the log, its code to the caller.
func (e *startError) problem() *problem {
	var p *problem
	switch {
	case e.class == unknown:
		p = refuse(http.StatusBadGateway, "start-unknown", "%s answered %s and nothing was found yet; whether the run started is unknown, and the next delivery looks before it starts", e.api, e.code)
	case e.code == codes.ResourceExhausted:
		p = refuse(http.StatusTooManyRequests, "quota", "%s is out of quota and started nothing; deliver again later", e.api)
		p.RetryAfter = 10 * time.Second
	case e.code == codes.NotFound:
		p = refuse(http.StatusNotFound, "target-not-found", "%s has no such target; deploy it, or correct the job's URL", e.api)
	case e.code == codes.InvalidArgument, e.code == codes.OutOfRange, e.code == codes.FailedPrecondition:
		p = badRequest("target-refused", "%s refused the request (%s) and started nothing; compare the body with the API's documentation", e.api, e.code)
	case e.code == codes.PermissionDenied, e.code == codes.Unauthenticated:
		p = refuse(http.StatusBadGateway, "target-denied", "%s refused the proxy's own service account (%s); grant it the role that starts and lists", e.api, e.code)
	default:
		p = refuse(http.StatusBadGateway, "target-failed", "%s answered %s and started nothing", e.api, e.code)
	}
	return p.because(e.err)
}

func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the caller has gone; there is nobody to tell
}
