package stack

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/runonce/e2e/timeline"
	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/orders"
)

// Report is what one firing came to. The JSON is the demo's -json.
type Report struct {
	Deliveries int            `json:"deliveries"`
	Runs       int            `json:"runs"`
	Executions int            `json:"executions"`
	Calls      int            `json:"calls"`
	Effects    map[string]int `json:"effects"` // by step, counted in the world and not by the guard
	Refused    int            `json:"refused"`
	Replayed   int            `json:"replayed"`
	Takeovers  int            `json:"takeovers"`
	Violations int            `json:"violations"`

	// Wrong says what the violations are.
	Wrong  []string         `json:"-"`
	Events []timeline.Event `json:"-"`
	Took   time.Duration    `json:"-"`
}

// ExactlyOnce is the verdict.
func (r Report) ExactlyOnce() string {
	if r.Violations > 0 {
		return "no"
	}
	return "yes"
}

// report counts what was sent, what the records say and what the world saw.
func (d *demo) report(ctx context.Context) (Report, error) {
	r := Report{Executions: len(d.Workflows.Executions()), Took: time.Since(d.rec.began)}
	for _, a := range d.Scheduler.Attempts() {
		r.Deliveries++
		r.count(a.Status, a.Header.Get(guard.ReplayedHeader) == "true")
	}
	for _, c := range d.rec.Calls() {
		r.Calls++
		r.count(c.Status, c.Replayed)
	}
	records, err := d.DB.Collection("runonce").Documents(ctx).GetAll()
	if err != nil {
		return r, fmt.Errorf("read the records: %w", err)
	}
	for _, doc := range records {
		var rec struct {
			Token string `firestore:"token"`
			Fence int    `firestore:"fence"`
		}
		if err := doc.DataTo(&rec); err != nil {
			return r, fmt.Errorf("read the records: %w", err)
		}
		if !strings.Contains(rec.Token, "/") {
			r.Runs++
		}
		r.Takeovers += max(rec.Fence-1, 0)
	}
	if r.Effects, err = d.effects(ctx); err != nil {
		return r, err
	}
	r.judge(d)
	r.Events = d.rec.Events()
	return r, nil
}

func (r *Report) count(status int, replayed bool) {
	switch {
	case replayed:
		r.Replayed++
	case status == http.StatusConflict:
		r.Refused++
	}
}

// effects looks at the world: what is missing on the shelf, what was shipped, charged and mailed.
func (d *demo) effects(ctx context.Context) (map[string]int, error) {
	out := map[string]int{"reserve": 0, "charge": 0, "notify": 0}
	wanted := map[string]int64{}
	for _, l := range demoLines {
		wanted[l.SKU] += l.Quantity
	}
	for sku, units := range wanted {
		doc, err := d.DB.Collection("stock").Doc(orders.StockID(sku)).Get(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at the stock: %w", err)
		}
		var s orders.Stock
		if err := doc.DataTo(&s); err != nil {
			return nil, fmt.Errorf("look at the stock: %w", err)
		}
		out["reserve"] = max(out["reserve"], int((stocked-s.OnHand)/units))
	}
	for i := range demoLines {
		out[fmt.Sprintf("ship/%d", i)] = 0
	}
	for token, n := range d.shipped(ctx) {
		out[step(token)] += n
	}
	done := d.Shop.Effects()
	out["charge"], out["notify"] = done["charge"], done["mail"]
	return out, nil
}

// shipped counts the shipments by the token of the step that made them.
func (d *demo) shipped(ctx context.Context) map[string]int {
	out := map[string]int{}
	docs, err := d.DB.Collection("shipments").Documents(ctx).GetAll()
	if err != nil {
		return out // shows as no effect
	}
	for _, doc := range docs {
		var s orders.Shipment
		if doc.DataTo(&s) == nil {
			out[s.Step]++
		}
	}
	return out
}

// judge lists what is not as it must be.
func (r *Report) judge(d *demo) {
	wrong := func(format string, args ...any) { r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...)) }
	if r.Runs != 1 {
		wrong("%d runs, want 1", r.Runs)
	}
	if r.Executions != 1 {
		wrong("%d executions, want 1", r.Executions)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Effects)) {
		if n := r.Effects[name]; n != 1 {
			wrong("%s happened %d times, want 1", name, n)
		}
	}
	for _, e := range d.Workflows.Executions() {
		if e.State != "SUCCEEDED" {
			wrong("execution is %s: %s", e.State, e.Error)
		}
	}
	r.Violations = len(r.Wrong)
}

// Rows is the table of the report, for the terminal and the page.
func (r Report) Rows() []timeline.Row {
	row := func(name string, n int, note string) timeline.Row {
		return timeline.Row{Name: name, Value: fmt.Sprint(n), Note: note}
	}
	rows := []timeline.Row{
		row("deliveries", r.Deliveries, "of one firing: one to a proxy that was killed, two at once"),
		row("runs", r.Runs, "claimed in Firestore"),
		row("executions", r.Executions, "started, although the answer of one CreateExecution was lost"),
		row("calls", r.Calls, "of functions, one of whose answers was lost"),
	}
	for _, name := range slices.Sorted(maps.Keys(r.Effects)) {
		rows = append(rows, row("effect "+name, r.Effects[name], effectNotes[strings.SplitN(name, "/", 2)[0]]))
	}
	return append(rows,
		row("refused", r.Refused, "duplicates that were told to come back (409)"),
		row("replayed", r.Replayed, "duplicates that got the recorded answer"),
		row("taken over", r.Takeovers, "claims of an attempt that died, after its lease"),
		row("violations", r.Violations, strings.Join(r.Wrong, "; ")),
	)
}

var effectNotes = map[string]string{
	"reserve": "stock taken off the shelf (guard.Tx)", "charge": "card charged (guard.Do)",
	"ship": "shipment written (guard.Write)", "notify": "mail sent (guard.Handler)",
}

// Print writes the table and the verdict.
func (r Report) Print(w io.Writer) error {
	var b strings.Builder
	for _, row := range r.Rows() {
		fmt.Fprintf(&b, "  %-15s %4s   %s\n", row.Name, row.Value, row.Note)
	}
	fmt.Fprintf(&b, "\nexactly once: %s\n", r.ExactlyOnce())
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteTimeline writes the run as a page.
func (r Report) WriteTimeline(w io.Writer) error {
	return timeline.Write(w, timeline.Page{
		Title: "runonce: one firing, five deliveries", Verdict: "exactly once: " + r.ExactlyOnce(), OK: r.Violations == 0,
		Rows: r.Rows(), Lanes: Lanes, Events: r.Events,
	})
}

func hasSuffix(method, name string) bool { return strings.HasSuffix(method, name) }
