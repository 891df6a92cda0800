package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"example.com/runonce/functions/guard"
)

// ShowCmd shows one run.
type ShowCmd struct {
	Run_ string `arg:"" name:"run" help:"The run's id."`
}

// shown is all that the store knows of a run. What was asked for (the argument) is left out: it may be nobody's business.
type shown struct {
	RunID    string               `json:"run_id"`
	Status   guard.Status         `json:"status"`
	Alive    bool                 `json:"alive"`
	Fence    int64                `json:"fence"`
	Updated  time.Time            `json:"updated"`
	Job      string               `json:"job,omitempty"`
	Slot     time.Time            `json:"slot,omitzero"`
	Source   string               `json:"source,omitempty"`
	Target   string               `json:"target,omitempty"`
	By       string               `json:"by,omitempty"`
	Started  string               `json:"started,omitempty"`
	Failure  *guard.Failure       `json:"failure,omitempty"`
	Attempts []guard.AttemptEntry `json:"attempts"`
	Steps    []step               `json:"steps"`
}

type step struct {
	Token  string `json:"token"`
	Status string `json:"status"`
	Fence  int64  `json:"fence"`
}

// Run shows.
func (c *ShowCmd) Run(ctx context.Context, a *app) error {
	_, snap, err := a.get(ctx, c.Run_)
	if err != nil {
		return err
	}
	r := snap.Record
	s := shown{
		RunID: c.Run_, Status: r.Status, Fence: r.Fence, Updated: snap.UpdatedAt, Failure: r.Failure, Attempts: r.Attempts,
		Alive: r.Status == guard.InProgress && (r.Lease == nil || snap.ReadAt.Before(snap.UpdatedAt.Add(*r.Lease))),
	}
	var k kept
	if json.Unmarshal(r.Input, &k) == nil {
		s.Job, s.Slot, s.Source, s.Target, s.By = k.Name, k.Slot, k.Source, k.Target, k.By
	}
	if r.Outcome != nil {
		s.Started = nameIn(r.Outcome.Body)
	}
	if s.Steps, err = a.steps(ctx, c.Run_); err != nil {
		return err
	}
	table := [][]string{
		{"run", s.RunID}, {"status", string(s.Status)}, {"alive", strconv.FormatBool(s.Alive)}, {"updated", s.Updated.Format(time.RFC3339)},
		{"job", s.Job}, {"source", s.Source}, {"target", s.Target}, {"by", s.By}, {"started", s.Started},
	}
	if s.Failure != nil {
		table = append(table, []string{"failure", s.Failure.Code + ": " + s.Failure.Message})
	}
	for _, e := range s.Attempts {
		table = append(table, []string{fmt.Sprintf("attempt %d", e.Fence), e.ClaimedAt.Format(time.RFC3339) + "  " + orDash(e.Ended) + "  " + e.Note})
	}
	for _, p := range s.Steps {
		table = append(table, []string{"step", p.Token + "  " + p.Status + fmt.Sprintf("  fence %d", p.Fence)})
	}
	return a.print(s, table)
}

// nameIn finds what was started in the recorded answer: an execution, or what an operation is about.
func nameIn(body []byte) string {
	var r struct {
		Name     string `json:"name"`
		Metadata struct {
			Name  string `json:"name"`
			Build struct {
				ID string `json:"id"`
			} `json:"build"`
		} `json:"metadata"`
	}
	if json.Unmarshal(body, &r) != nil {
		return ""
	}
	for _, name := range []string{r.Metadata.Name, r.Metadata.Build.ID, r.Name} {
		if name != "" {
			return name
		}
	}
	return ""
}

// steps lists the records of the run's steps, whose tokens begin with the run id and a slash.
func (a *app) steps(ctx context.Context, runID string) ([]step, error) {
	it := a.db.Collection(a.cli.Collection).Where("token", ">=", runID+"/").Where("token", "<", runID+"0").OrderBy("token", firestore.Asc).Documents(ctx)
	defer it.Stop()
	steps := []step{}
	for {
		doc, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return steps, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the steps: %w", err)
		}
		var d struct {
			Token  string `firestore:"token"`
			Status string `firestore:"status"`
			Fence  int64  `firestore:"fence"`
		}
		if err := doc.DataTo(&d); err != nil {
			return nil, fmt.Errorf("read the step %s: %w", doc.Ref.ID, err)
		}
		steps = append(steps, step{d.Token, d.Status, d.Fence})
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
