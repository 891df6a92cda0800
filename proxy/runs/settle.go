package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/runonce/functions/guard"
)

// settling is what every change by hand wants.
type settling struct {
	Run_   string `arg:"" name:"run" help:"The run's id."`
	Reason string `required:"" help:"Why; it is written into the record."`
	Actor  string `env:"USER" required:"" help:"Who; it is written into the record."`
	Yes    bool   `help:"Do not ask."`
	Force  bool   `help:"Even while an attempt is at work; it finds out at its next write."`
}

// ReleaseCmd gives up a claim.
type ReleaseCmd struct{ settling }

// CompleteCmd settles a run as done.
type CompleteCmd struct {
	settling
	Execution string `help:"What was started, by its resource name; duplicates get it as the answer."`
}

// RerunCmd lets a run that failed or is uncertain be started again.
type RerunCmd struct{ settling }

// Run releases.
func (c *ReleaseCmd) Run(ctx context.Context, a *app) error {
	return a.settle(ctx, c.settling, guard.Settlement{Status: guard.InProgress}, func(r guard.Record) error {
		if r.Status != guard.InProgress {
			return fmt.Errorf("the run is %s, so nobody holds it; rerun is for one that failed or is uncertain", r.Status)
		}
		return nil
	})
}

// Run completes.
func (c *CompleteCmd) Run(ctx context.Context, a *app) error {
	answer := map[string]string{}
	if c.Execution != "" {
		answer["name"] = c.Execution
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return a.settle(ctx, c.settling, guard.Settlement{Status: guard.Completed, Outcome: &guard.Outcome{Body: body}}, func(guard.Record) error { return nil })
}

// Run reruns.
func (c *RerunCmd) Run(ctx context.Context, a *app) error {
	return a.settle(ctx, c.settling, guard.Settlement{Status: guard.InProgress}, func(r guard.Record) error {
		switch r.Status {
		case guard.Completed:
			return errors.New("the run is completed, and its steps would not run again under its id; start a new one with trigger")
		case guard.InProgress:
			return errors.New("the run has not ended; release gives up its claim")
		}
		return nil
	})
}

// settle asks, checks and writes; the write is conditional on the record that was read in it.
func (a *app) settle(ctx context.Context, c settling, s guard.Settlement, may func(guard.Record) error) error {
	g, snap, err := a.get(ctx, c.Run_)
	if err != nil {
		return err
	}
	if err := may(snap.Record); err != nil {
		return err
	}
	if err := a.confirm(c.Yes, fmt.Sprintf("Run %s is %s after %d attempts; settle it as %s?", c.Run_, snap.Record.Status, snap.Record.Fence, s.Status)); err != nil {
		return err
	}
	s.Actor, s.Reason, s.Force = c.Actor, c.Reason, c.Force
	r, err := g.Settle(ctx, c.Run_, s)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"run_id": c.Run_, "status": r.Status}, [][]string{{c.Run_, string(r.Status)}})
}
