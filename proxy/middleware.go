package proxy

import (
	"net/http"
	"path"
	"runtime/debug"
	"time"
)

// handler routes. Only exact paths answer: Cloud Scheduler follows a redirect and counts the redirected answer, so there is none.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes {
		mux.HandleFunc(r.pattern, s.handleStart(r.target, r.name))
	}
	mux.HandleFunc("/run/{alias}", s.handleAlias)
	mux.HandleFunc("/sweep", s.handleSweep)
	mux.HandleFunc("/livez", s.handleHealth(func() bool { return true }))
	mux.HandleFunc("/readyz", s.handleHealth(func() bool { return !s.draining.Load() }))
	mux.HandleFunc("/", notFound)
	return s.recovered(exact(mux))
}

// exact keeps the multiplexer from redirecting to a cleaned path, and from reading an escaped slash as part of a name.
func exact(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawPath != "" || r.URL.Path != path.Clean(r.URL.Path) || r.Method == http.MethodConnect {
			notFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	refuse(http.StatusNotFound, "unknown-path", "no such path; the proxy has the API's own: POST /v1/projects/P/locations/L/workflows/W/executions").write(w)
}

func (s *Server) handleHealth(healthy func() bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(http.StatusMethodNotAllowed, "method", "only GET").write(w)
			return
		}
		if !healthy() {
			refuse(http.StatusInternalServerError, "draining", "the instance is going away").write(w)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // the prober has gone
	}
}

// recovered answers 500 where a handler panicked. The guard has released the claim by then.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				s.log.ErrorContext(r.Context(), "panic", "value", v, "stack", string(debug.Stack()))
				refuse(http.StatusInternalServerError, "panic", "the proxy failed in an unforeseen way; deliver again").write(w)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// limiter bounds the deliveries at work; a slow store must not pile them up.
type limiter struct{ free chan struct{} }

func newLimiter(n int) *limiter { return &limiter{free: make(chan struct{}, n)} }

func (l *limiter) take() (release func(), err error) {
	select {
	case l.free <- struct{}{}:
		return func() { <-l.free }, nil
	default:
		p := refuse(http.StatusTooManyRequests, "busy", "the proxy is at work on as many deliveries as it may; deliver again")
		p.RetryAfter = time.Second
		return nil, p
	}
}
