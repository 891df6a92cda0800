package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
)

// ListCmd lists runs.
type ListCmd struct {
	Status string        `help:"Only runs of this status." enum:",in_progress,completed,failed,uncertain" default:""`
	Job    string        `help:"Only runs of this Scheduler job, or of this name at another source."`
	Older  time.Duration `help:"Only runs whose record was not written for so long."`
	Limit  int           `help:"How many at most." default:"100"`
}

// row is one record in a list, with the fields of functions/guard and, of the input, the proxy's.
type row struct {
	RunID   string    `json:"run_id"`
	Status  string    `json:"status"`
	Fence   int64     `json:"attempts"`
	Job     string    `json:"job,omitempty"`
	Slot    time.Time `json:"slot,omitzero"`
	Target  string    `json:"target,omitempty"`
	Updated time.Time `json:"updated"`
	Failure string    `json:"failure,omitempty"`
}

var runToken = regexp.MustCompile(`^[0-9a-f]{64}$`)

// kept is what the proxy keeps in a record's input.
type kept struct {
	Target   string    `json:"target"`
	Source   string    `json:"source"`
	Name     string    `json:"name"`
	Slot     time.Time `json:"slot"`
	Forced   bool      `json:"forced"`
	By       string    `json:"by"`
	Accepted time.Time `json:"accepted"`
}

// Run lists.
func (c *ListCmd) Run(ctx context.Context, a *app) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	query := a.db.Collection(a.cli.Collection).Query
	if c.Status != "" {
		query = query.Where("status", "==", c.Status)
	}
	it := query.OrderBy(firestore.DocumentID, firestore.Asc).Documents(ctx)
	defer it.Stop()
	found := []row{}
	for len(found) < c.Limit {
		doc, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			return fmt.Errorf("list the runs: %w", err)
		}
		if r, ok := rowOf(doc); ok && (c.Job == "" || r.Job == c.Job) && (c.Older == 0 || a.deps.Now().Sub(r.Updated) >= c.Older) {
			found = append(found, r)
		}
	}
	table := [][]string{{"RUN", "STATUS", "ATTEMPTS", "JOB", "SLOT", "AGE", "FAILURE"}}
	for _, r := range found {
		slot := ""
		if !r.Slot.IsZero() {
			slot = r.Slot.Format(time.RFC3339)
		}
		table = append(table, []string{r.RunID, r.Status, strconv.FormatInt(r.Fence, 10), r.Job, slot, a.deps.Now().Sub(r.Updated).Round(time.Second).String(), r.Failure})
	}
	return a.print(found, table)
}

// rowOf reads a document as far as a list needs; false for what is no run, as a step's record or a part of a long outcome.
func rowOf(doc *firestore.DocumentSnapshot) (row, bool) {
	var d struct {
		Token  string `firestore:"token"`
		Status string `firestore:"status"`
		Fence  int64  `firestore:"fence"`
		Input  []byte `firestore:"input"`
		Error  struct {
			Code    string `firestore:"code"`
			Message string `firestore:"message"`
		} `firestore:"error"`
	}
	if doc.DataTo(&d) != nil || d.Status == "" {
		return row{}, false
	}
	if d.Token == "" {
		d.Token = doc.Ref.ID // the record of another program
	}
	if !runToken.MatchString(d.Token) {
		return row{}, false
	}
	r := row{RunID: d.Token, Status: d.Status, Fence: d.Fence, Updated: doc.UpdateTime, Failure: d.Error.Message}
	var k kept
	if json.Unmarshal(d.Input, &k) == nil {
		r.Job, r.Slot, r.Target = k.Name, k.Slot, k.Target
	}
	return r, true
}
