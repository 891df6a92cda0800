package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/runonce/workflows/syntax"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// callee is a server that a workflow calls in-process, at http://base.test; http://dead.test refuses. It keeps count.
type callee struct {
	clock *Virtual
	mu    sync.Mutex
	hits  map[string]int
	extra map[string]http.HandlerFunc
}

func newCallee(clock *Virtual) *callee {
	return &callee{clock: clock, hits: map[string]int{}, extra: map[string]http.HandlerFunc{}}
}

func (c *callee) RoundTrip(r *http.Request) (res *http.Response, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.URL.Host == "dead.test" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	c.mu.Lock()
	c.hits[r.URL.Path]++
	n := c.hits[r.URL.Path]
	c.mu.Unlock()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() {
		if recover() != nil {
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	w := httptest.NewRecorder()
	if h := c.extra[r.URL.Path]; h != nil {
		h(w, r)
	} else {
		c.serve(w, r, n)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (c *callee) serve(w http.ResponseWriter, r *http.Request, n int) {
	answer := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(body)
	}
	var flaky int
	switch path := r.URL.Path; path {
	case "/ok":
		answer(200, map[string]any{"a": 1})
	case "/echo":
		body, _ := io.ReadAll(r.Body)
		answer(200, map[string]any{
			"method": r.Method, "x": r.Header.Get("X-Key"), "q": r.URL.RawQuery, "ct": r.Header.Get("Content-Type"),
			"ua": r.Header.Get("User-Agent"), "body": string(body), "auth": r.Header.Get("Authorization"),
		})
	case "/text":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "hello")
	case "/404":
		answer(404, map[string]any{"why": "nope"})
	case "/flaky500", "/flaky502", "/flaky503", "/flaky504", "/flaky429":
		fmt.Sscanf(path, "/flaky%d", &flaky)
		if n <= 2 {
			answer(flaky, map[string]any{"n": n})
			return
		}
		answer(200, map[string]any{"n": n})
	case "/202":
		if n <= 2 {
			answer(202, map[string]any{"n": n})
			return
		}
		answer(200, map[string]any{"n": n})
	case "/slow":
		if c.clock.Sleep(r.Context(), 2*time.Second) == nil {
			answer(200, map[string]any{})
		}
	case "/drop":
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	case "/redirect":
		http.Redirect(w, r, "/ok", http.StatusFound)
	case "/big":
		w.Write(make([]byte, 3<<20))
	default:
		answer(500, map[string]any{"path": path})
	}
}

// outcome is what one run came to.
type outcome struct {
	result  json.RawMessage
	err     error
	seconds float64
	hits    map[string]int
	logs    []LogEntry
	deploy  bool // refused before it ran
}

func (o outcome) tags() []string {
	var e *Error
	if errors.As(o.err, &e) {
		return e.Tags
	}
	return nil
}

// runCase runs a workflow on a virtual clock against a callee of its own.
func runCase(t *testing.T, yaml, arg string, change func(*Config, *callee)) outcome {
	t.Helper()
	clock := NewVirtual(epoch)
	server := newCallee(clock)
	yaml = strings.NewReplacer("BASE", "http://base.test", "DEAD", "http://dead.test").Replace(yaml)
	w, err := syntax.Parse("test.yaml", []byte(yaml))
	if err != nil {
		return outcome{err: err, deploy: true}
	}
	var o outcome
	cfg := Config{Clock: clock, HTTP: server, ExecutionID: "exec-1", Log: func(e LogEntry) { o.logs = append(o.logs, e) }}
	if change != nil {
		change(&cfg, server)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	o.result, o.err = Run(ctx, w, json.RawMessage(arg), cfg)
	o.seconds = clock.Now().Sub(epoch).Seconds()
	o.hits = server.hits
	return o
}

func sameJSON(t *testing.T, got, want []byte) bool {
	t.Helper()
	g, err := decodeJSON(got)
	if err != nil {
		t.Fatalf("result %q is no JSON: %v", got, err)
	}
	w, err := decodeJSON(want)
	if err != nil {
		t.Fatalf("want %q is no JSON: %v", want, err)
	}
	return jsonText(g) == jsonText(w)
}
