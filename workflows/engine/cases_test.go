package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCases runs testdata/*.txtar. An archive holds pairs NAME.yaml (a workflow) and NAME.want, lines of
//
//	result JSON      what it returns              error TEXT       what its error contains
//	arg JSON         its argument                 tag TAG          a tag of its error
//	deploy           refused before it runs       hits /PATH N     how often a path was asked
//	seconds N        what the clock moved by      context TEXT     a line of the error's context
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		for name, c := range readCases(t, file) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				t.Parallel()
				c.check(t)
			})
		}
	}
}

var fileLine = regexp.MustCompile(`^-- (\S+) --\s*$`)

type txtarCase struct{ yaml, want string }

// readCases reads the archive: a line "-- NAME --" begins a file.
func readCases(t *testing.T, path string) map[string]*txtarCase {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]*txtarCase{}
	var into *string
	for _, line := range strings.SplitAfter(string(raw), "\n") {
		if m := fileLine.FindStringSubmatch(line); m != nil {
			name := m[1]
			base, kind, _ := strings.Cut(name, ".")
			if cases[base] == nil {
				cases[base] = &txtarCase{}
			}
			into = &cases[base].yaml
			if kind == "want" {
				into = &cases[base].want
			}
			continue
		}
		if into != nil {
			*into += line
		}
	}
	return cases
}

func (c *txtarCase) check(t *testing.T) {
	if c.yaml == "" || c.want == "" {
		t.Fatal("the case has no .yaml or no .want")
	}
	var arg string
	for _, line := range strings.Split(c.want, "\n") {
		if text, ok := strings.CutPrefix(line, "arg "); ok {
			arg = text
		}
	}
	o := runCase(t, c.yaml, arg, nil)
	for _, line := range strings.Split(strings.TrimSpace(c.want), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		c.line(t, o, word, rest)
	}
	if o.err != nil && !strings.Contains(c.want, "error") && !strings.Contains(c.want, "tag") && !strings.Contains(c.want, "deploy") {
		t.Errorf("unexpected error: %v", o.err)
	}
}

func (c *txtarCase) line(t *testing.T, o outcome, word, rest string) {
	switch word {
	case "arg":
	case "result":
		if o.err != nil || !sameJSON(t, o.result, []byte(rest)) {
			t.Errorf("got %s, error %v, want %s", o.result, o.err, rest)
		}
	case "error":
		if o.err == nil || !strings.Contains(o.err.Error(), rest) {
			t.Errorf("error %v (result %s), want one that contains %q", o.err, o.result, rest)
		}
	case "tag":
		if !slices.Contains(o.tags(), rest) {
			t.Errorf("error %v (result %s) has tags %v, want %q", o.err, o.result, o.tags(), rest)
		}
	case "deploy":
		if !o.deploy {
			t.Errorf("it ran: result %s, error %v", o.result, o.err)
		}
	case "context":
		if e, ok := o.err.(*Error); !ok || !slices.Contains(strings.Split(e.Context, "\n"), rest) {
			t.Errorf("context of %v, want the line %q", o.err, rest)
		}
	case "seconds":
		if want, _ := strconv.ParseFloat(rest, 64); o.seconds < want-1e-6 || o.seconds > want+1e-6 {
			t.Errorf("the clock moved by %v s, want %v", o.seconds, want)
		}
	case "hits":
		path, n, _ := strings.Cut(rest, " ")
		if want, _ := strconv.Atoi(n); o.hits[path] != want {
			t.Errorf("%s was asked %d times, want %d", path, o.hits[path], want)
		}
	default:
		t.Errorf("unknown word %q in the case", word)
	}
}
