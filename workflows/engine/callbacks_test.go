package engine

import (
	"strings"
	"testing"
	"time"

	"example.com/runonce/workflows/syntax"
)

const awaiting = `
- make:
    call: events.create_callback_endpoint
    args: {http_callback_method: POST}
    result: c
- tell:
    call: sys.log
    args: {text: '${c.url}'}
- wait:
    call: events.await_callback
    args: {callback: '${c}', timeout: 3600}
    result: r
- done:
    return: '${[r.http_request.method, r.http_request.body.answer, r.type]}'
`

func TestCallbackArrives(t *testing.T) {
	t.Parallel()
	w, err := syntax.Parse("test.yaml", []byte(awaiting))
	if err != nil {
		t.Fatal(err)
	}
	for _, early := range []bool{true, false} {
		registry := NewCallbacks("http://callbacks.test")
		clock := NewVirtual(epoch)
		release := clock.Hold() // or the time-out would come at once
		urls := make(chan string, 1)
		deliver := func(url string) {
			wrong, err := registry.Deliver(url, CallbackRequest{Method: "GET"})
			if !wrong || err == nil {
				t.Errorf("a GET was taken: %v, %v", wrong, err)
			}
			found, err := registry.Deliver(url, CallbackRequest{Method: "POST", URL: url, Body: map[string]any{"answer": int64(42)}, At: epoch})
			if !found || err != nil {
				t.Errorf("the callback was not taken: %v, %v", found, err)
			}
		}
		cfg := Config{Clock: clock, Callbacks: registry, ExecutionID: "e", Log: func(e LogEntry) {
			if early {
				deliver(e.Text)
			}
			urls <- e.Text
		}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			result, err := Run(t.Context(), w, nil, cfg)
			if want := `["POST",42,"HTTP"]`; string(result) != want {
				t.Errorf("early %v: got %s, error %v, want %s", early, result, err, want)
			}
		}()
		url := <-urls
		if !strings.HasPrefix(url, "http://callbacks.test/") {
			t.Errorf("url %q", url)
		}
		if !early {
			deliver(url)
		}
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the workflow still waits")
		}
		release()
	}
}

func TestCallbackUnknown(t *testing.T) {
	t.Parallel()
	found, err := NewCallbacks("http://x").Deliver("http://x/nothing", CallbackRequest{Method: "POST"})
	if found || err != nil {
		t.Errorf("got %v, %v, want false and no error", found, err)
	}
}
