package expr

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for src, offset := range map[string]int{
		``: 0, `1 +`: 3, `(1`: 2, `a b`: 2, `"open`: 0, `1 ? 2`: 2, `a.`: 2, `[1 2]`: 3, `{"a" 1}`: 5, `1()`: 1, `m[0](1)`: 4,
		`99999999999999999999`: 0, `1x`: 1, `a..b`: 2, `and`: 0, "\xff": 0, `"\u00g0"`: 1, `9223372036854775808`: 0,
		"\"a\xffb\"": 2, "\"\\n\xff\"": 3, `(text.split)("a")`: 12, `f(1,)`: 4, `[,]`: 1, `a not in b`: 2, `not`: 3, `a = b`: 2, `a && b`: 2,
		`1.`: 2, `1e999`: 0, `f(`: 2, `a[`: 2, `"a\`: 0, `And`: -1, `a And b`: 2,
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(src)
			if offset < 0 {
				if err != nil {
					t.Fatalf("got %v, want a name", err)
				}
				return
			}
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("got %v, want a syntax error", err)
			}
			if se.Offset != offset {
				t.Errorf("offset: got %d, want %d (%s)", se.Offset, offset, se.Message)
			}
		})
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		strings.Repeat("(", 10_000), strings.Repeat("[", 10_000), strings.Repeat("-", 10_000) + "1", strings.Repeat("not ", 10_000) + "a",
		strings.Repeat(`{"a":`, 10_000), strings.Repeat("f(", 10_000), strings.Repeat("a[", 10_000),
	} {
		if _, err := Parse(src); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%.10s…: got %v, want nested too deeply", src, err)
		}
	}
	// Left chains nest as well, but only in the tree.
	for _, src := range []string{"a" + strings.Repeat(".b", 20_000), "1" + strings.Repeat("+1", 20_000), "f(a)" + strings.Repeat(".b", 20_000)} {
		if _, err := Parse(src); err != nil {
			t.Errorf("%.10s…: %v", src, err)
		}
	}
}

// TestFormat holds what is written back, and with it how tightly operators bind.
func TestFormat(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`a+b*c`:                           `a + b * c`,
		`(a+b)*c`:                         `(a + b) * c`,
		`a-(b-c)`:                         `a - (b - c)`,
		`(a-b)-c`:                         `a - b - c`,
		`not(a in b)`:                     `not (a in b)`,
		`not a == b`:                      `not a == b`,
		`NOT a AND b OR c`:                `not a and b or c`,
		`a and(b or c)`:                   `a and (b or c)`,
		`a<b==c`:                          `a < b == c`,
		`a<(b==c)`:                        `a < (b == c)`,
		`-a.b[1]`:                         `-a.b[1]`,
		`(-a).b`:                          `(-a).b`,
		`(-5).b`:                          `(-5).b`,
		`-(-5)`:                           `5`,
		`- -9223372036854775808`:          `--9223372036854775808`,
		`2 - -1`:                          `2 - -1`,
		`1.50e3`:                          `1500.0`,
		`1e21`:                            `1e+21`,
		`-0.0`:                            `-0.0`,
		`'a"b' + "\n\t\u0001\\"`:          `"a\"b" + "\n\t\u0001\\"`,
		`{'a':1,b:[ ]}`:                   `{"a": 1, b: []}`,
		`f.g( 1 ,TRUE,Null )`:             `f.g(1, true, null)`,
		`m["a"].b[i+1]`:                   `m["a"].b[i + 1]`,
		`(a or b).c`:                      `(a or b).c`,
		`-(a + b)`:                        `-(a + b)`,
		`not not a`:                       `not not a`,
		`IN in IN`:                        `IN in IN`,
		`x.in(1).not`:                     `x.in(1).not`,
		"a\n + \"multi\nline\"":           `a + "multi\nline"`,
		`if(x > 1, "y", default(z, "n"))`: `if(x > 1, "y", default(z, "n"))`,
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			e, err := Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			if got := Format(e.Root()); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			roundTrip(t, e.Root())
		})
	}
}

func roundTrip(t *testing.T, n Node) {
	t.Helper()
	written := Format(n)
	again, err := Parse(written)
	if err != nil {
		t.Fatalf("%s does not parse back: %v", written, err)
	}
	if diff := cmp.Diff(n, again.Root(), cmpNodes); diff != "" {
		t.Errorf("%s parses back to another tree: %s", written, diff)
	}
}

// cmpNodes compares trees without their places.
var cmpNodes = cmp.Options{
	cmp.Comparer(func(span, span) bool { return true }),
	cmp.Exporter(func(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[Ident]().PkgPath() }),
}

// TestSpans holds where nodes begin and end.
func TestSpans(t *testing.T) {
	t.Parallel()
	src := ` f.g(m.a["k"], (x + -1) * 2)[0].z and not [1, {"a" : "é"}] `
	e, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	Walk(e.Root(), func(n Node) bool {
		got = append(got, src[n.Offset():n.End()])
		return true
	})
	want := []string{
		`f.g(m.a["k"], (x + -1) * 2)[0].z and not [1, {"a" : "é"}]`, `f.g(m.a["k"], (x + -1) * 2)[0].z`, `f.g(m.a["k"], (x + -1) * 2)[0]`,
		`f.g(m.a["k"], (x + -1) * 2)`, `m.a["k"]`, `m.a`, `m`, `"k"`, `(x + -1) * 2`, `x + -1`, `x`, `-1`, `2`, `0`,
		`not [1, {"a" : "é"}]`, `[1, {"a" : "é"}]`, `1`, `{"a" : "é"}`, `"a"`, `"é"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestVars(t *testing.T) {
	t.Parallel()
	e, err := Parse(`f.g(b.c, a[i]) + b + http.default_retry.x`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "i", "http"}, Vars(e.Root())); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for src, want := range map[string][]string{
		`x`: {"x"}, `m.a["b"]`: {"m", `"a"`, `"b"`}, `l[i + 1]`: {"l", "i + 1"}, `m[k + "3"].c[0]`: {"m", `k + "3"`, `"c"`, "0"},
		`f(x)`: nil, `f(x).a`: nil, `1`: nil, `x + 1`: nil, `[1][0]`: nil,
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			e, err := Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			name, path, ok := e.Target()
			var got []string
			if ok {
				got = append(got, name)
			}
			for _, p := range path {
				got = append(got, p.Source())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if root := Root(e.Root()); ok && root != name {
				t.Errorf("root: got %q, want %q", root, name)
			}
		})
	}
}
