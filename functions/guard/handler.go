package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// TokenHeader carries the step token, bare or as the quoted string of the IETF draft (draft-ietf-httpapi-idempotency-key-header).
	TokenHeader = "Idempotency-Key"
	// ReplayedHeader is "true" on an answer that an earlier attempt gave.
	ReplayedHeader = "Idempotent-Replayed"
	// FenceHeader hands Attempt.Fence to a callee that refuses an older one.
	FenceHeader = "Runonce-Fence"
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
	// Repeat is what to do about a handler that ended without a word. Default Safe.
	Repeat Repeat
	// Logger gets what the client must not see. Default slog.Default.
	Logger *slog.Logger
}

// Handler makes an HTTP handler happen once per token, with Do: the first response is recorded and every duplicate gets it,
// byte for byte, with Idempotent-Replayed: true.
//
// Answers of its own are application/problem+json: 400 no token or a bad one · 409 and Retry-After in progress · 413 body
// too long · 422 the token was used for another request, or nobody can tell what happened · 500 try again with the same
// token. A handler's 5xx and 429 pass through and release the claim; its other answers are recorded. The response is kept
// in memory until it is recorded: Flush, Hijack and whatever streams is an error of the handler's, answered 500.
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

// errReleased ends an attempt whose handler answered 5xx or 429.
var errReleased = errors.New("the handler's answer asks for another attempt")

func serve(g *Guard, cfg HandlerConfig, next http.Handler, w http.ResponseWriter, r *http.Request) {
	token, err := cfg.Token(r)
	if err != nil {
		WriteProblem(w, Problem{Status: http.StatusBadRequest, Code: "bad-token", Detail: err.Error()})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, cfg.MaxBody))
	if err != nil {
		p := Problem{Status: http.StatusBadRequest, Code: "bad-body", Detail: "the request's body could not be read"}
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			p = Problem{Status: http.StatusRequestEntityTooLarge, Code: "body-too-long", Detail: fmt.Sprintf("the request's body is beyond %d bytes", cfg.MaxBody)}
		}
		WriteProblem(w, p)
		return
	}
	rec := &recorder{header: http.Header{}}
	d, err := g.run(r.Context(), step{
		Request: Request{Token: token, Fingerprint: cfg.Fingerprint(r, body), Wait: cfg.Wait},
		repeat:  cfg.Repeat,
		do: func(ctx context.Context, _ Attempt) (*Outcome, error) {
			inner := r.Clone(ctx)
			inner.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(rec, inner)
			return rec.outcome(cfg.Headers)
		},
	})
	switch {
	case err == nil && !d.replayed, errors.Is(err, errReleased):
		rec.copyTo(w)
	case err == nil:
		replayTo(w, d.Outcome)
	default:
		p := ProblemOf(err)
		if p.Status >= 500 {
			cfg.Logger.ErrorContext(r.Context(), "step did not finish", "token", token, "error", err)
		}
		WriteProblem(w, p)
	}
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
		// Source and id together name an event (CloudEvents 1.0). Lengths keep two pairs from reading alike.
		sum := sha256.Sum256(fmt.Appendf(nil, "cloudevent %d %s%d %s", len(source[0]), source[0], len(id[0]), id[0]))
		return hex.EncodeToString(sum[:]), nil
	}
	return "", fmt.Errorf("%s is missing: send the step token in it", TokenHeader)
}

// unquote reads a bare token, or a string as RFC 8941 writes it.
func unquote(s string) (string, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, `"`) {
		return s, (Request{Token: s}).check()
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			if i != len(s)-1 {
				return "", fmt.Errorf("%s: something follows the quoted token", TokenHeader)
			}
			return b.String(), (Request{Token: b.String()}).check()
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

// recorder keeps a handler's response. It is no Flusher and no Hijacker, so a handler that streams finds out at once.
type recorder struct {
	header   http.Header
	sent     http.Header // as they were when the handler began to answer
	code     int
	body     bytes.Buffer
	streamed bool
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && code >= 200 { // 1xx are for the connection, not for the record
		r.code, r.sent = code, r.header.Clone()
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// FlushError answers http.ResponseController.
func (r *recorder) FlushError() error {
	r.streamed = true
	return fmt.Errorf("a guarded handler cannot stream: its response is recorded first: %w", http.ErrNotSupported)
}

var errStreamed = errors.New("the handler tried to stream its response, which a guarded handler cannot do")

func (r *recorder) outcome(keep []string) (*Outcome, error) {
	r.WriteHeader(http.StatusOK)
	switch {
	case r.streamed:
		return nil, errStreamed
	case r.code >= 500 || r.code == http.StatusTooManyRequests:
		return nil, errReleased
	}
	if r.sent.Get("Content-Type") == "" && r.body.Len() > 0 { // as net/http does, so that a replay says the same
		r.sent.Set("Content-Type", http.DetectContentType(r.body.Bytes()))
	}
	return (&Outcome{Code: r.code, Headers: kept(r.sent, keep), Body: bytes.Clone(r.body.Bytes())}).bounded(), nil
}

var (
	alwaysKept = []string{"Content-Type", "Content-Encoding", "Content-Language", "Location", "Etag", "Last-Modified"}
	neverKept  = []string{"Set-Cookie", "Authorization", "Proxy-Authorization", "Www-Authenticate", "Proxy-Authenticate", "Cookie", "Connection", "Transfer-Encoding", "Content-Length", "Date"}
)

func kept(h http.Header, more []string) map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Concat(alwaysKept, more) {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if v := h.Values(name); len(v) > 0 && !slices.Contains(neverKept, name) {
			out[name] = slices.Clone(v)
		}
	}
	return out
}

func (r *recorder) copyTo(w http.ResponseWriter) {
	for name, values := range r.sent {
		w.Header()[name] = values
	}
	w.WriteHeader(r.code)
	_, _ = w.Write(r.body.Bytes()) // a client that has gone comes back for the replay
}

func replayTo(w http.ResponseWriter, o *Outcome) {
	w.Header().Set(ReplayedHeader, "true")
	switch {
	case o == nil || o.Code == 0 && !o.Tombstone: // completed by another form, or by a program that keeps no outcome
		w.WriteHeader(http.StatusNoContent)
		return
	case o.Tombstone:
		WriteProblem(w, Problem{Status: http.StatusOK, Code: "not-kept", Detail: "the step is done; its response was too long to keep"})
		return
	}
	for name, values := range o.Headers {
		w.Header()[name] = values
	}
	w.WriteHeader(o.Code)
	_, _ = w.Write(o.Body)
}

// Problem is an answer of application/problem+json (RFC 9457), for clients: it holds no cause and no secret.
type Problem struct {
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Code       string        `json:"code,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	RetryAfter time.Duration `json:"-"`
}

// ProblemOf says what a client is told about an error of Do, Write, Tx or a guarded handler. What it does not know is 500:
// try again with the same token. It never says 503, which App Engine repeats on its own.
func ProblemOf(err error) Problem {
	var busy *InProgressError
	var failed *FailedError
	switch {
	case errors.As(err, &busy):
		return Problem{Status: http.StatusConflict, Code: "in-progress", Detail: "another attempt is at work on this step; try again", RetryAfter: busy.RetryAfter}
	case errors.Is(err, ErrMismatch):
		return Problem{Status: http.StatusUnprocessableEntity, Code: "token-reused", Detail: "this token was used for another request"}
	case errors.Is(err, ErrUncertain):
		return Problem{Status: http.StatusUnprocessableEntity, Code: "uncertain", Detail: "nobody can tell whether this step happened; an operator must settle it"}
	case errors.As(err, &failed):
		return Problem{Status: http.StatusUnprocessableEntity, Code: orElse(failed.Code, "failed"), Detail: failed.Message}
	case errors.Is(err, ErrBadToken):
		return Problem{Status: http.StatusBadRequest, Code: "bad-token", Detail: "the token must be 1 to 255 printable ASCII characters"}
	case errors.Is(err, errStreamed):
		return Problem{Status: http.StatusInternalServerError, Code: "streaming", Detail: errStreamed.Error()}
	}
	return Problem{Status: http.StatusInternalServerError, Code: "try-again", Detail: "the step did not finish; try again with the same token"}
}

// WriteProblem answers with p.
func WriteProblem(w http.ResponseWriter, p Problem) {
	p.Title = http.StatusText(p.Status)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}")
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
