package syntax

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/runonce/workflows/expr"
)

func matches(pattern, s string) bool { return regexp.MustCompile(`(?m)` + pattern).MatchString(s) }

// TestSpan holds what values cover in the source.
func TestSpan(t *testing.T) {
	t.Parallel()
	const src = `- a:
    return:
      plain: some text   # a comment
      number: -1.5e3 # n
      none:
      tilde: ~
      null: null
      bool: TRUE
      single: 'it''s # not'
      double: "a \"quoted\" # word" # c
      expression: ${1 + "a" + 'b'} # c
      over: ${1 +
        2}
      literal: |
        first
          second

      folded: >-
        ${"x" +
        "y"}
      flow: {a: [1, "]", '}'], b: {}, # ]
        c: it's}
      list: [1, '${2}', x]
      block:
        - 1
        - k: v # last
      empty: []
      tagged: !!str 5
      anchored: &it {q: 1}
      aliased: *it
`
	w, err := Parse("w.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range w.Main.Steps[0].Body.(*Return).Value.Map {
		start, end := w.Span(f.Value)
		got[f.Key] = src[start:end]
	}
	want := map[string]string{
		"plain": "some text", "number": "-1.5e3", "none": "", "tilde": "~", "null": "null", "bool": "TRUE",
		"single": `'it''s # not'`, "double": `"a \"quoted\" # word"`, "expression": `${1 + "a" + 'b'}`, "over": "${1 +\n        2}",
		"literal": "|\n        first\n          second", "folded": ">-\n        ${\"x\" +\n        \"y\"}",
		"flow": "{a: [1, \"]\", '}'], b: {}, # ]\n        c: it's}", "list": "[1, '${2}', x]", "block": "- 1\n        - k: v", "empty": "[]",
		"tagged": "!!str 5", "anchored": "&it {q: 1}", "aliased": "&it {q: 1}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestPlaces holds that places and offsets are each other's inverse, and that identifiers of expressions stand where ExprPos says.
func TestPlaces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range append(files, "testdata/deploy/accepted.yaml") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Parse(file, src)
		if err != nil {
			t.Fatal(err)
		}
		places(t, w)
	}
}

func places(t *testing.T, w *Workflow) {
	t.Helper()
	Walk(w, func(n Node) bool {
		if at := n.At(); w.Position(w.Offset(at)) != at {
			t.Errorf("%s: %T at %v is at offset %d, which is at %v", w.File, n, at, w.Offset(at), w.Position(w.Offset(at)))
		}
		v, ok := n.(*Value)
		if !ok {
			return true
		}
		start, end := w.Span(v)
		if start > end || end > len(w.Source) {
			t.Errorf("%s:%d:%d: a value from %d to %d", w.File, v.Pos.Line, v.Pos.Col, start, end)
		}
		if v.Expr == nil {
			return true
		}
		if s := string(w.Source[start:end]); !strings.Contains(s, "${") || !strings.Contains(s, "}") {
			t.Errorf("%s:%d:%d: %q is no expression", w.File, v.Pos.Line, v.Pos.Col, s)
		}
		expr.Walk(v.Expr.Root(), func(e expr.Node) bool {
			if id, ok := e.(*expr.Ident); ok {
				i := w.Offset(w.ExprPos(v, id.Offset()))
				if !strings.HasPrefix(string(w.Source[i:]), id.Name) {
					t.Errorf("%s:%d:%d: %s of %s does not stand at %v", w.File, v.Pos.Line, v.Pos.Col, id.Name, v.Expr.Source(), w.ExprPos(v, id.Offset()))
				}
			}
			return true
		})
		return true
	})
}
