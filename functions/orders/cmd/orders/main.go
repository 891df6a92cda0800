// Command orders serves the four functions of the sample from one binary, each under its name in lower case.
// It reads PORT (default 8080) and the variables of orders.Config, and drains within 10 s of SIGTERM.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"example.com/runonce/functions/orders"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := realMain(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func realMain(ctx context.Context) (err error) {
	app, err := orders.FromEnv(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	ln, err := net.Listen("tcp", net.JoinHostPort("", port))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return app.Serve(ctx, ln)
}
