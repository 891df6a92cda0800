package tokens

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

type parentKey struct{}

func inStep(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, parentKey{}, token)
}

func parentOf(ctx context.Context) string {
	s, _ := ctx.Value(parentKey{}).(string)
	return s
}

// callee records the tokens and bodies it is sent.
type callee struct {
	*httptest.Server
	mu     sync.Mutex
	tokens []string
	bodies []string
}

func newCallee(t *testing.T) *callee {
	c := &callee{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tokens = append(c.tokens, strings.Join(r.Header.Values(Header), "|"))
		c.bodies = append(c.bodies, string(body))
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// sent returns the tokens and bodies so far.
func (c *callee) sent() (tokens, bodies []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.tokens...), append([]string(nil), c.bodies...)
}

// R21: which requests get which token.
func TestTransport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method, parent string
		call                 []string // name and keys; nil: none
		header               http.Header
		derive               bool
		want                 string // "derived": any derived one
		wantErr              string
	}{
		{name: "named", method: "POST", parent: "run/charge", call: []string{"card"}, want: "run/charge//card"},
		{name: "named in a loop", method: "PUT", parent: "run/ship", call: []string{"post", "sku 1"}, want: "run/ship//post/sku%201"},
		{name: "of a run", method: "DELETE", parent: "run", call: []string{"clear"}, want: "run/clear"},
		{name: "PATCH", method: "PATCH", parent: "run/a", call: []string{"b"}, want: "run/a//b"},
		{name: "unknown method", method: "PURGE", parent: "run/a", call: []string{"b"}, want: "run/a//b"},
		{name: "GET", method: "GET", parent: "run/a", call: []string{"b"}},
		{name: "HEAD", method: "HEAD", parent: "run/a", derive: true},
		{name: "OPTIONS", method: "OPTIONS", parent: "run/a"},
		{name: "outside a step", method: "POST", call: []string{"b"}},
		{name: "explicit", method: "POST", parent: "run/a", call: []string{"b"}, header: http.Header{Header: {"mine"}}, want: "mine"},
		{name: "explicit, lower case", method: "POST", parent: "run/a", header: http.Header{"idempotency-key": {"mine"}}, want: "mine"},
		{name: "unnamed", method: "POST", parent: "run/a", wantErr: ErrUnnamed.Error()},
		{name: "derived", method: "POST", parent: "run/a", derive: true, want: "derived"},
		{name: "named, though it may be derived", method: "POST", parent: "run/a", derive: true, call: []string{"b"}, want: "run/a//b"},
		{name: "bad name", method: "POST", parent: "run/a", call: []string{"b/c"}, wantErr: "step name"},
		{name: "empty key", method: "POST", parent: "run/a", call: []string{"b", ""}, wantErr: "key 1 is empty"},
		{name: "bad parent", method: "POST", parent: "run a", call: []string{"b"}, wantErr: "visible ASCII"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCallee(t)
			ctx := inStep(t.Context(), tt.parent)
			if tt.call != nil {
				ctx = WithCall(ctx, tt.call[0], tt.call[1:]...)
			}
			req, err := http.NewRequestWithContext(ctx, tt.method, c.URL+"/x?y=1", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tt.header {
				req.Header[k] = v
			}
			before := len(req.Header)
			resp, err := (&Transport{Token: parentOf, Derive: tt.derive}).RoundTrip(req)
			if tt.wantErr != "" {
				sent, _ := c.sent()
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || len(sent) > 0 {
					t.Fatalf("error %v after %d requests, want %q before the first", err, len(sent), tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if len(req.Header) != before {
				t.Errorf("the caller's request was changed: %v", req.Header)
			}
			tokens, bodies := c.sent()
			got := tokens[0]
			if tt.want == "derived" && strings.HasPrefix(got, "run/a//derived/") {
				got = "derived"
			}
			if got != tt.want || bodies[0] != "body" && tt.method != "HEAD" {
				t.Errorf("token %q, body %q, want %q", got, bodies[0], tt.want)
			}
		})
	}
}

// R21: a derived name is the same for the same request and another for another.
func TestDerivedNames(t *testing.T) {
	t.Parallel()
	c := newCallee(t)
	client := &http.Client{Transport: &Transport{Token: parentOf, Derive: true}}
	send := func(method, path, body string) string {
		t.Helper()
		// A reader without GetBody: what is read of it must be put back.
		req, err := http.NewRequestWithContext(inStep(t.Context(), "run/a"), method, c.URL+path, io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		tokens, bodies := c.sent()
		if got := bodies[len(bodies)-1]; got != body {
			t.Errorf("body %q arrived as %q", body, got)
		}
		return tokens[len(tokens)-1]
	}
	first := send("POST", "/x", "1")
	if again := send("POST", "/x", "1"); again != first {
		t.Errorf("the same request: %s, then %s", first, again)
	}
	for _, other := range [][3]string{{"PUT", "/x", "1"}, {"POST", "/y", "1"}, {"POST", "/x?q", "1"}, {"POST", "/x", "2"}, {"POST", "/x", ""}} {
		if got := send(other[0], other[1], other[2]); got == first {
			t.Errorf("%q has the token of another request", other)
		}
	}
}

// R21: a redirect that repeats the request keeps its token; a client that knows no step sends none.
func TestTransportThroughClient(t *testing.T) {
	t.Parallel()
	c := newCallee(t)
	ctx := WithCall(inStep(t.Context(), "run/a"), "b")
	for _, tr := range []*Transport{{Token: parentOf}, {}} {
		req, err := http.NewRequestWithContext(ctx, "POST", c.URL+"/moved", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	tokens, _ := c.sent()
	if got, want := strings.Join(tokens, " "), "run/a//b run/a//b  "; got != want {
		t.Errorf("tokens %q, want %q", got, want)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

// R21: a request that is refused is not sent, and its body is closed as RoundTripper demands.
func TestTransportRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		body io.Reader
		tr   Transport
		want error
	}{
		{"unnamed", strings.NewReader("x"), Transport{}, ErrUnnamed},
		{"too long to derive", io.LimitReader(zeros{}, maxDerived+1), Transport{Derive: true}, ErrUnnamed},
		{"torn body", failing{}, Transport{Derive: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := &closing{Reader: tt.body}
			req, err := http.NewRequestWithContext(inStep(t.Context(), "run/a"), "POST", "http://user:secret@127.0.0.1:0/x", body)
			if err != nil {
				t.Fatal(err)
			}
			tt.tr.Token = parentOf
			tt.tr.Base = roundTripper(func(*http.Request) (*http.Response, error) {
				t.Error("the request was sent")
				return nil, errors.New("sent")
			})
			_, err = tt.tr.RoundTrip(req)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !body.closed {
				t.Errorf("error %v, closed %t, want %v", err, body.closed, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
