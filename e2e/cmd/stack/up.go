package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"example.com/runonce/e2e/idtokentest"
	"example.com/runonce/e2e/stack"
)

// up starts the stack and leaves it running until the process is told to stop.
func up(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("stack up", flag.ContinueOnError)
	lease := flags.Duration("lease", 30*time.Second, "lease of runs and steps")
	firestoreAddr := flags.String("firestore", "", "`address` of the store, host:port; empty: a free port")
	proxyAddr := flags.String("proxy", "", "`address` of the proxy, host:port; empty: a free port")
	logTo := flags.String("log", "/dev/stderr", "write the logs of proxy and functions to this `file`")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w\n%w", err, errUsage)
	}
	logs, closeLog, err := openLog(*logTo)
	if err != nil {
		return err
	}
	defer closeLog()
	s, err := stack.Start(ctx, stack.Config{Lease: *lease, FirestoreAddr: *firestoreAddr, ProxyAddr: *proxyAddr, Log: logs})
	if err != nil {
		return err
	}
	for _, sku := range []string{"lamp", "bulb"} {
		if err := s.Stock(ctx, sku, 100); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	printUp(s)
	<-ctx.Done()
	fmt.Println("\nstopping")
	return s.Close()
}

func printUp(s *stack.Stack) {
	token := s.Issuer.Token(idtokentest.Claims{Audience: stack.Audience, Email: stack.Account})
	slot := time.Now().UTC().Truncate(time.Minute).Format(time.RFC3339)
	fmt.Fprintf(os.Stdout, `The stack is up. It stops with Ctrl-C; everything in it is lost then.

For any Firestore client, the wf and runs commands:
  export %s GOOGLE_CLOUD_PROJECT=%s
Workflows Executions API: gRPC in plain text %s, REST %s
The four functions: %s

A delivery, as Cloud Scheduler sends it (a second one with the same time is a duplicate):
  export TOKEN=%s
  curl -i %s%s \
    -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
    -H 'X-CloudScheduler-JobName: %s' -H 'X-CloudScheduler-ScheduleTime: %s' \
    -d '{"argument": "{\"order\": {\"id\": \"A-1\", \"email\": \"ada@example.com\", \"currency\": \"EUR\", \"amount_cents\": 4990, \"lines\": [{\"sku\": \"lamp\", \"quantity\": 1}]}}"}'
`, s.Store.Env(), stack.Project, s.Workflows.Addr(), s.Workflows.URL(), s.Functions, token, s.URL(), stack.Path, stack.Job, slot)
}
