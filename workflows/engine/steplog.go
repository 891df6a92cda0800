package engine

import (
	"sync/atomic"
	"time"
)

// StepEntry is one step taken, in the shape of the API's step entries (projects.locations.workflows.executions.stepEntries).
// OnStep sees it twice under the same EntryID: in progress, and ended.
type StepEntry struct {
	EntryID    int64 // counted from 1 within the execution
	Routine    string
	Step       string // the step's name; empty for an inline body
	StepType   StepType
	State      StepState
	CreateTime time.Time
	UpdateTime time.Time
	Exception  any    // the payload of the error that ended it; nil where none did
	Parent     int64  // the entry it is nested in, the calling step's for the steps of a subworkflow; 0 at the top
	Previous   int64  // the entry taken before it on the same thread; 0 for a thread's first
	ThreadID   string // "0", and for the n-th branch of a parallel step on it "0.n"
	Line       int
	// Iteration and Iterations count a loop's turns, from 1; both are 0 for other steps.
	Iteration, Iterations int64
}

// StepType is the API's name for the kind of a step.
type StepType string

// The step types of the API. StepBlock, a step of steps, has no type of its own there.
const (
	StepAssign       StepType = "STEP_ASSIGN"
	StepStdLib       StepType = "STEP_STD_LIB_CALL"
	StepConnector    StepType = "STEP_CONNECTOR_CALL"
	StepSubworkflow  StepType = "STEP_SUBWORKFLOW_CALL"
	StepSwitch       StepType = "STEP_SWITCH"
	StepFor          StepType = "STEP_FOR"
	StepForIteration StepType = "STEP_FOR_ITERATION"
	StepParallel     StepType = "STEP_PARALLEL_BRANCH"
	StepParallelFor  StepType = "STEP_PARALLEL_FOR"
	StepBranchEntry  StepType = "STEP_PARALLEL_BRANCH_ENTRY"
	StepTry          StepType = "STEP_TRY_RETRY_EXCEPT"
	StepExcept       StepType = "STEP_EXCEPT"
	StepRetry        StepType = "STEP_RETRY"
	StepReturn       StepType = "STEP_RETURN"
	StepRaise        StepType = "STEP_RAISE"
	StepGoto         StepType = "STEP_GOTO"
	StepBlock        StepType = "STEP_TYPE_UNSPECIFIED"
)

// StepState is the API's name for the state of a step.
type StepState string

// The states of a step entry.
const (
	StepInProgress StepState = "STATE_IN_PROGRESS"
	StepSucceeded  StepState = "STATE_SUCCEEDED"
	StepFailed     StepState = "STATE_FAILED"
	StepCancelled  StepState = "STATE_CANCELLED"
)

type stepLog struct{ last atomic.Int64 }

// openEntry starts an entry nested in the one under way, and makes it the one under way. The caller restores f.entry.
func (f *frame) openEntry(typ StepType, name string, line int) *StepEntry {
	now := f.x.cfg.Clock.Now()
	e := &StepEntry{
		EntryID: f.x.entries.last.Add(1), Routine: f.routine.name, Step: name, StepType: typ, State: StepInProgress,
		CreateTime: now, UpdateTime: now, Parent: f.entry, Previous: f.thread.previous, ThreadID: f.thread.id, Line: line,
	}
	f.thread.previous = e.EntryID
	f.entry = e.EntryID
	f.x.cfg.OnStep(*e)
	return e
}

func (f *frame) closeEntry(e *StepEntry, c control) {
	e.UpdateTime = f.x.cfg.Clock.Now()
	switch c.kind {
	case raising:
		e.State, e.Exception = StepFailed, c.err.Payload
	case abortRun:
		e.State = StepCancelled
	default:
		e.State = StepSucceeded
	}
	f.x.cfg.OnStep(*e)
}

// runLogged takes a step within an entry. Inline bodies have no entry of their own.
func (f *frame) runLogged(s *step, entry string, outer *step, outerEntry int64) control {
	defer func() { f.current, f.entry = outer, outerEntry }()
	if s.name == "" {
		return f.take(s, entry)
	}
	e := f.openEntry(s.typ, s.name, s.line)
	c := f.take(s, entry)
	f.closeEntry(e, c)
	return c
}

// turn runs a loop's body once, within an entry of its own.
func (f *frame) turn(b *block, i, of int64) control {
	if f.x.cfg.OnStep == nil {
		return f.runBlock(b, "")
	}
	return f.within(StepForIteration, i, of, func() control { return f.runBlock(b, "") })
}

// within runs do inside an entry that has no name of its own but the step's under way. Only called where OnStep is set.
func (f *frame) within(typ StepType, i, of int64, do func() control) control {
	outer := f.entry
	defer func() { f.entry = outer }()
	here := f.here()
	e := f.openEntry(typ, here.Step, here.Line)
	if of > 0 {
		e.Iteration, e.Iterations = i+1, of
	}
	c := do()
	f.closeEntry(e, c)
	return c
}
