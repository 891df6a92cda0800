package workflowstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	rest "google.golang.org/api/workflowexecutions/v1"

	"example.com/runonce/workflows/engine"
)

// entriesOf are the step entries of an execution, as the API shows them.
func (s *Server) entriesOf(execution string) ([]*rest.StepEntry, error) {
	s.mu.Lock()
	e, err := s.execution(execution)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	steps := e.ran.entries()
	out := make([]*rest.StepEntry, len(steps))
	for i, step := range steps {
		out[i] = restStep(execution, step)
	}
	navigate(out)
	return out, nil
}

// navigate links each entry with its children, and with its neighbours: those with the same parent on the same thread.
func navigate(entries []*rest.StepEntry) {
	type row struct {
		parent int64
		thread string
	}
	byID, last := map[int64]*rest.StepEntry{}, map[row]*rest.StepEntry{}
	for _, e := range entries {
		byID[e.EntryId] = e
		at := row{e.NavigationInfo.Parent, e.StepEntryMetadata.ThreadId}
		if before := last[at]; before != nil {
			before.NavigationInfo.Next, e.NavigationInfo.Previous = e.EntryId, before.EntryId
		}
		last[at] = e
		parent := byID[at.parent]
		if parent == nil {
			continue
		}
		parent.NavigationInfo.Children = append(parent.NavigationInfo.Children, e.EntryId)
		if e.StepType == string(engine.StepForIteration) && parent.StepType == string(engine.StepParallelFor) {
			e.StepEntryMetadata.ProgressType = "PROGRESS_TYPE_PARALLEL_FOR"
		}
	}
}

func restStep(execution string, s engine.StepEntry) *rest.StepEntry {
	out := &rest.StepEntry{
		Name: fmt.Sprintf("%s/stepEntries/%d", execution, s.EntryID), EntryId: s.EntryID, Routine: s.Routine, Step: s.Step,
		StepType: string(s.StepType), State: string(s.State),
		CreateTime: stampOf(s.CreateTime), UpdateTime: stampOf(s.UpdateTime),
		NavigationInfo:    &rest.NavigationInfo{Parent: s.Parent},
		StepEntryMetadata: &rest.StepEntryMetadata{ThreadId: s.ThreadID, ProgressNumber: s.Iteration, ExpectedIteration: s.Iterations},
	}
	if s.Exception != nil {
		payload, err := json.Marshal(s.Exception)
		if err != nil {
			payload = strconv.AppendQuote(nil, fmt.Sprint(s.Exception))
		}
		out.Exception = &rest.Exception{Payload: string(payload)}
	}
	switch s.StepType {
	case engine.StepForIteration:
		out.StepEntryMetadata.ProgressType = "PROGRESS_TYPE_FOR"
	case engine.StepBranchEntry:
		out.StepEntryMetadata.ProgressType = "PROGRESS_TYPE_PARALLEL_BRANCH"
	case engine.StepRetry:
		out.StepEntryMetadata.ProgressType = "PROGRESS_TYPE_RETRY"
	}
	return out
}

const maxSteps = 1000

func restListSteps(s *Server, c *restCall) (any, error) {
	match, err := stepFields.filter(c.query.Get("filter"))
	if err != nil {
		return nil, err
	}
	compare, err := stepOrder.by(c.query.Get("orderBy"), "entryId")
	if err != nil {
		return nil, err
	}
	size, err := c.number("pageSize")
	if err != nil {
		return nil, err
	}
	skip, err := c.number("skip")
	if err != nil {
		return nil, err
	}
	p, err := pageOf(size, c.query.Get("pageToken"), maxSteps, maxSteps, c.name, c.query.Get("filter"), c.query.Get("orderBy"))
	if err != nil {
		return nil, err
	}
	entries, err := s.entriesOf(ownerOf(c.name + "/-"))
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e *rest.StepEntry) bool { return !match(e) })
	slices.SortStableFunc(entries, compare)
	out := &rest.ListStepEntriesResponse{TotalSize: int64(len(entries))}
	p.skip += max(0, int(skip)) // counted from the page that is asked for
	out.StepEntries, out.NextPageToken = cut(p, entries)
	return out, nil
}

func restGetStep(s *Server, c *restCall) (any, error) {
	entries, err := s.entriesOf(ownerOf(c.name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name == c.name {
			return e, nil
		}
	}
	return nil, notFound(c.name)
}

// stepTime reads back what restStep wrote.
func stepTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text) // our own
	return at
}

var stepOrder = ordering[*rest.StepEntry]{
	"entryId":    func(a, b *rest.StepEntry) int { return cmp.Compare(a.EntryId, b.EntryId) },
	"createTime": func(a, b *rest.StepEntry) int { return stepTime(a.CreateTime).Compare(stepTime(b.CreateTime)) },
	"updateTime": func(a, b *rest.StepEntry) int { return stepTime(a.UpdateTime).Compare(stepTime(b.UpdateTime)) },
	"routine":    func(a, b *rest.StepEntry) int { return strings.Compare(a.Routine, b.Routine) },
	"step":       func(a, b *rest.StepEntry) int { return strings.Compare(a.Step, b.Step) },
	"stepType":   func(a, b *rest.StepEntry) int { return strings.Compare(a.StepType, b.StepType) },
	"state":      func(a, b *rest.StepEntry) int { return strings.Compare(a.State, b.State) },
}

var stepFields = fields[*rest.StepEntry]{
	"entryId":    numberField(func(e *rest.StepEntry) int64 { return e.EntryId }),
	"parent":     numberField(func(e *rest.StepEntry) int64 { return e.NavigationInfo.Parent }),
	"createTime": timeField(func(e *rest.StepEntry) time.Time { return stepTime(e.CreateTime) }),
	"updateTime": timeField(func(e *rest.StepEntry) time.Time { return stepTime(e.UpdateTime) }),
	"routine":    textField(func(e *rest.StepEntry) string { return e.Routine }),
	"step":       textField(func(e *rest.StepEntry) string { return e.Step }),
	"stepType":   textField(func(e *rest.StepEntry) string { return e.StepType }),
	"state": func(r restriction) (func(*rest.StepEntry) bool, error) { // documented with and without the prefix
		r.value = strings.TrimPrefix(r.value, "STATE_")
		state := func(e *rest.StepEntry) string { return strings.TrimPrefix(e.State, "STATE_") }
		return wordField(state, "IN_PROGRESS", "SUCCEEDED", "FAILED", "CANCELLED")(r)
	},
}
