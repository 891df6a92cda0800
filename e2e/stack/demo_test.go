package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if IsChild() {
		if err := RunChild(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestDemo is the slice: one firing through everything, with a killed proxy, lost answers and duplicates.
// R7-R12, R15, R16, R20, R21, R24; B1, B17, B18.
func TestDemo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := Demo(ctx, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range r.Wrong {
		t.Error(wrong)
	}
	if r.Deliveries != 5 || r.Runs != 1 || r.Executions != 1 {
		t.Errorf("got %d deliveries, %d runs, %d executions; want 5, 1, 1", r.Deliveries, r.Runs, r.Executions)
	}
	if r.Refused+r.Replayed == 0 || r.Takeovers < 1 {
		t.Errorf("got %d refused, %d replayed, %d taken over; want some, and 1 or more", r.Refused, r.Replayed, r.Takeovers)
	}
	if len(r.Effects) != 6 {
		t.Errorf("got effects %v; want reserve, charge, three shipments, notify", r.Effects)
	}
	if r.Calls != len(r.Effects)+1 {
		t.Errorf("got %d calls of functions, want one each and one again for the lost answer", r.Calls)
	}
	var page, table strings.Builder
	if err := r.WriteTimeline(&page); err != nil {
		t.Error(err)
	}
	if err := r.Print(&table); err != nil || !strings.Contains(table.String(), "exactly once: yes") {
		t.Errorf("table: %v\n%s", err, table.String())
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"deliveries", "runs", "executions", "calls", "effects", "refused", "replayed", "takeovers", "violations"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("the JSON has no %q: %s", k, b)
		}
	}
}
