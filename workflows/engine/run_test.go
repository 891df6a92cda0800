package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/runonce/workflows/syntax"
)

func TestArgument(t *testing.T) {
	t.Parallel()
	yaml := "main:\n  params: [args]\n  steps:\n    - done:\n        return: ${args}\n"
	tests := []struct{ name, arg, want string }{
		{"none", "", "null"}, {"object", `{"n": 1, "f": 1.5}`, `{"f":1.5,"n":1}`}, {"text", `"x"`, `"x"`},
		{"large integer", "9007199254740993", "9007199254740993"},
	}
	for _, tt := range tests {
		if o := runCase(t, yaml, tt.arg, nil); string(o.result) != tt.want {
			t.Errorf("%s: got %s, error %v, want %s", tt.name, o.result, o.err, tt.want)
		}
	}
	if o := runCase(t, yaml, "{", nil); o.err == nil {
		t.Error("a broken argument was taken")
	}
	if o := runCase(t, yaml, `"`+strings.Repeat("x", 32<<10)+`"`, nil); len(o.tags()) == 0 || o.tags()[0] != ResourceLimitError {
		t.Errorf("an argument over 32 KB: got %v", o.err)
	}
}

func TestCancelEndsSleepAndBranches(t *testing.T) {
	t.Parallel()
	w, err := syntax.Parse("test.yaml", []byte(`
- go:
    try:
      parallel:
        for:
          value: v
          range: [1, 5]
          steps:
            - wait:
                call: sys.sleep
                args: {seconds: 3600}
    except:
      as: e
      steps:
        - swallow:
            return: swallowed
`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	asleep := make(chan struct{}, 5)
	cause := errors.New("the operator said so")
	go func() {
		for range 5 {
			<-asleep
		}
		cancel(cause)
	}()
	_, err = Run(ctx, w, nil, Config{OnStep: func(e StepEntry) {
		if e.Step == "wait" && e.State == StepInProgress {
			asleep <- struct{}{}
		}
	}})
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause of the cancel", err)
	}
}

func TestLongestLife(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits()
	limits.Duration = time.Hour
	o := runCase(t, "- a:\n    call: sys.sleep\n    args: {seconds: 7200}\n", "", func(c *Config, _ *callee) { c.Limits = &limits })
	if !errors.Is(o.err, errExpired) || o.seconds != 3600 {
		t.Errorf("got %v after %v s, want it to expire after 3600 s", o.err, o.seconds)
	}
}

// TestOneProgramManyExecutions runs one program at once from many goroutines; the race detector watches.
func TestOneProgramManyExecutions(t *testing.T) {
	t.Parallel()
	p := compileBench(t, `
main:
  params: [args]
  steps:
    - start:
        assign:
          - m: {list: [1, 2, 3], args: '${args}'}
          - total: 0
    - both:
        parallel:
          shared: [m, total]
          for:
            value: v
            in: ${m.list}
            steps:
              - change:
                  assign:
                    - m[string(v)]: ${v * args.n}
                    - m.list[0]: ${v}
              - wait:
                  call: sys.sleep
                  args: {seconds: 1}
              - read:
                  assign: [{total: '${len(m.list) + total * 0}'}]
    - done:
        return: '${[m["1"], m["2"], m["3"], total]}'
`)
	clock := NewVirtual(epoch)
	results := make(chan json.RawMessage, 50)
	for range cap(results) {
		go func() {
			r, err := p.Run(t.Context(), []byte(`{"n": 10}`), Config{Clock: clock})
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	for range cap(results) {
		if r := <-results; string(r) != "[10,20,30,3]" {
			t.Errorf("got %s", r)
		}
	}
}

func TestSharedErrorStaysClean(t *testing.T) {
	t.Parallel()
	// A connector's error pointer may be shared: frames must not pile up in it.
	shared := APIError(400, "INVALID_ARGUMENT", "no")
	connector := map[string]Connector{"googleapis.x.v1.y": func(context.Context, ConnectorCall) (any, error) { return nil, shared }}
	for range 2 {
		o := runCase(t, "- go:\n    call: googleapis.x.v1.y\n", "", func(c *Config, _ *callee) { c.Connectors = connector })
		var e *Error
		if !errors.As(o.err, &e) || len(e.Frames) != 1 || len(shared.Frames) != 0 {
			t.Errorf("got %v with frames %v", o.err, e.Frames)
		}
	}
}
