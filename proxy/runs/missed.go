package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"google.golang.org/api/iterator"
)

// MissedCmd compares the slots that a schedule expects with the records.
type MissedCmd struct {
	Cron  string        `required:"" help:"The job's schedule, unix-cron."`
	Job   string        `required:"" help:"The Scheduler job."`
	Zone  string        `help:"The job's time zone." default:"UTC"`
	Since time.Duration `help:"How far back to look." default:"24h"`
	Grace time.Duration `help:"Slots younger than this may still be on their way." default:"10m"`
}

// slot is one that has no finished run.
type slot struct {
	Slot   time.Time `json:"slot"`
	Status string    `json:"status"` // missed, or that of the record
	RunID  string    `json:"run_id,omitempty"`
}

// maxSlots bounds one look; more of them want a shorter Since.
const maxSlots = 100_000

// Run compares. A slot counts as there if a record of the job is within half a minute of it: the time that the Scheduler sends has a fraction.
func (c *MissedCmd) Run(ctx context.Context, a *app) error {
	schedule, err := cron.ParseStandard(c.Cron)
	if err != nil {
		return fmt.Errorf("cron %q: %w", c.Cron, err)
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return fmt.Errorf("zone %q: %w", c.Zone, err)
	}
	seen, err := a.slotsOf(ctx, c.Job)
	if err != nil {
		return err
	}
	now := a.deps.Now()
	missed := []slot{}
	at := schedule.Next(now.Add(-c.Since).In(zone))
	for n := 0; !at.IsZero() && at.Before(now.Add(-c.Grace)); at = schedule.Next(at) {
		if n++; n > maxSlots {
			return fmt.Errorf("more than %d slots; look back less far than %v", maxSlots, c.Since)
		}
		switch r, ok := seen[at.UTC().Truncate(time.Minute)]; {
		case !ok:
			missed = append(missed, slot{Slot: at.UTC(), Status: "missed"})
		case r.Status != "completed":
			missed = append(missed, slot{Slot: at.UTC(), Status: r.Status, RunID: r.RunID})
		}
	}
	table := [][]string{{"SLOT", "STATUS", "RUN"}}
	for _, m := range missed {
		table = append(table, []string{m.Slot.Format(time.RFC3339), m.Status, orDash(m.RunID)})
	}
	return a.print(missed, table)
}

// slotsOf reads the job's runs by the minute that their slot is nearest to.
func (a *app) slotsOf(ctx context.Context, job string) (map[time.Time]row, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	it := a.db.Collection(a.cli.Collection).Documents(ctx)
	defer it.Stop()
	seen := map[time.Time]row{}
	for {
		doc, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return seen, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the runs: %w", err)
		}
		r, ok := rowOf(doc)
		if !ok || r.Job != job || r.Slot.IsZero() {
			continue
		}
		minute := r.Slot.UTC().Round(time.Minute)
		if old, ok := seen[minute]; !ok || old.Status != "completed" {
			seen[minute] = r
		}
	}
}
