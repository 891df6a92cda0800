package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"example.com/runonce/workflows/engine"
)

// tracer prints a line for each step as it ends: when it began and how long it took on the workflow's clock, its thread,
// where it stands, its kind, and the error that it ended with.
func tracer(w io.Writer, start time.Time) func(engine.StepEntry) {
	var mu sync.Mutex
	return func(e engine.StepEntry) {
		if e.State == engine.StepInProgress {
			return
		}
		kind := strings.ToLower(strings.TrimPrefix(string(e.StepType), "STEP_"))
		line := fmt.Sprintf("%9.3fs %8.3fs  thread %-5s %s/%s:%d  %s", e.CreateTime.Sub(start).Seconds(),
			e.UpdateTime.Sub(e.CreateTime).Seconds(), e.ThreadID, e.Routine, e.Step, e.Line, kind)
		if e.Iterations > 0 {
			line += fmt.Sprintf(" %d of %d", e.Iteration, e.Iterations)
		}
		if e.State != engine.StepSucceeded {
			line += " " + strings.ToLower(strings.TrimPrefix(string(e.State), "STATE_"))
		}
		if e.Exception != nil {
			if text, err := json.Marshal(e.Exception); err == nil {
				line += " " + string(text)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(w, line)
	}
}

func printLog(w io.Writer, e engine.LogEntry) {
	text := e.Text
	if e.JSON != nil {
		b, err := json.Marshal(e.JSON)
		if err != nil {
			b = []byte(err.Error())
		}
		text = string(b)
	}
	fmt.Fprintf(w, "log %s %s\n", e.Severity, text)
}
