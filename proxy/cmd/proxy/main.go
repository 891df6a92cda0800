// Command proxy is the service that starts each run of a Cloud Scheduler job once. It is configured by environment variables (see
// proxy.Config); -check prints the effective configuration and what is wrong with it, and exits with 1 if something is.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"example.com/runonce/proxy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := realMain(ctx, os.Args[1:], os.Environ(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		stop()
		os.Exit(1)
	}
}

func realMain(ctx context.Context, args, environ []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	check := flags.Bool("check", false, "print the effective configuration and what is wrong with it, and serve nothing")
	listen := flags.String("listen", "", "address to listen on, host:port; overrides LISTEN and PORT")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg, err := proxy.FromEnv(environ)
	if err != nil {
		return err
	}
	if *listen != "" {
		cfg.Listen = *listen
	}
	if *check {
		return printCheck(cfg, stdout)
	}
	s, err := proxy.New(ctx, cfg, proxy.Deps{})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func printCheck(cfg proxy.Config, w io.Writer) error {
	warnings, err := cfg.Validate()
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(cfg.WithDefaults()); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	fmt.Fprintln(w, "ok")
	return nil
}
