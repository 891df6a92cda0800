package engine

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/runonce/workflows/syntax"
)

// TestLibraryIsTheLanguages checks that the engine has exactly the functions that deploy-time checks let through, and that
// STDLIB.md has a row for each, with its parameters.
func TestLibraryIsTheLanguages(t *testing.T) {
	t.Parallel()
	rows := stdlibRows(t)
	for name, f := range syntax.Functions {
		if library[name] == nil {
			t.Errorf("%s is in syntax.Functions, but the engine does not have it", name)
		}
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s has no row in STDLIB.md", name)
			continue
		}
		params := slices.Clone(f.Params)
		for i := f.Need; i < len(params); i++ {
			params[i] += "?"
		}
		if want := strings.Join(params, ", "); row.params != want {
			t.Errorf("STDLIB.md says %s(%s), it is %s(%s)", name, row.params, name, want)
		}
		if !slices.Contains([]string{"as documented", "differs", "not yet"}, row.status) {
			t.Errorf("STDLIB.md: %s has the status %q", name, row.status)
		}
	}
	for name := range library {
		if syntax.Functions[name] == nil {
			t.Errorf("the engine has %s, but syntax.Functions does not", name)
		}
	}
	for name := range rows {
		if syntax.Functions[name] == nil {
			t.Errorf("STDLIB.md has %s, which is no function", name)
		}
	}
	for name := range syntax.Values {
		if _, ok := namedValues[name]; !ok {
			t.Errorf("%s is in syntax.Values, but the engine does not have it", name)
		}
	}
}

type stdlibRow struct{ params, status string }

func stdlibRows(t *testing.T) map[string]stdlibRow {
	t.Helper()
	raw, err := os.ReadFile("STDLIB.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]stdlibRow{}
	for _, line := range strings.Split(string(raw), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[strings.Trim(cells[1], "`")] = stdlibRow{params: cells[2], status: cells[3]}
	}
	return rows
}

// TestNotYetNamesItself checks the one module that needs a cluster.
func TestNotYetNamesItself(t *testing.T) {
	t.Parallel()
	o := runCase(t, `
- go:
    call: gke.get_job
    args: {project: p, location: l, cluster_id: c, namespace: n, job_name: j}
`, "", nil)
	if o.err == nil || !strings.Contains(o.err.Error(), "gke.get_job is not known") {
		t.Errorf("got %v, want an error that names the function", o.err)
	}
}
