package expr

import (
	"context"
	"testing"
)

var seeds = []string{
	`1 + 2 * m.a["b"]`, `not("x" in y) and f.g(1, {"a": [-1.5e3]})`, `"\"\\\u00e9\ud83d\ude00"`, `((((`, `a[`, `- - 1`, `1 //`,
	`- -9223372036854775808`, `(-1).a`, `(-0.0)[0]`, `m.list[n - 7] <= 2.5 % -3`, `'\x' + "$\$"`, `text.count(IN in m, NOT yes OR no)`, `{"a": {}, s + "b": []}`,
	`f(1)(2)`, `9223372036854775807 // -1`, "\"multi\nline\"", `x.not.and`, `1e400`, `.5.a`,
}

// FuzzParse holds that no source makes Parse or Eval panic, that nodes lie within the source and inside their parents, and that
// what Format writes parses back to the same tree.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := Parse(src)
		if err != nil {
			return
		}
		Walk(e.Root(), func(n Node) bool {
			if n.Offset() < 0 || n.Offset() >= n.End() || n.End() > len(src) {
				t.Errorf("%q: %T stands at %d to %d", src, n, n.Offset(), n.End())
			}
			for _, c := range Children(n) {
				if c.Offset() < n.Offset() || c.End() > n.End() {
					t.Errorf("%q: %T stands outside its %T", src, c, n)
				}
			}
			return true
		})
		roundTrip(t, e.Root())
		if name, path, ok := e.Target(); ok && (name == "" || len(path) > len(src)) {
			t.Errorf("%q: target %q %v", src, name, path)
		}
		got, err := e.Eval(context.Background(), world)
		again, err2 := Compile(e.Root()).Eval(context.Background(), world)
		if (err == nil) != (err2 == nil) || err == nil && !Equal(got, again) && Equal(got, got) {
			t.Errorf("%q: got %v, %v, then %v, %v", src, got, err, again, err2)
		}
	})
}
