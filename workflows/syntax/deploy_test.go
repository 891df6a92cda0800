package syntax

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDeploy holds the files of testdata/deploy to what their comments expect: `# want "regexp"` for each error of a line. A pattern
// that begins with a number and a colon names the column too.
func TestDeploy(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/deploy/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(file, src)
			var got Errors
			if err != nil && !errors.As(err, &got) {
				t.Fatalf("got a %T, want Errors", err)
			}
			match(t, wants(t, string(src)), got)
		})
	}
}

type want struct {
	line, col int // col 0: any
	pattern   *regexp.Regexp
	met       bool
}

var (
	wantComment = regexp.MustCompile(`# want ((?:"(?:[^"\\]|\\.)*" ?)+)$`)
	wantString  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	wantColumn  = regexp.MustCompile(`^(\d+): `)
)

func wants(t *testing.T, src string) []*want {
	t.Helper()
	var out []*want
	for i, line := range strings.Split(src, "\n") {
		m := wantComment.FindStringSubmatch(line)
		if m == nil {
			if strings.Contains(line, "# want") {
				t.Errorf("line %d: cannot read what it wants", i+1)
			}
			continue
		}
		for _, q := range wantString.FindAllString(m[1], -1) {
			s, err := strconv.Unquote(q)
			if err != nil {
				t.Fatalf("line %d: %s: %v", i+1, q, err)
			}
			w := &want{line: i + 1}
			if m := wantColumn.FindStringSubmatch(s); m != nil {
				w.col, _ = strconv.Atoi(m[1])
				s = s[len(m[0]):]
			}
			w.pattern = regexp.MustCompile(s)
			out = append(out, w)
		}
	}
	return out
}

func match(t *testing.T, wants []*want, got Errors) {
	t.Helper()
	for i, e := range got {
		if i > 0 && (got[i-1].Pos.Line > e.Pos.Line || got[i-1].Pos.Line == e.Pos.Line && got[i-1].Pos.Col > e.Pos.Col) {
			t.Errorf("%v stands behind %v", e, got[i-1])
		}
		found := false
		for _, w := range wants {
			if !w.met && w.line == e.Pos.Line && (w.col == 0 || w.col == e.Pos.Col) && w.pattern.MatchString(e.Message) {
				w.met, found = true, true
				break
			}
		}
		if !found {
			t.Errorf("not wanted: %v", e)
		}
	}
	for _, w := range wants {
		if !w.met {
			t.Errorf("line %d, column %d: no error matches %s", w.line, w.col, w.pattern)
		}
	}
}
