package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/runonce/workflows/syntax"
)

// runReal runs a workflow over sockets on the wall clock.
func runReal(t *testing.T, ctx context.Context, yaml string, cfg Config) (json.RawMessage, error) {
	t.Helper()
	w, err := syntax.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return Run(ctx, w, nil, cfg)
}

func errorTags(err error) []string {
	var e *Error
	if errors.As(err, &e) {
		return e.Tags
	}
	return nil
}

func TestRefusedAndBrokenAreToldApart(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if hits.Add(1) == 1 {
			return // the connection is reused, and then dropped: Go's transport must not send again by itself
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	l.Close()

	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := Config{HTTP: transport}
	call := func(url string) error {
		_, err := runReal(t, t.Context(), `
- go:
    call: http.post
    args:
      url: `+url+`
      headers: {Idempotency-Key: token}
`, cfg)
		return err
	}
	if err := call("http://" + dead); !strings.Contains(strings.Join(errorTags(err), ","), ConnectionFailed) {
		t.Errorf("refused: got %v, want a %s", err, ConnectionFailed)
	}
	if err := call(server.URL); err != nil {
		t.Errorf("first call: %v", err)
	}
	if err := call(server.URL); strings.Join(errorTags(err), ",") != ConnectionError {
		t.Errorf("broken: got %v, want a %s", err, ConnectionError)
	}
	if got := hits.Load(); got != 2 {
		t.Errorf("the server was asked %d times, want 2", got)
	}
}

func TestCancelReachesTheCall(t *testing.T) {
	t.Parallel()
	arrived, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := runReal(t, ctx, `
- go:
    try:
      call: http.get
      args: {url: `+server.URL+`}
    except:
      as: e
      steps:
        - swallow:
            return: swallowed
`, Config{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the server never saw the cancel")
	}
}

func TestTimeoutOnTheWallClock(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	for name, cfg := range map[string]Config{"wall": {}, "virtual": {Clock: NewVirtual(epoch)}} {
		_, err := runReal(t, t.Context(), `
- go:
    call: http.get
    args: {url: `+server.URL+`, timeout: 0.05}
`, cfg)
		if len(errorTags(err)) == 0 || errorTags(err)[0] != TimeoutError {
			t.Errorf("%s: got %v, want a %s", name, err, TimeoutError)
		}
	}
}

type tokens struct{ fail bool }

func (s tokens) IDToken(_ context.Context, audience string) (string, error) {
	if s.fail {
		return "", errors.New("no metadata server")
	}
	return "id:" + audience, nil
}

func (s tokens) AccessToken(_ context.Context, scopes []string) (string, error) {
	return "access:" + strings.Join(scopes, "+"), nil
}

func TestAuthBlocks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, auth, want string }{
		{"audience is the URL", `{type: OIDC}`, `"Bearer id:http://base.test/echo"`},
		{"audience given", `{type: OIDC, audience: me}`, `"Bearer id:me"`},
		{"scopes", `{type: OAuth2, scopes: [a, b]}`, `"Bearer access:a+b"`},
		{"scope as text", `{type: OAuth2, scope: "a,b"}`, `"Bearer access:a+b"`},
		{"default scope", `{type: OAuth2}`, `"Bearer access:https://www.googleapis.com/auth/cloud-platform"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := runCase(t, `
- go:
    call: http.get
    args: {url: "BASE/echo", query: {a: 1}, auth: `+tt.auth+`}
    result: r
- done:
    return: ${r.body.auth}
`, "", func(c *Config, _ *callee) { c.Auth = tokens{} })
			if string(o.result) != tt.want {
				t.Errorf("got %s, error %v, want %s", o.result, o.err, tt.want)
			}
		})
	}
	o := runCase(t, "- go:\n    call: http.get\n    args: {url: BASE/ok, auth: {type: OIDC}}\n", "", func(c *Config, _ *callee) { c.Auth = tokens{fail: true} })
	if len(o.tags()) == 0 || o.tags()[0] != AuthError || o.hits["/ok"] != 0 {
		t.Errorf("got %v and %d calls, want an %s and none", o.err, o.hits["/ok"], AuthError)
	}
}
