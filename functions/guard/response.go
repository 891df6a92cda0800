package guard

import (
	"bytes"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
)

// recorder keeps a handler's response until it is recorded. It is no Flusher and no Hijacker, so a handler that would stream
// finds out at once.
type recorder struct {
	header http.Header
	sent   http.Header // as they were when the handler began to answer
	code   int
	body   bytes.Buffer
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
	return fmt.Errorf("a guarded handler cannot stream: its response is recorded first: %w", http.ErrNotSupported)
}

// outcome is what is recorded of the response, or the error that gives the claim up.
func (r *recorder) outcome(keep []string) (*Outcome, error) {
	r.WriteHeader(http.StatusOK)
	switch {
	case r.code == http.StatusTooManyRequests:
		return nil, NotApplied(errAnswered) // it says that it did nothing
	case r.code >= 500:
		return nil, errAnswered
	}
	_, typed := r.sent["Content-Type"]
	if !typed && r.sent.Get("Content-Encoding") == "" && r.body.Len() > 0 { // as net/http does, so that a replay says the same
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
	case o == nil: // completed by a program that keeps no outcome
		w.WriteHeader(http.StatusNoContent)
		return
	case o.Tombstone:
		p := ProblemOf(ErrNoResult)
		if o.Code != 0 {
			p.Status = o.Code
		}
		WriteProblem(w, p)
		return
	case o.Code == 0: // completed by another form, or by an operator: its result is JSON
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(o.Body)
		return
	}
	for name, values := range o.Headers {
		w.Header()[name] = slices.Clone(values) // a cached outcome has many readers
	}
	w.WriteHeader(o.Code)
	_, _ = w.Write(o.Body)
}
