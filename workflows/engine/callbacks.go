package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Callbacks is the registry of callback endpoints: workflows make and await them, a server hands requests to Deliver.
// One registry may serve many executions. Make one with NewCallbacks.
type Callbacks struct {
	base string

	mu        sync.Mutex
	endpoints map[string]*callback // by URL
}

// Callback is one endpoint that a workflow made.
type Callback struct {
	URL         string
	Method      string // the HTTP method that it accepts
	ExecutionID string
}

// CallbackRequest is the HTTP request that arrived at an endpoint.
type CallbackRequest struct {
	Method  string
	URL     string
	Headers map[string]string
	Query   map[string]string
	Body    any // decoded JSON, a string, or nil
	At      time.Time
}

type callback struct {
	Callback
	received []CallbackRequest
	waiting  *parking
}

// NewCallbacks makes a registry whose endpoints live under base, such as "http://127.0.0.1:8080".
func NewCallbacks(base string) *Callbacks {
	return &Callbacks{base: strings.TrimSuffix(base, "/"), endpoints: map[string]*callback{}}
}

// Deliver hands a request to the endpoint at url. It reports false where there is none, and an error for the wrong method.
// A request is kept until the workflow awaits it.
func (c *Callbacks) Deliver(url string, r CallbackRequest) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.endpoints[url]
	if e == nil {
		return false, nil
	}
	if !strings.EqualFold(e.Method, r.Method) {
		return true, fmt.Errorf("callback %s takes %s, not %s", url, e.Method, r.Method)
	}
	e.received = append(e.received, r)
	if e.waiting != nil {
		e.waiting.wake()
	}
	return true, nil
}

// List returns the endpoints of an execution, by URL; with "" of all.
func (c *Callbacks) List(executionID string) []Callback {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Callback
	for _, e := range c.endpoints {
		if executionID == "" || e.ExecutionID == executionID {
			list = append(list, e.Callback)
		}
	}
	slices.SortFunc(list, func(a, b Callback) int { return strings.Compare(a.URL, b.URL) })
	return list
}

func (c *Callbacks) create(executionID, id, method string) string {
	url := fmt.Sprintf("%s/v1/executions/%s/callbacks/%s", c.base, executionID, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endpoints[url] = &callback{Callback: Callback{URL: url, Method: method, ExecutionID: executionID}}
	return url
}

// take returns the oldest request at url that nobody took yet, or a parking that the next one wakes.
func (c *Callbacks) take(url string, s scheduler) (*CallbackRequest, *parking, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.endpoints[url]
	if e == nil {
		return nil, nil, faultf(ValueError, "unknown callback %q", url)
	}
	if len(e.received) > 0 {
		r := e.received[0]
		e.received = e.received[1:]
		e.waiting = nil
		return &r, nil, nil
	}
	e.waiting = newParking(s)
	return nil, e.waiting, nil
}

// await waits for a request at url, for so long.
func (c *Callbacks) await(ctx context.Context, x *execution, url string, timeout time.Duration) (*CallbackRequest, error) {
	r, wait, err := c.take(url, x.sched)
	if err != nil || r != nil {
		return r, err
	}
	stop := x.cfg.Clock.AfterFunc(timeout, func() { wait.wake() })
	defer stop()
	if err := wait.wait(ctx); err != nil {
		return nil, err
	}
	if r, _, err = c.take(url, x.sched); err == nil && r == nil {
		err = faultf(TimeoutError, "callback timed out")
	}
	return r, err
}

// forget drops an execution's endpoints.
func (c *Callbacks) forget(executionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for url, e := range c.endpoints {
		if e.ExecutionID == executionID {
			delete(c.endpoints, url)
		}
	}
}
