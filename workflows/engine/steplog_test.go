package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// recordSteps runs a workflow and returns its ended entries in the order in which they began, as "thread routine/step
// type state", with the parent's number behind.
func recordSteps(t *testing.T, yaml string) ([]string, outcome) {
	t.Helper()
	var mu sync.Mutex
	started := map[int64]StepEntry{}
	ended := map[int64]StepEntry{}
	o := runCase(t, yaml, "", func(c *Config, _ *callee) {
		c.Clock = NewDeterministic(epoch)
		c.OnStep = func(e StepEntry) {
			mu.Lock()
			defer mu.Unlock()
			if e.State == StepInProgress {
				started[e.EntryID] = e
				return
			}
			if s, ok := started[e.EntryID]; !ok || s.Step != e.Step || s.CreateTime != e.CreateTime {
				t.Errorf("entry %d ended without having begun", e.EntryID)
			}
			ended[e.EntryID] = e
		}
	})
	if len(started) != len(ended) {
		t.Errorf("%d entries began, %d ended", len(started), len(ended))
	}
	var lines []string
	for id := int64(1); id <= int64(len(ended)); id++ {
		e := ended[id]
		line := fmt.Sprintf("%d %s %s/%s %s %s <%d", id, e.ThreadID, e.Routine, e.Step,
			strings.TrimPrefix(string(e.StepType), "STEP_"), strings.TrimPrefix(string(e.State), "STATE_"), e.Parent)
		lines = append(lines, line)
	}
	return lines, o
}

func TestStepEntries(t *testing.T) {
	t.Parallel()
	got, o := recordSteps(t, `
main:
  steps:
    - start:
        assign: [{n: 0}]
    - fetch:
        try:
          call: http.get
          args: {url: BASE/flaky503}
        retry: ${http.default_retry}
    - each:
        for:
          value: v
          in: [1, 2]
          steps:
            - add:
                call: sub
    - both:
        parallel:
          branches:
            - left:
                steps:
                  - wait:
                      call: sys.sleep
                      args: {seconds: 1}
            - right:
                steps:
                  - fail:
                      raise: no
sub:
  steps:
    - nothing:
        return: 1
`)
	want := []string{
		"1 0 main/start ASSIGN SUCCEEDED <0",
		"2 0 main/fetch TRY_RETRY_EXCEPT SUCCEEDED <0",
		"3 0 main/fetch RETRY FAILED <2",
		"4 0 main/fetch RETRY SUCCEEDED <2",
		"5 0 main/each FOR SUCCEEDED <0",
		"6 0 main/each FOR_ITERATION SUCCEEDED <5",
		"7 0 main/add SUBWORKFLOW_CALL SUCCEEDED <6",
		"8 0 sub/nothing RETURN SUCCEEDED <7",
		"9 0 main/each FOR_ITERATION SUCCEEDED <5",
		"10 0 main/add SUBWORKFLOW_CALL SUCCEEDED <9",
		"11 0 sub/nothing RETURN SUCCEEDED <10",
		"12 0 main/both PARALLEL_BRANCH FAILED <0",
		"13 0.0 main/left PARALLEL_BRANCH_ENTRY SUCCEEDED <12",
		"14 0.0 main/wait STD_LIB_CALL SUCCEEDED <13",
		"15 0.1 main/right PARALLEL_BRANCH_ENTRY FAILED <12",
		"16 0.1 main/fail RAISE FAILED <15",
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(o.tags()) == 0 || o.tags()[0] != UnhandledBranchError {
		t.Errorf("error %v", o.err)
	}
}

// TestDeterministicRunsAreAlike runs branches that race on the clock, many times, and wants the same steps every time.
func TestDeterministicRunsAreAlike(t *testing.T) {
	t.Parallel()
	yaml := `
- start:
    assign: [{order: []}]
- go:
    parallel:
      shared: [order]
      for:
        value: v
        in: [3, 1, 2, 1, 3]
        steps:
          - one:
              assign: [{order: '${list.concat(order, v)}'}]
          - wait:
              call: sys.sleep
              args: {seconds: '${v}'}
          - two:
              assign: [{order: '${list.concat(order, v * 10)}'}]
- done:
    return: ${order}
`
	first, o := recordSteps(t, yaml)
	if want := `[3,1,2,1,3,10,10,20,30,30]`; string(o.result) != want {
		t.Errorf("got %s, error %v, want %s", o.result, o.err, want)
	}
	for range 20 {
		if again, _ := recordSteps(t, yaml); !slices.Equal(first, again) {
			t.Fatalf("the steps differ:\n%s\n\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
		}
	}
}

func TestEntriesCarryTheClock(t *testing.T) {
	t.Parallel()
	var last StepEntry
	runCase(t, "- wait:\n    call: sys.sleep\n    args: {seconds: 90}\n", "", func(c *Config, _ *callee) {
		c.OnStep = func(e StepEntry) { last = e }
	})
	if got := last.UpdateTime.Sub(last.CreateTime); got != 90*time.Second {
		t.Errorf("the step took %v, want 90s", got)
	}
}
