package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/functions/guard"
)

// R6, R9, R12: what each error becomes, and never 503.
func TestProblemOf(t *testing.T) {
	t.Parallel()
	api := func(c codes.Code) error { return classify("Workflows", status.Error(c, "because")) }
	for name, tt := range map[string]struct {
		err    error
		status int
		code   string
		after  string
	}{
		"in progress":   {fmt.Errorf("claim: %w", &guard.InProgressError{RetryAfter: 1500 * time.Millisecond}), 409, "in-progress", "2"},
		"lost":          {guard.ErrLost, 409, "in-progress", "1"},
		"mismatch":      {guard.ErrMismatch, 422, "mismatch", ""},
		"uncertain":     {guard.ErrUncertain, 500, "uncertain", ""},
		"store":         {status.Error(codes.Unavailable, "away"), 500, "store", ""},
		"time-out":      {context.DeadlineExceeded, 500, "time-out", ""},
		"api invalid":   {api(codes.InvalidArgument), 400, "target-refused", ""},
		"api not found": {api(codes.NotFound), 404, "target-not-found", ""},
		"api denied":    {api(codes.PermissionDenied), 502, "target-denied", ""},
		"api quota":     {api(codes.ResourceExhausted), 429, "quota", "10"},
		"api away":      {api(codes.Unavailable), 502, "start-unknown", ""},
		"api aborted":   {api(codes.Aborted), 502, "start-unknown", ""},
		"api missing":   {api(codes.Unimplemented), 502, "target-failed", ""},
		"look-up":       {lookupFailed("Workflows", status.Error(codes.PermissionDenied, "no")), 502, "start-unknown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			p := problemOf(tt.err)
			p.write(w)
			if w.Code != tt.status || p.Code != tt.code || w.Header().Get("Retry-After") != tt.after {
				t.Errorf("got %d %s Retry-After %q, want %d %s %q", w.Code, p.Code, w.Header().Get("Retry-After"), tt.status, tt.code, tt.after)
			}
			if w.Code == http.StatusServiceUnavailable {
				t.Error("got 503")
			}
			if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("got content type %q", got)
			}
		})
	}
}

// R16: which answers to a start leave it open whether it happened.
func TestClassify(t *testing.T) {
	t.Parallel()
	want := map[codes.Code]class{
		codes.InvalidArgument: permanent, codes.NotFound: permanent, codes.PermissionDenied: permanent, codes.Unauthenticated: permanent,
		codes.FailedPrecondition: permanent, codes.OutOfRange: permanent, codes.Unimplemented: permanent, codes.ResourceExhausted: retryable,
	}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if got := classify("x", status.Error(c, "")).class; got != want[c] {
			t.Errorf("%s: got class %d, want %d", c, got, want[c])
		}
	}
	for _, err := range []error{errors.New("connection reset"), context.Canceled, context.DeadlineExceeded} {
		if got := classify("x", err).class; got != unknown {
			t.Errorf("%v: got class %d, want unknown", err, got)
		}
	}
}
