package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSharedCases runs the cases that are kept beside the repository, where they are.
func TestSharedCases(t *testing.T) {
	raw, err := os.ReadFile("../../../shared/facts/engine-cases.json")
	if err != nil {
		t.Skipf("the shared cases are not here: %v", err)
	}
	var file struct {
		Cases []struct {
			ID, Group, YAML string
			Want            *string
			WantError       string         `json:"want_error_contains"`
			DeployError     bool           `json:"deploy_error"`
			Min             *float64       `json:"min_virtual_seconds"`
			Max             *float64       `json:"max_virtual_seconds"`
			Hits            map[string]int `json:"hits"`
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		t.Run(c.Group+"/"+c.ID, func(t *testing.T) {
			t.Parallel()
			o := runCase(t, c.YAML, "", nil)
			if o.deploy != c.DeployError {
				t.Fatalf("refused before it ran: %v (%v), want %v", o.deploy, o.err, c.DeployError)
			}
			if c.WantError != "" && (o.err == nil || !strings.Contains(o.err.Error(), c.WantError)) {
				t.Fatalf("error %v, want one that contains %q", o.err, c.WantError)
			}
			if c.Want != nil && (o.err != nil || !sameJSON(t, o.result, []byte(*c.Want))) {
				t.Fatalf("got %s, error %v, want %s", o.result, o.err, *c.Want)
			}
			if c.Min != nil && o.seconds < *c.Min || c.Max != nil && o.seconds > *c.Max {
				t.Errorf("took %g s of the clock", o.seconds)
			}
			for path, n := range c.Hits {
				if o.hits[path] != n {
					t.Errorf("%s was hit %d times, want %d", path, o.hits[path], n)
				}
			}
		})
	}
	if len(file.Cases) == 0 {
		t.Fatal(fmt.Errorf("no cases in the file"))
	}
}
