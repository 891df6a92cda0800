package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/syntax"
)

// down is a network in which nobody answers.
type down struct{}

func (down) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// A workflow that retries, on a clock that jumps over the backoff.
func ExampleRun() {
	w, err := syntax.Parse("order.yaml", []byte(`
main:
  params: [args]
  steps:
    - reserve:
        try:
          call: http.post
          args:
            url: https://shop.example/reserve
            headers: {Idempotency-Key: '${args.run_id + "/reserve"}'}
        retry: ${http.default_retry_non_idempotent}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := engine.NewVirtual(start)
	_, err = engine.Run(context.Background(), w, []byte(`{"run_id": "r1"}`), engine.Config{Clock: clock, HTTP: down{}})
	var failed *engine.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Context)
		fmt.Println(failed.Tags, "after", clock.Now().Sub(start).Round(time.Millisecond))
	}
	// Output:
	// connection failed: connection refused
	// in step "reserve", routine "main", line: 6
	// [ConnectionFailedError] after 8.207s
}
