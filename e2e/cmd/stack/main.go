// Command stack runs the whole path on this machine, with nothing but itself.
//
//	stack demo [-json] [-html FILE]   one firing, five deliveries, lost answers, a killed proxy; exit status 1 on a violation
//	stack up [-lease 30s]             leaves everything running and prints how to call it
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/runonce/e2e/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := realMain
	if stack.IsChild() {
		run = func(ctx context.Context, _ []string) error { return stack.RunChild(ctx) }
	}
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: stack demo [-json] [-html FILE] [-log FILE] | stack up [-lease 30s] [-firestore ADDR] [-proxy ADDR] [-log FILE]")

func realMain(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "demo":
		return demo(ctx, args[1:])
	case "up":
		return up(ctx, args[1:])
	}
	return fmt.Errorf("there is no %q: %w", args[0], errUsage)
}
