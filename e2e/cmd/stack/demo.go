package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/runonce/e2e/stack"
	"example.com/runonce/e2e/timeline"
)

func demo(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("stack demo", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print the report as JSON, and nothing else")
	page := flags.String("html", filepath.Join(os.TempDir(), "runonce-demo.html"), "write the timeline to this `file`; empty: nowhere")
	logTo := flags.String("log", "", "write the logs of proxy and functions to this `file`")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w\n%w", err, errUsage)
	}
	logs, closeLog, err := openLog(*logTo)
	if err != nil {
		return err
	}
	defer closeLog()

	tell := func(e timeline.Event) { fmt.Printf("  %5.1fs  %-10s %s\n", e.Start.Seconds(), e.Lane, e.Text) }
	if *asJSON {
		tell = nil
	} else {
		fmt.Println("One firing of a Cloud Scheduler job, on its way through everything that can break:")
	}
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	report, err := stack.Demo(ctx, stack.Config{Record: stack.NewRecorder(tell), Log: logs})
	if err != nil {
		return err
	}
	if err := writePage(report, *page); err != nil {
		return err
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(report)
	} else {
		fmt.Println("\nWhat it came to:")
		if err = report.Print(os.Stdout); err == nil && *page != "" {
			fmt.Println("timeline:", *page)
		}
	}
	if err == nil && report.Violations > 0 {
		return fmt.Errorf("%d violations", report.Violations)
	}
	return err
}

func writePage(r stack.Report, file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	return errors.Join(r.WriteTimeline(f), f.Close())
}

func openLog(file string) (io.Writer, func(), error) {
	if file == "" {
		return io.Discard, func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}
