package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/syntax"
)

// runCmd is `wf run`: the result as JSON on stdout (exit 0); an error that nobody caught as JSON on stderr (exit 1);
// deploy-time errors, one a line, on stderr (exit 2).
type runCmd struct {
	File  string   `arg:"" help:"The workflow, YAML or JSON; - for standard input."`
	Args  string   `help:"The argument: JSON, or @FILE." placeholder:"JSON"`
	Env   []string `help:"A variable for sys.get_env; may be repeated." placeholder:"K=V" sep:"none"`
	Stubs string   `help:"A file that says what connectors and URLs answer. With it, built-in stubs answer too." placeholder:"FILE"`
	Clock string   `help:"real, or virtual: sleeps and backoff take no time." enum:"real,virtual" default:"real"`
	Trace bool     `help:"Print each step to stderr."`
}

// Run executes the workflow.
func (c *runCmd) Run(ctx context.Context, s streams) error {
	source, err := readSource(c.File, s.in)
	if err != nil {
		return usage("%v", err)
	}
	argument, err := c.argument()
	if err != nil {
		return err
	}
	cfg, err := c.config(s)
	if err != nil {
		return err
	}
	workflow, err := syntax.Parse(c.File, source)
	if err != nil {
		return &exitError{exitDeploy, err}
	}
	program, err := engine.Compile(workflow)
	if err != nil {
		return &exitError{exitDeploy, err}
	}
	result, err := program.Run(ctx, argument, cfg)
	if err != nil {
		return reportError(err, s)
	}
	fmt.Fprintf(s.out, "%s\n", result)
	return nil
}

func readSource(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}

func (c *runCmd) argument() (json.RawMessage, error) {
	raw := []byte(c.Args)
	if name, ok := strings.CutPrefix(c.Args, "@"); ok {
		var err error
		if raw, err = os.ReadFile(name); err != nil {
			return nil, usage("%v", err)
		}
	}
	if len(raw) > 0 && !json.Valid(raw) {
		return nil, usage("-args is no JSON: %s", raw)
	}
	return raw, nil
}

func (c *runCmd) config(s streams) (engine.Config, error) {
	cfg := engine.Config{Env: map[string]string{}, Log: func(e engine.LogEntry) { printLog(s.err, e) }}
	for _, kv := range c.Env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return cfg, usage("-env wants K=V, not %q", kv)
		}
		cfg.Env[k] = v
	}
	start := time.Now()
	if c.Clock == "virtual" {
		cfg.Clock = engine.NewVirtual(start)
	}
	if c.Trace {
		cfg.OnStep = tracer(s.err, start)
	}
	if c.Stubs != "" {
		if err := useStubs(&cfg, c.Stubs); err != nil {
			return cfg, usage("%v", err)
		}
	}
	return cfg, nil
}

// reportError prints {"payload", "context"} as the Executions API has them, the payload as a value.
func reportError(err error, s streams) error {
	var failed *engine.Error
	report := map[string]any{"payload": err.Error(), "context": err.Error()}
	if errors.As(err, &failed) {
		report["payload"], report["context"] = failed.PayloadJSON(), failed.Context
	}
	encoder := json.NewEncoder(s.err)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(report); err != nil {
		return err
	}
	return &exitError{code: exitFailed}
}
