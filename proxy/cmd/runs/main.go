// Command runs is for the person on call: it lists, shows, triggers and settles the runs of the proxy. See package proxy/runs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/runonce/proxy/runs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runs.Main(ctx, os.Args[1:], runs.Deps{Stdin: os.Stdin, Stdout: os.Stdout, Environ: os.Environ()}); err != nil {
		fmt.Fprintln(os.Stderr, "runs:", err)
		stop()
		os.Exit(1)
	}
}
