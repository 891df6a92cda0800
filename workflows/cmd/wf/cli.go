package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/alecthomas/kong"
)

// cli is the command line: a field for each subcommand.
type cli struct {
	Run runCmd `cmd:"" help:"Run a workflow in-process and print its result."`
}

// streams are what a subcommand reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes. A subcommand returns an exitError to pick one; any other error is exitFailed.
const (
	exitOK     = 0
	exitFailed = 1 // the workflow failed, or the check found something
	exitDeploy = 2 // the workflow does not deploy
	exitUsage  = 3
)

type exitError struct {
	code int
	err  error // nil where everything is said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// realMain parses args, runs the subcommand and returns the exit code.
func realMain(ctx context.Context, args []string, s streams) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("wf"), kong.Description("Tools for Google Cloud Workflows files."),
		kong.Writers(s.out, s.err), kong.Exit(func(code int) { exited = code }), kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s))
	if err != nil {
		fmt.Fprintln(s.err, "wf:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(longFlags(args))
	if exited >= 0 { // --help printed its page
		return exited
	}
	if err != nil {
		fmt.Fprintln(s.err, "wf:", err)
		return exitUsage
	}
	return exitCode(parsed.Run(), s)
}

func exitCode(err error, s streams) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		if e.err != nil {
			fmt.Fprintln(s.err, "wf:", e.err)
		}
		return e.code
	}
	fmt.Fprintln(s.err, "wf:", err)
	return exitFailed
}

var singleDash = regexp.MustCompile(`^-[a-z][a-z-]+(=.*)?$`)

// longFlags lets every flag be written with one dash, as Go's own tools have it: -args is --args.
func longFlags(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if singleDash.MatchString(a) {
			a = "-" + a
		}
		out[i] = a
	}
	return out
}
