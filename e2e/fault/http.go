package fault

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"

	"google.golang.org/grpc/codes"
)

// HTTP is the plan as a middleware in front of next. A lost answer is a dropped connection: the client sees an end of file or a reset.
func (p *Plan) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		call, rule := p.arrive(req.Method + " " + req.URL.Path)
		sw := &statusWriter{ResponseWriter: w}
		defer func() { p.leave(call, codes.OK, sw.status) }()
		rule.serve(sw, req, next)
		if sw.status == 0 {
			sw.status = http.StatusOK // as net/http answers a handler that wrote nothing
		}
	})
}

func (r Rule) serve(w http.ResponseWriter, req *http.Request, next http.Handler) {
	switch r.Kind {
	case None:
		next.ServeHTTP(w, req)
		return
	case Refuse, Abort:
		http.Error(w, r.message(), r.status())
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil || r.before(req.Context()) != nil {
		panic(http.ErrAbortHandler)
	}
	if r.Kind == Duplicate {
		execute(next, req, body)
	}
	rec := execute(next, req, body)
	if r.Kind == Lose && r.Status == 0 || r.after(req.Context()) != nil {
		panic(http.ErrAbortHandler)
	}
	if r.Kind == Lose {
		http.Error(w, r.message(), r.Status)
		return
	}
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()) // the client may be gone, which is its own business
}

// execute runs the handler on a request of its own, with a recorder for the answer.
func execute(next http.Handler, req *http.Request, body []byte) *httptest.ResponseRecorder {
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, again)
	return rec
}

// statusWriter remembers the status that went out.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	if w.status == 0 || w.status < 200 {
		w.status = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
