package guard

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// post sends one request through a guarded handler.
func post(t *testing.T, g *Guard, cfg HandlerConfig, h http.HandlerFunc, header http.Header, target, body string) *http.Response {
	t.Helper()
	cfg.Logger = quiet
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	for k, v := range header {
		r.Header[k] = v
	}
	w := httptest.NewRecorder()
	Handler(g, cfg)(h).ServeHTTP(w, r)
	return w.Result()
}

func token(v ...string) http.Header { return http.Header{TokenHeader: v} }

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReplayIsEqual: status, body and kept headers come back byte for byte; nothing secret does, or is stored. B26.
func TestReplayIsEqual(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, strings.Repeat("response ", 100))
	_ = z.Close()
	for name, h := range map[string]http.HandlerFunc{
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes())
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["link"] = []string{"never seen: no canonical name"}
			w.Header().Add("Link", "<b>")
			w.Header().Add("Link", "<a>")
			w.Header().Set("Location", "/orders/1")
			w.Header().Set("Set-Cookie", "secret=1")
			w.Header().Set("Authorization", "secret=1")
			w.WriteHeader(http.StatusCreated)
			w.Header().Set("Location", "/too/late")
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "{}")
		},
		"no content":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"nothing":      func(http.ResponseWriter, *http.Request) {},
		"client error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such order", http.StatusNotFound) },
		"sniffed":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = w.Write([]byte("x"))
		},
		"sends in parts": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a"); fmt.Fprint(w, "b") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := &mem{}, 0
			g := newGuard(t, m, Config{Cache: 3})
			counted := func(w http.ResponseWriter, r *http.Request) { n++; h(w, r) }
			cfg := HandlerConfig{Headers: []string{"Link", "set-cookie", "AUTHORIZATION"}}
			first := post(t, g, cfg, counted, token("run/step"), "/x", "")
			want := read(t, first)
			for _, g := range []*Guard{g, newGuard(t, m, Config{})} { // from the cache, and from the store
				again := post(t, g, cfg, counted, token("run/step"), "/x", "")
				if got := read(t, again); got != want || again.StatusCode != first.StatusCode {
					t.Errorf("replay %d %q, at first %d %q", again.StatusCode, got, first.StatusCode, want)
				}
				for _, k := range []string{"Content-Type", "Content-Encoding", "Link", "Location"} {
					if !reflect.DeepEqual(again.Header[k], first.Header[k]) {
						t.Errorf("%s is %q, at first %q", k, again.Header[k], first.Header[k])
					}
				}
				if again.Header.Get(ReplayedHeader) != "true" || first.Header.Get(ReplayedHeader) != "" {
					t.Errorf("%s is %q, at first %q", ReplayedHeader, again.Header.Get(ReplayedHeader), first.Header.Get(ReplayedHeader))
				}
			}
			if raw, _ := json.Marshal(m.record("run/step")); bytes.Contains(raw, []byte("secret=1")) || n != 1 {
				t.Errorf("%d runs, and a secret is stored: %t", n, bytes.Contains(raw, []byte("secret=1")))
			}
		})
	}
}

func TestHandlerStatuses(t *testing.T) { // B12, B29
	t.Parallel()
	for name, row := range map[string]struct {
		header  http.Header
		answer  int // of the handler
		repeat  Repeat
		status  int // of the first request
		again   int // of the second
		runs    int
		problem string // code of the first answer's
	}{
		"no token":             {nil, 200, Safe, 400, 400, 0, "bad-token"},
		"empty":                {token(""), 200, Safe, 400, 400, 0, "bad-token"},
		"blank":                {token("  "), 200, Safe, 400, 400, 0, "bad-token"},
		"two":                  {token("a", "b"), 200, Safe, 400, 400, 0, "bad-token"},
		"joined":               {token("a, b"), 200, Safe, 400, 400, 0, "bad-token"},
		"not closed":           {token(`"a`), 200, Safe, 400, 400, 0, "bad-token"},
		"something after":      {token(`"a"b`), 200, Safe, 400, 400, 0, "bad-token"},
		"bad escape":           {token(`"\a"`), 200, Safe, 400, 400, 0, "bad-token"},
		"too long":             {token(strings.Repeat("x", 256)), 200, Safe, 400, 400, 0, "bad-token"},
		"bare":                 {token("a"), 200, Safe, 200, 200, 1, ""},
		"quoted":               {token(`"a,\"b\\"`), 200, Safe, 200, 200, 1, ""},
		"event":                {http.Header{"Ce-Source": {"//s"}, "Ce-Id": {"1"}}, 200, Safe, 200, 200, 1, ""},
		"event without id":     {http.Header{"Ce-Source": {"//s"}}, 200, Safe, 400, 400, 0, "bad-token"},
		"recorded 400":         {token("a"), 400, Safe, 400, 400, 1, ""},
		"recorded 409":         {token("a"), 409, Safe, 409, 409, 1, ""},
		"recorded 302":         {token("a"), 302, Safe, 302, 302, 1, ""},
		"released 429":         {token("a"), 429, Safe, 429, 429, 2, ""},
		"released 500":         {token("a"), 500, Safe, 500, 500, 2, ""},
		"released 503":         {token("a"), 503, Safe, 503, 503, 2, ""},
		"never 429":            {token("a"), 429, Never, 429, 429, 2, ""},
		"never 500, uncertain": {token("a"), 500, Never, 500, 422, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			h := func(w http.ResponseWriter, _ *http.Request) { runs++; w.WriteHeader(row.answer) }
			g := newGuard(t, &mem{}, Config{})
			for i, want := range []int{row.status, row.again} {
				got := post(t, g, HandlerConfig{Repeat: row.repeat}, h, row.header, "/x", "")
				body := read(t, got)
				if got.StatusCode != want {
					t.Errorf("answer %d is %d %s, want %d", i+1, got.StatusCode, body, want)
				}
				if i == 0 && row.problem != "" && (got.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, row.problem)) {
					t.Errorf("the answer is %s %s, want a problem %s", got.Header.Get("Content-Type"), body, row.problem)
				}
			}
			if runs != row.runs {
				t.Errorf("%d runs, want %d", runs, row.runs)
			}
		})
	}
}

// TestTokensOfEvents: two events never share a token, and the two ways to write a token are one.
func TestTokensOfEvents(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, e := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"a ", "c"}, {"1 a", "c"}, {"", "abc"}, {"a", "bc "}} {
		if old, ok := seen[EventToken(e[0], e[1])]; ok {
			t.Errorf("%q and %q share a token", e, old)
		}
		seen[EventToken(e[0], e[1])] = fmt.Sprint(e)
	}
	if got := EventToken("//pubsub.googleapis.com/projects/p/topics/t", "42"); got != "19237c543b23c997cb5bf5bb1c7d6c7915660891f87bd486c5190129df69f21d" {
		t.Errorf("the golden token of an event changed to %s: every event in flight would run again", got) // B14
	}
	bare, err1 := unquote("run/step")
	quoted, err2 := unquote(` "run/step" `)
	if bare != quoted || err1 != nil || err2 != nil {
		t.Errorf("bare %q, quoted %q", bare, quoted)
	}
}

func TestFingerprintOfRequests(t *testing.T) { // B10
	t.Parallel()
	g, runs := newGuard(t, &mem{}, Config{}), 0
	h := func(http.ResponseWriter, *http.Request) { runs++ }
	for _, row := range []struct {
		target, body string
		want         int
	}{{"/x?a=1", "body", 200}, {"/x?a=1", "body", 200}, {"/x?a=1", "other", 422}, {"/x?a=2", "body", 422}, {"/y?a=1", "body", 422}, {"/x", "?a=1body", 422}} {
		if got := post(t, g, HandlerConfig{}, h, token("a"), row.target, row.body); got.StatusCode != row.want {
			t.Errorf("%s %s: %d, want %d", row.target, row.body, got.StatusCode, row.want)
		}
	}
	own := HandlerConfig{Fingerprint: func(*http.Request, []byte) string { return "" }}
	if got := post(t, g, own, h, token("a"), "/z", ""); got.StatusCode != 200 || runs != 1 {
		t.Errorf("with a fingerprint of its own: %d after %d runs", got.StatusCode, runs)
	}
}

func TestHandlerInProgress(t *testing.T) { // R9, B16
	t.Parallel()
	g := newGuard(t, &mem{}, Config{})
	h := func(w http.ResponseWriter, r *http.Request) {
		if TokenFrom(r.Context()) != "a" {
			t.Errorf("the handler's context has the token %q", TokenFrom(r.Context()))
		}
		got := post(t, g, HandlerConfig{}, nil, token("a"), "/x", "")
		if after := got.Header.Get("Retry-After"); got.StatusCode != 409 || after != "30" {
			t.Errorf("a duplicate got %d, Retry-After %q; want 409 and 30", got.StatusCode, after)
		}
	}
	if got := post(t, g, HandlerConfig{}, h, token("a"), "/x", ""); got.StatusCode != 200 {
		t.Errorf("got %d", got.StatusCode)
	}
}

func TestHandlerBodies(t *testing.T) {
	t.Parallel()
	g := newGuard(t, &mem{}, Config{})
	h := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	if got := post(t, g, HandlerConfig{MaxBody: 4}, h, token("a"), "/x", "12345"); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body beyond the limit: %d", got.StatusCode)
	}
	if got := post(t, g, HandlerConfig{MaxBody: 5}, h, token("a"), "/x", "12345"); read(t, got) != "12345" {
		t.Errorf("a body at the limit: %d", got.StatusCode)
	}
	// A response beyond what is kept: the first caller gets it whole, a duplicate hears that it is done. B25.
	big := strings.Repeat("x", maxBody+1)
	h = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); _, _ = io.WriteString(w, big) }
	if got := post(t, g, HandlerConfig{}, h, token("b"), "/x", ""); read(t, got) != big {
		t.Errorf("the first caller got %d and another body", got.StatusCode)
	}
	got := post(t, g, HandlerConfig{}, h, token("b"), "/x", "")
	if body := read(t, got); got.StatusCode != 201 || !strings.Contains(body, "not-kept") || got.Header.Get(ReplayedHeader) != "true" {
		t.Errorf("a duplicate got %d %s", got.StatusCode, body)
	}
}

// TestStreamingIsRefused: a handler that streams hears that it cannot, and one that goes on is recorded like any other.
func TestStreamingIsRefused(t *testing.T) {
	t.Parallel()
	g, runs := newGuard(t, &mem{}, Config{}), 0
	h := func(w http.ResponseWriter, _ *http.Request) {
		runs++
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		c := http.NewResponseController(w)
		_, _, hijacked := c.Hijack()
		flushed := c.Flush()
		if flusher || hijacker || !errors.Is(flushed, http.ErrNotSupported) || !strings.Contains(flushed.Error(), "cannot stream") || !errors.Is(hijacked, http.ErrNotSupported) {
			t.Errorf("flusher %t, hijacker %t, flush %v, hijack %v", flusher, hijacker, flushed, hijacked)
		}
	}
	for range 2 {
		if got := post(t, g, HandlerConfig{}, h, token("a"), "/x", ""); got.StatusCode != 200 || runs != 1 {
			t.Errorf("got %d after %d runs", got.StatusCode, runs)
		}
	}
}

func TestHandlerPanics(t *testing.T) { // B28
	t.Parallel()
	m := &mem{}
	g := newGuard(t, m, Config{})
	func() {
		defer func() {
			if r := recover(); r != http.ErrAbortHandler {
				t.Errorf("recovered %v", r)
			}
		}()
		post(t, g, HandlerConfig{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, token("a"), "/x", "")
	}()
	if r := m.record("a"); !r.released() {
		t.Errorf("the record is %+v", r)
	}
}

// TestProblems: what a client is told. Never a 503, never a cause.
func TestProblems(t *testing.T) { // R6, B31
	t.Parallel()
	secret := errors.New("dial 10.0.0.1: password hunter2")
	for want, errs := range map[int][]error{
		200: {ErrNoResult},
		400: {ErrBadToken},
		409: {&InProgressError{RetryAfter: time.Millisecond}},
		422: {ErrMismatch, ErrUncertain, &FailedError{Message: "declined"}},
		500: {ErrLost, ErrUnrecorded, ErrNewerSchema, errors.New("anything")},
	} {
		for _, err := range errs {
			w := httptest.NewRecorder()
			WriteProblem(w, ProblemOf(fmt.Errorf("%w: %w", err, secret)))
			var p struct {
				Status      int
				Title, Code string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != want || p.Title == "" || p.Code == "" || w.Code != want {
				t.Errorf("%v: %d %s, want %d", err, w.Code, w.Body, want)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("%v: the client is told %s", err, w.Body)
			}
			if after := w.Header().Get("Retry-After"); (want == 409) != (after == "1") {
				t.Errorf("%v: Retry-After %q", err, after)
			}
		}
	}
}

// TestReplayOfOtherForms: a record that no handler wrote.
func TestReplayOfOtherForms(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		outcome *Outcome
		code    int
		body    string
	}{
		"of a program that keeps no outcome": {nil, 204, ""},
		"of Do":                              {&Outcome{Body: []byte(`"x"`)}, 200, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &mem{}
			if _, err := m.Create(t.Context(), Record{Token: "a", Status: Completed, Outcome: row.outcome}); err != nil {
				t.Fatal(err)
			}
			got := post(t, newGuard(t, m, Config{}), HandlerConfig{}, nil, token("a"), "/x", "")
			if body := read(t, got); got.StatusCode != row.code || body != row.body {
				t.Errorf("got %d %q", got.StatusCode, body)
			}
		})
	}
}

func TestObserverHearsEverything(t *testing.T) {
	t.Parallel()
	seen, m, n := &events{}, &mem{}, 0
	g := newGuard(t, m, Config{Observer: seen})
	step := effect("run/step", "done", &n)
	plain := step.Do
	step.Do = func(context.Context, Attempt) (string, error) { return "", errFault }
	_, _ = Do(t.Context(), g, step)
	step.Do = plain
	_, _ = Do(t.Context(), g, step)
	_, _ = Do(t.Context(), g, step)
	step.Request.Fingerprint = "x"
	_, _ = Do(t.Context(), g, step)
	never := effect("run/never", "", &n)
	never.Repeat = Never
	never.Do = func(context.Context, Attempt) (string, error) { return "", errFault }
	_, _ = Do(t.Context(), g, never)
	_, _ = Do(t.Context(), g, never)
	want := []Kind{Claimed, Released, TookOver, Finished, Replayed, Replayed, Claimed, WentUncertain, Refused}
	if got := seen.list(); !slices.Equal(got, want) {
		t.Errorf("heard %v\nwant  %v", got, want)
	}
}
