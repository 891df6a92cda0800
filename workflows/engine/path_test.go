package engine

import "testing"

func TestSplitTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src, name string
		path      string // JSON of the constant members, "?" for an expression's own value 7
		fails     bool
	}{
		{src: "x", name: "x", path: "[]"},
		{src: "m.a", name: "m", path: `["a"]`},
		{src: `m["a b"].c`, name: "m", path: `["a b","c"]`},
		{src: `m["]"]`, name: "m", path: `["]"]`},
		{src: `m['"]'][1 + 1]`, name: "m", path: `["\"]",2]`},
		{src: `l[[1, 2][0]][3]`, name: "l", path: `[1,3]`},
		{src: `m["a\"]b"]`, name: "m", path: `["a\"]b"]`},
		{src: `m[`, fails: true},
		{src: `m[1`, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			t.Parallel()
			name, path, err := splitTarget(tt.src)
			if (err != nil) != tt.fails {
				t.Fatalf("error %v, want one: %v", err, tt.fails)
			}
			if tt.fails {
				return
			}
			x := &execution{program: &Program{}}
			got := []any{}
			for _, p := range path {
				v, err := p.eval(&frame{x: x, ctx: t.Context()})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, v)
			}
			if name != tt.name || jsonText(got) != tt.path {
				t.Errorf("got %s and %s, want %s and %s", name, jsonText(got), tt.name, tt.path)
			}
		})
	}
}

func TestSetPathCountsMemory(t *testing.T) {
	t.Parallel()
	root := map[string]any{"a": []any{int64(1), map[string]any{"k": "v"}}}
	before := jsonText(root)
	tests := []struct {
		path  []any
		value any
	}{
		{[]any{"a"}, "text"},
		{[]any{"a", int64(0)}, []any{int64(1), int64(2)}},
		{[]any{"a", int64(1), "k"}, nil},
		{[]any{"a", int64(1), "new"}, "x"},
		{[]any{"b"}, int64(1)},
		{[]any{"b", "c", "d"}, "deep"},
	}
	for _, tt := range tests {
		got, grown, err := setPath(root, tt.path, tt.value, true)
		if err != nil {
			t.Fatal(err)
		}
		if want := sizeOf(got) - sizeOf(root); grown != want {
			t.Errorf("%v: counted %d more bytes, want %d", tt.path, grown, want)
		}
		if jsonText(root) != before {
			t.Fatalf("%v: the original changed to %s", tt.path, jsonText(root))
		}
	}
}

func TestSizeOfIsTheDocumentedFormula(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  int64
	}{
		{int64(1), 8}, {1.5, 8}, {true, 8}, {"This is a string of 28 bytes", 36}, {[]any{int64(1), int64(2)}, 24},
		{map[string]any{"k": "v"}, 8 + 9 + 9},
	}
	for _, tt := range tests {
		if got := sizeOf(tt.value); got != tt.want {
			t.Errorf("sizeOf(%s) = %d, want %d", jsonText(tt.value), got, tt.want)
		}
	}
}
