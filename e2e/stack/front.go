package stack

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// Front is the one address that the Scheduler knows, as Cloud Run's front end is: it hands each delivery to the next of
// the proxies behind it. A proxy that died breaks the delivery off, it is not hidden.
type Front struct {
	mu       sync.Mutex
	backends []*url.URL
	next     int
}

// Set replaces the backends, in the order of their turns.
func (f *Front) Set(urls ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backends, f.next = nil, 0
	for _, u := range urls {
		if parsed, err := url.Parse(u); err == nil {
			f.backends = append(f.backends, parsed)
		}
	}
}

func (f *Front) pick() *url.URL {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.backends) == 0 {
		return nil
	}
	u := f.backends[f.next%len(f.backends)]
	f.next++
	return u
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := f.pick()
	if target == nil {
		http.Error(w, "no proxy is running", http.StatusBadGateway)
		return
	}
	(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the connection breaks, as it does when an instance is killed
		},
	}).ServeHTTP(w, r)
}
