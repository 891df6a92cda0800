package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

const (
	// TokenHeader carries the step token, bare or as the quoted string of the IETF draft (draft-ietf-httpapi-idempotency-key-header).
	TokenHeader = "Idempotency-Key"
	// ReplayedHeader is "true" on an answer that an earlier attempt gave.
	ReplayedHeader = "Idempotent-Replayed"
)

// HandlerConfig of Handler. The zero value works.
type HandlerConfig struct {
	// Token names the request. Default: Idempotency-Key; where that is missing, the source and id of a CloudEvent in HTTP's
	// binary mode (ce-source, ce-id).
	Token func(r *http.Request) (string, error)
	// Fingerprint is of what must be the same under one token. Default: method, path, query and body.
	Fingerprint func(r *http.Request, body []byte) string
	// Headers are kept and replayed beside Content-Type, Content-Encoding, Content-Language, Location, ETag and
	// Last-Modified. Set-Cookie and anything that authenticates is never kept, whatever this says.
	Headers []string
	// MaxBody is the longest request body, in bytes. Default 1 MiB.
	MaxBody int64
	// Wait is how long a duplicate waits for the first to finish, before 409. Default: not at all.
	Wait time.Duration
	// Repeat says what to do when nobody knows whether the handler did its work: after a crash, a panic or a 5xx. Default Safe.
	Repeat Repeat
	// Logger gets what the client must not see. Default slog.Default.
	Logger *slog.Logger
}

// Handler makes an HTTP handler happen once per token, with Do: the first response is recorded, and every duplicate gets it
// byte for byte (status, body, kept headers), with Idempotent-Replayed: true.
//
// A handler's 5xx and 429 pass through and give the claim up for the next delivery; its other answers are recorded. Its
// context ends with the cause ErrLost when the claim is lost; AttemptFrom and TokenFrom tell it who it is.
//
// The guard's own answers are application/problem+json, see ProblemOf: 400 no token or a bad one · 409 and Retry-After in
// progress · 413 body too long · 422 the token was used for another request, or the outcome is uncertain · 500 try again
// with the same token; never 503, which App Engine repeats outside its count.
//
// The response is recorded before it is sent, so the handler cannot stream: its writer is neither a http.Flusher nor a
// http.Hijacker, and http.ResponseController answers http.ErrNotSupported. If it panics, the claim is given up and the panic
// goes on.
func Handler(g *Guard, cfg HandlerConfig) func(http.Handler) http.Handler {
	if cfg.Token == nil {
		cfg.Token = tokenOf
	}
	if cfg.Fingerprint == nil {
		cfg.Fingerprint = fingerprintOf
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(g, cfg, next, w, r) })
	}
}

// errAnswered ends an attempt whose handler answered 5xx or 429: that answer goes to the caller.
var errAnswered = errors.New("the handler's answer asks for another attempt")

func serve(g *Guard, cfg HandlerConfig, next http.Handler, w http.ResponseWriter, r *http.Request) {
	token, err := cfg.Token(r)
	if err != nil {
		WriteProblem(w, Problem{Status: http.StatusBadRequest, Code: "bad-token", Detail: err.Error()})
		return
	}
	if r.Body == nil { // of a request that no server read
		r.Body = http.NoBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, cfg.MaxBody))
	if err != nil {
		WriteProblem(w, bodyProblem(err, cfg.MaxBody))
		return
	}
	var rec *recorder
	end, err := g.run(r.Context(), step{
		req:    Request{Token: token, Fingerprint: cfg.Fingerprint(r, body), Wait: cfg.Wait},
		repeat: cfg.Repeat,
		do: func(ctx context.Context, _ Attempt) (*Outcome, error) {
			inner := r.Clone(ctx)
			inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			rec = &recorder{header: http.Header{}}
			next.ServeHTTP(rec, inner)
			return rec.outcome(cfg.Headers)
		},
	})
	switch {
	case err == nil && !end.replayed, errors.Is(err, errAnswered):
		rec.copyTo(w)
	case err == nil:
		replayTo(w, end.outcome)
	default:
		p := ProblemOf(err)
		if p.Status >= http.StatusInternalServerError {
			cfg.Logger.ErrorContext(r.Context(), "step did not finish", "token", token, "error", err)
		}
		WriteProblem(w, p)
	}
}

func bodyProblem(err error, limit int64) Problem {
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		return Problem{Status: http.StatusRequestEntityTooLarge, Code: "body-too-long", Detail: fmt.Sprintf("the request's body is beyond %d bytes", limit)}
	}
	return Problem{Status: http.StatusBadRequest, Code: "bad-body", Detail: "the request's body could not be read"}
}

// tokenOf reads the step token of a request.
func tokenOf(r *http.Request) (string, error) {
	switch values := r.Header.Values(TokenHeader); len(values) {
	case 0:
	case 1:
		return unquote(values[0])
	default:
		return "", fmt.Errorf("%s is there %d times; send it once", TokenHeader, len(values))
	}
	source, id := r.Header.Values("Ce-Source"), r.Header.Values("Ce-Id")
	if len(source) == 1 && len(id) == 1 && source[0] != "" && id[0] != "" {
		return EventToken(source[0], id[0]), nil
	}
	return "", fmt.Errorf("%s is missing: send the step token in it", TokenHeader)
}

// EventToken is the token of a CloudEvent: its source and id together name it (CloudEvents 1.0, section 3.1). For functions
// that get the event decoded, and call Do themselves.
func EventToken(source, id string) string {
	// Lengths keep two pairs from reading alike.
	sum := sha256.Sum256(fmt.Appendf(nil, "cloudevent %d %s%d %s", len(source), source, len(id), id))
	return hex.EncodeToString(sum[:])
}

// unquote reads a bare token, or a string as RFC 8941 writes it (section 3.3.3).
func unquote(s string) (string, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, `"`) {
		if strings.ContainsAny(s, `,"`) { // a comma is how two values are joined
			return "", fmt.Errorf("%s: a comma or a quote in a bare value; send one value, quoted", TokenHeader)
		}
		return s, checkToken(s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			if i != len(s)-1 {
				return "", fmt.Errorf("%s: something follows the quoted token", TokenHeader)
			}
			return b.String(), checkToken(b.String())
		case c == '\\':
			if i++; i >= len(s) || s[i] != '"' && s[i] != '\\' {
				return "", fmt.Errorf("%s: a backslash escapes a quote or a backslash only", TokenHeader)
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("%s: the quote is not closed", TokenHeader)
}

func fingerprintOf(r *http.Request, body []byte) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(r.Method), []byte(r.URL.EscapedPath()), []byte(r.URL.RawQuery), body} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
