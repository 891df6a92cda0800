package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrUnnamed: a state-changing request of a guarded step has no name, see Transport.
var ErrUnnamed = errors.New("a state-changing request of a guarded step has no name: call tokens.WithCall(ctx, name), or set the header " + Header)

// maxDerived is the longest body that Transport reads to derive a name from it.
const maxDerived = 1 << 20

// Transport is an http.RoundTripper that gives every state-changing request of a guarded step a token of its own, made from
// the step's, so that whoever is called can deduplicate too (R21). It never touches GET, HEAD, OPTIONS and TRACE, a request
// outside a step, or one that has the header already. It is safe for concurrent use.
//
//	client := &http.Client{Transport: &tokens.Transport{Token: guard.TokenFrom}}
//	req, err := http.NewRequestWithContext(tokens.WithCall(ctx, "charge"), http.MethodPost, url, body)
//
// The name comes from WithCall. A request that has none fails with ErrUnnamed before it is sent, since nothing else about it
// is a good name: two equal requests may be one, sent again after a lost answer, or two that are meant, in a loop; and a
// body with a time in it differs from attempt to attempt. Derive accepts that where it is known to be harmless.
//
// The transport of net/http takes a request with the header for one that may be repeated: where a connection that was kept
// open turns out to be broken, it sends it again by itself, under the same token.
type Transport struct {
	// Base sends the request. nil: http.DefaultTransport.
	Base http.RoundTripper
	// Token returns the token of the step that ctx belongs to, "" outside a step; guard.TokenFrom does. nil: never a step.
	Token func(ctx context.Context) string
	// Derive names a request without a name by its method, host, path, query and body. Set it only where (1) a step that
	// sends the same request twice means it once, since the second gets the first one's token and is not done again, and
	// (2) a later attempt of the step sends the same bytes, since others get another token and are done again. A body
	// beyond 1 MiB is refused.
	Derive bool
}

type callKey struct{}

type call struct {
	name string
	key  []string
}

// WithCall names the state-changing request that is made with the returned context: a name for each call of a step, and the
// item as key where the call is in a loop, as in Step. A client that repeats the request after an error does so under the same
// name. Two calls under one name and key are one effect to a callee that deduplicates.
func WithCall(ctx context.Context, name string, key ...string) context.Context {
	return context.WithValue(ctx, callKey{}, call{name: name, key: append([]string(nil), key...)})
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if safe(req.Method) || t.Token == nil || has(req.Header, Header) {
		return base.RoundTrip(req)
	}
	parent := t.Token(req.Context())
	if parent == "" {
		return base.RoundTrip(req)
	}
	out, err := t.tokened(req, parent)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Redacted(), err)
	}
	return base.RoundTrip(out)
}

// tokened returns the request with its token. The one that was given stays as it is, as RoundTripper demands.
func (t *Transport) tokened(req *http.Request, parent string) (*http.Request, error) {
	out := req.Clone(req.Context())
	c, named := req.Context().Value(callKey{}).(call)
	if !named {
		if !t.Derive {
			return nil, ErrUnnamed
		}
		sum, err := deriveFrom(out)
		if err != nil {
			return nil, err
		}
		c = call{name: "derived", key: []string{sum}}
	}
	token, err := Step(parent, c.name, c.key...)
	if err != nil {
		return nil, err
	}
	if out.Header == nil {
		out.Header = http.Header{}
	}
	SetHeader(out.Header, token)
	return out, nil
}

// deriveFrom reads the body of req, puts back what it read and returns the fingerprint of the request.
func deriveFrom(req *http.Request) (string, error) {
	var body []byte
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxDerived+1))
		if err != nil {
			return "", fmt.Errorf("read the body to derive a name: %w", err)
		}
		if len(body) > maxDerived {
			return "", fmt.Errorf("derive a name from a body beyond %d bytes: %w", maxDerived, ErrUnnamed)
		}
		req.Body = struct {
			io.Reader
			io.Closer
		}{bytes.NewReader(body), req.Body}
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	return Fingerprint([]byte(req.Method), []byte(strings.ToLower(host)), []byte(req.URL.RequestURI()), body), nil
}

func safe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func has(h http.Header, name string) bool {
	for k := range h {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}
