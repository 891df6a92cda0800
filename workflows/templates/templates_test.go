package templates_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/syntax"
	"example.com/runonce/workflows/templates"
)

// Each template passes the deploy-time checks and says its purpose, params and guarantees.
func TestTemplates(t *testing.T) { // R21
	t.Parallel()
	files, err := fs.Glob(templates.FS, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v; want the templates", files, err)
	}
	for _, name := range files {
		src, err := templates.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := syntax.Parse(name, src); err != nil {
			t.Error(err)
		}
		header, _, _ := strings.Cut(string(src), "\nmain:")
		for _, word := range []string{"# " + strings.TrimSuffix(name, ".yaml") + ":", "# params", "# guarantees"} {
			if !strings.Contains(header, word) {
				t.Errorf("%s: the header has no %q", name, word)
			}
		}
	}
}

// Without a run_id, or without functions to call, the sample changes nothing and says why.
func TestOrdersRefuses(t *testing.T) { // R21
	t.Parallel()
	src, err := templates.FS.ReadFile("orders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := syntax.Parse("orders.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	for argument, tag := range map[string]string{
		`{"order": {"id": "A-1", "lines": []}}`:                "RunIdMissing",
		`{"run_id": "r", "order": {"id": "A-1", "lines": []}}`: "FunctionsUrlMissing",
	} {
		_, err := engine.Run(t.Context(), w, json.RawMessage(argument), engine.Config{})
		var e *engine.Error
		if !errors.As(err, &e) || len(e.Tags) != 1 || e.Tags[0] != tag {
			t.Errorf("%s: got %v, want an error tagged %s", argument, err, tag)
		}
	}
}
