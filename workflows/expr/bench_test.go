package expr

import (
	"context"
	"testing"
)

func BenchmarkEval(b *testing.B) {
	for _, src := range []string{
		`n`, `n + 1`, `m.a == 1`, `m.list[0]`, `"a" in m and m.a < 10`, `"id-" + s`, `text.count(n, "x")`, `{"a": n, "b": [s, d]}`,
		`not ("code" in m) or m.code == 429 or m.code == 503`,
	} {
		e, err := Parse(src)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(src, func(b *testing.B) {
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(ctx, world); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	const src = `not ("code" in e) or e.code == 429 or text.match_regex(e.body["message"], "^retry (in|after) [0-9]+")`
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}
