package engine

import (
	"math"
	"slices"
	"time"
)

var stdEvents = []function{
	std("events.create_callback_endpoint", func(c *call) (any, error) {
		method, err := c.str(0)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(callbackMethods, method) {
			return nil, faultf(ValueError, "events.create_callback_endpoint: unknown method %q", method)
		}
		x := c.f.x
		return map[string]any{"url": x.cfg.Callbacks.create(x.cfg.ExecutionID, x.cfg.NewUUID(), method)}, nil
	}),
	std("events.await_callback", awaitCallback),
}

var callbackMethods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}

// defaultCallbackWait is how long await_callback waits when the workflow does not say: 12 hours.
const defaultCallbackWait = 43200

func awaitCallback(c *call) (any, error) {
	m, err := c.mapping(0)
	if err != nil {
		return nil, err
	}
	url, ok := m["url"].(string)
	if !ok {
		return nil, faultf(TypeError, "events.await_callback: callback has no url")
	}
	seconds := float64(defaultCallbackWait)
	if c.has(1) {
		if seconds, err = c.number(1); err != nil {
			return nil, err
		}
	}
	if seconds < 0 || math.IsNaN(seconds) || seconds > longestSleep.Seconds() {
		return nil, faultf(ValueError, "events.await_callback: timeout must be from 0 to %g, not %g", longestSleep.Seconds(), seconds)
	}
	r, err := c.f.x.cfg.Callbacks.await(c.ctx, c.f.x, url, time.Duration(seconds*float64(time.Second)))
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"http_request": map[string]any{
			"body": r.Body, "headers": stringMap(r.Headers), "method": r.Method, "query": stringMap(r.Query), "url": r.URL,
		},
		"received_time": r.At.UTC().Format(time.RFC3339Nano),
		"type":          "HTTP",
	}, nil
}

func stringMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
