package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

var errTimedOut = errors.New("request timed out")

// send carries out one request and returns {code, headers, body}, or raises: HttpError for a status outside 2xx,
// TimeoutError, ConnectionFailedError where nothing can have been sent, ConnectionError where it may have been.
func (f *frame) send(r *request) (any, error) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	ctx, flight := withInflight(ctx, f.x.sched)
	defer flight.end()
	defer f.expire(r.timeout, func() { cancel(errTimedOut); flight.wakeAll() })()
	wire := &trace{}
	req, err := r.build(httptrace.WithClientTrace(ctx, wire.hooks()))
	if err != nil {
		return nil, err
	}
	if err := f.authorize(ctx, req, r.auth); err != nil {
		return nil, err
	}
	res, err := f.client().Do(req)
	if err != nil {
		return nil, wire.classify(ctx, err)
	}
	defer res.Body.Close()
	body, err := readAll(res.Body, f.x.cfg.Limits.Response)
	if err != nil {
		wire.connected.Store(true)
		return nil, wire.classify(ctx, err)
	}
	return answer(res, body)
}

// expire calls f after the time-out. On a virtual clock time stands still during a call, so there the wall clock ends a
// call as well that nobody answers.
func (f *frame) expire(timeout time.Duration, do func()) (stop func()) {
	stopClock := f.x.cfg.Clock.AfterFunc(timeout, do)
	stopWall := func() bool { return false }
	if _, virtual := f.x.sched.(*Virtual); virtual {
		stopWall = time.AfterFunc(timeout, do).Stop
	}
	return func() { stopClock(); stopWall() }
}

func (f *frame) client() *http.Client {
	limit := f.x.cfg.Semantics.MaxRedirects
	return &http.Client{
		Transport: once{f.x.cfg.HTTP},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > limit {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// once keeps the transport from sending a request a second time by itself, as Go's does on a connection that broke when
// the request carries an Idempotency-Key: the service never does, and the workflow's retries are what is on trial.
type once struct{ base http.RoundTripper }

func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.GetBody = nil
	if r.Body == nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		r.Body = io.NopCloser(emptyBody{})
	}
	return o.base.RoundTrip(r)
}

type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }

// trace learns how far a request came.
type trace struct{ dialing, connected atomic.Bool }

func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { t.dialing.Store(true); t.connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { t.connected.Store(true) },
	}
}

// classify tells errors apart by whether the callee can have seen the request. In doubt it may have.
func (t *trace) classify(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errTimedOut) {
		return faultf(TimeoutError, "request timed out")
	}
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var dial *net.OpError
	var dns *net.DNSError
	failed := t.dialing.Load() && !t.connected.Load()
	failed = failed || errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &dns)
	if failed {
		return faultf(ConnectionFailed, "connection failed: %v", cause(err))
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return faultf(TimeoutError, "request timed out")
	}
	return faultf(ConnectionError, "connection broken: %v", cause(err))
}

// cause is the innermost error: the outer ones repeat the URL, whose query may be secret.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	if limit <= 0 {
		return io.ReadAll(r)
	}
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(body)) > limit {
		return nil, faultf(ResourceLimitError, "HTTP response exceeds %d bytes", limit)
	}
	return body, err
}
