package workflowstest

import (
	"slices"
	"sync"

	"example.com/runonce/workflows/engine"
)

// ran is what an execution has done so far: step entries and logs, written from the engine's goroutines.
type ran struct {
	mu    sync.Mutex
	steps []engine.StepEntry // the n-th has the id n+1; one that is not there yet has none
	last  engine.StepEntry   // the named step that was entered last
	logs  []engine.LogEntry
}

func (r *ran) step(e engine.StepEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if missing := int(e.EntryID) - len(r.steps); missing > 0 { // branches may overtake one another
		r.steps = append(r.steps, make([]engine.StepEntry, missing)...)
	}
	r.steps[e.EntryID-1] = e
	if e.Step != "" && e.EntryID > r.last.EntryID {
		r.last = e
	}
}

func (r *ran) log(e engine.LogEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, e)
}

// current is the step under way, or the last one.
func (r *ran) current() (engine.StepEntry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.last.EntryID > 0
}

// entries are the step entries in the order of their ids.
func (r *ran) entries() []engine.StepEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.steps), func(e engine.StepEntry) bool { return e.EntryID == 0 })
}

// forget drops the step entries.
func (r *ran) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = nil
}

func (r *ran) logged() []engine.LogEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.logs)
}
