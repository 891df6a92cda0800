package fault

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
)

// Error is what a caller of Transport gets when a request was refused or its answer lost.
type Error struct {
	Kind    Kind
	Method  string // "POST /path"
	Message string
}

// Error says which call was hit and how.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Method, e.Message) }

// Transport is the plan as an http.RoundTripper over base (nil: http.DefaultTransport): the faults of the network between a client
// and its server. Refuse sends nothing, Lose sends and throws the answer away; both return an *Error, or an answer when the rule has a Status.
func (p *Plan) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{plan: p, base: base}
}

type transport struct {
	plan *Plan
	base http.RoundTripper
}

// RoundTrip carries one request, with the fault that the plan has for it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	method := req.Method + " " + req.URL.Path
	call, rule := t.plan.arrive(method)
	resp, err := t.carry(req, rule, method)
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	t.plan.leave(call, codes.OK, status)
	return resp, err
}

func (t *transport) carry(req *http.Request, r Rule, method string) (*http.Response, error) {
	if r.Kind == None {
		return t.base.RoundTrip(req)
	}
	body, err := drain(req.Body)
	if err != nil {
		return nil, err
	}
	switch r.Kind {
	case Refuse, Abort:
		return r.instead(req, method)
	case Duplicate:
		first, err := t.send(req, body)
		if err == nil {
			_, _ = drain(first.Body)
		}
	}
	if err := r.before(req.Context()); err != nil {
		return nil, err
	}
	resp, err := t.send(req, body)
	if r.Kind == Lose {
		if err == nil {
			_, _ = drain(resp.Body) // executed to its end before it is lost
		}
		return r.instead(req, method)
	}
	if werr := r.after(req.Context()); werr != nil {
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, werr
	}
	return resp, err
}

func (t *transport) send(req *http.Request, body []byte) (*http.Response, error) {
	again := req.Clone(req.Context())
	if body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
	}
	return t.base.RoundTrip(again)
}

// instead is what the caller gets in place of the server's answer.
func (r Rule) instead(req *http.Request, method string) (*http.Response, error) {
	if r.Status == 0 && r.Kind != Abort {
		return nil, &Error{Kind: r.Kind, Method: method, Message: r.message()}
	}
	return &http.Response{
		StatusCode: r.status(), Status: fmt.Sprintf("%d %s", r.status(), http.StatusText(r.status())),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:    io.NopCloser(bytes.NewReader([]byte(r.message() + "\n"))),
		Request: req, ContentLength: int64(len(r.message()) + 1),
	}, nil
}

func drain(body io.ReadCloser) ([]byte, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	b, err := io.ReadAll(body)
	return b, joinClose(err, body)
}

func joinClose(err error, c io.Closer) error {
	if cerr := c.Close(); err == nil {
		return cerr
	}
	return err
}
