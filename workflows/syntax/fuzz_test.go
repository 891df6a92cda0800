package syntax

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse holds that no source makes Parse panic, that errors stand in the source, and that a tree that parsed has its parts and
// its places.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/deploy/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files: %v", err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	for _, s := range []string{
		`[{"a": {"return": "${1 + \"\ud83d\ude00\"}"}}]`, "- a: &x\n    return: [*x]\n", "- a: {<<: {return: 1}}\n", "? - a\n", "- a:\n    return: >-\n     ${x\n", "---\n...\n---\n",
		"- a:\n    assign:\n    - \"x\\\n      [1]\": ${\n", "\uFEFF[]", "- a: {return: !!binary x}", "- a: {return: 0x, next: !!int x}", "{\"main\": {\"params\": [\"a: ${b}\"]}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		w, err := Parse("w.yaml", src)
		if err == nil {
			places(t, w)
			return
		}
		var errs Errors
		if !errors.As(err, &errs) || len(errs) == 0 {
			t.Fatalf("got a %T: %v", err, err)
		}
		lines := len(newText(src).lines)
		for _, e := range errs {
			if e.Pos.Line < 1 || e.Pos.Col < 1 || e.Pos.Line > lines+1 {
				t.Errorf("%v: there are %d lines", e, lines)
			}
		}
	})
}
