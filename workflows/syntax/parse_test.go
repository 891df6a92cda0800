package syntax

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTree holds the tree of testdata/tree.yaml, which has every statement in every form, to testdata/tree.txt.
func TestTree(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/tree.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Parse("tree.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/tree.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), dump(w, true)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if w.Main == nil || w.Main.Name != "main" || string(w.Source) != string(src) {
		t.Errorf("main is %v, and the source has %d bytes of %d", w.Main, len(w.Source), len(src))
	}
}

// TestJSON holds that JSON gives the tree of the YAML that says the same.
func TestJSON(t *testing.T) {
	t.Parallel()
	const asJSON = "{\t\"main\":\t{ \"params\": [\"args\"],\n" +
		"\t\"steps\": [\n" +
		"\t{\"say\": {\"call\": \"greet\", \"args\": {\"name\": \"${args.n + \\\"\\u00e9\\ud83d\\ude00\\\"}\", \"times\": 3}, \"result\": \"r\"}},\n" +
		"\t{\"done\": {\"return\": {\"r\": \"${r}\", \"f\": 1.50, \"e\": 1e2, \"t\": true, \"n\": null, \"l\": [], \"m\": {}, \"s\": \"a\\/b\"}}}]},\n" +
		" \"greet\": {\"params\": [\"name\", {\"times\": 1}, \"country: \\\"Eire\\\"\", \"k: ${1 + 1}\"], \"steps\": [{\"x\": {\"return\": \"${name + country}\"}}]}}\n"
	const asYAML = `
main:
  params: [args]
  steps:
    - say:
        call: greet
        args:
          name: ${args.n + "é😀"}
          times: 3
        result: r
    - done:
        return: {r: "${r}", f: 1.5, e: 1e2, t: true, n: null, l: [], m: {}, s: a/b}
greet:
  params: [name, times: 1, country: Eire, k: "${1 + 1}"]
  steps:
    - x:
        return: ${name + country}
`
	fromJSON, err := Parse("w.json", []byte(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := Parse("w.yaml", []byte(asYAML))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dump(fromYAML, false), dump(fromJSON, false)); diff != "" {
		t.Errorf("YAML -, JSON +:\n%s", diff)
	}
	call := fromJSON.Main.Steps[0].Body.(*Call)
	if want := (Pos{3, 28}); call.FuncPos != (Pos{3, 19}) || call.ArgPos != want {
		t.Errorf("the function stands at %v, its args at %v", call.FuncPos, call.ArgPos)
	}
}

// TestExpressionPlaces holds that an error is reported at its character, whatever quoting and folding stand before it.
func TestExpressionPlaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		src  string
		want Pos
	}{
		"folded block":         {"- a:\n    return: >-\n      ${1 +\n      \"two\" +\n         ? }\n", Pos{5, 10}},
		"literal block":        {"- a:\n    return: |\n      ${1\n        + unknown}\n", Pos{4, 11}},
		"kept block":           {"- a:\n    return: |+\n      ${unknown}\n\n", Pos{3, 9}},
		"plain over lines":     {"- a:\n    return: ${1 +\n      unknown}\n", Pos{3, 7}},
		"double over lines":    {"- a:\n    return: \"${1 +\n      \\\"x\\\" + unknown}\"\n", Pos{3, 15}},
		"double, line goes on": {"- a:\n    return: \"${1 + \\\n      unknown}\"\n", Pos{3, 7}},
		"single":               {"- a:\n    return: '${\"it''s\" + unknown}'\n", Pos{2, 26}},
		"escapes":              {"- a:\n    return: \"${\\x22\\u00e9\\\"+ unknown}\"\n", Pos{2, 30}},
		"tagged and anchored":  {"- a:\n    return: &x !!str ${1 + unknown}\n", Pos{2, 28}},
		"byte order mark":      {"\uFEFF- a:\n    return: ${unknown}\n", Pos{2, 15}},
		"carriage returns":     {"- a:\r\n    return: ${1 +\r\n      unknown}\r\n", Pos{3, 7}},
		"wide":                 {"- a:\n    return: ${\"é😀\" + unknown}\n", Pos{2, 22}},
		"JSON":                 {`[{"a": {"return": "${\"\ud83d\ude00\" + \"\/\" + unknown}"}}]`, Pos{1, 50}},
		"JSON over lines":      {"[\n\t{\"a\":\n\t\t{\"return\": \"${1 + unknown}\"}}]", Pos{3, 21}},
		"target":               {"- a:\n    assign:\n    - m: {}\n    - \"m[\\\"k\\\" + unknown]\": 1\n", Pos{4, 18}},
		"leading blanks":       {"- a:\n    return: '  ${unknown}  '\n", Pos{2, 18}},
		"aliased":              {"- a:\n    return: [&x \"${unknown}\", *x]\n", Pos{2, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("w.yaml", []byte(tt.src))
			var errs Errors
			if !errors.As(err, &errs) || len(errs) != 1 {
				t.Fatalf("got %v, want one error", err)
			}
			if errs[0].Pos != tt.want {
				t.Errorf("got %v, want it at %v", errs[0], tt.want)
			}
		})
	}
}

// TestRefused has sources that fail as a whole.
func TestRefused(t *testing.T) {
	t.Parallel()
	bomb := "main:\n  params: [x]\n  steps:\n  - a:\n      assign:\n      - a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("      - a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for name, tt := range map[string]struct{ src, want string }{
		"empty":               {"", `^w.yaml:1:1: the source is empty$`},
		"comment":             {"# nothing\n", `^w.yaml:1:1: the source is empty$`},
		"null":                {"---\n", `^w.yaml:2:1: a workflow is a list of steps, or a map with 'main'$`},
		"text":                {"hello", `a workflow is a list of steps`},
		"no main":             {"sub:\n  steps:\n  - a:\n      return: 1\n", `^w.yaml:1:1: workflow has no 'main'`},
		"empty map":           {"{}", `workflow has no 'main'`},
		"empty list":          {"[]", `^w.yaml:1:1: steps is empty`},
		"two documents":       {"- a:\n    return: 1\n---\n- b:\n    return: 2\n", `^w.yaml:3:1: the source has more than one document$`},
		"broken YAML":         {"- a:\n   return: [1\n- b", `^w.yaml:\d:1: did not find`},
		"tab":                 {"- a:\n\treturn: 1\n", `^w.yaml:\d:1: found character`},
		"broken JSON":         {`{"main": {"steps": [}`, `^w.yaml:1:1: did not find`},
		"not UTF-8":           {"- a:\n    return: \"\xff\"\n", `^w.yaml:2:14: the source is not UTF-8$`},
		"too long":            {"# " + strings.Repeat("x", maxSource) + "\n- a:\n    return: 1\n", `^w.yaml:1:1: the source has 131\d+ bytes; the limit is 131072$`},
		"unknown anchor":      {"- a:\n    return: *x\n", `unknown anchor`},
		"bomb":                {bomb, `the source has more than 262144 values, aliases written out$`},
		"endless":             {"- a:\n    return: &x [*x, *x]\n", `the source is nested more than 200 levels deep`},
		"endless merge":       {"- a:\n    return: &x {<<: *x}\n", `the source is nested more than 200 levels deep`},
		"deep":                {"- a:\n    return: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n", `nested more than 200 levels deep`},
		"merge of text":       {"- a:\n    return: {<<: x}\n", `^w.yaml:2:18: what is merged must be a map, or a list of maps$`},
		"merge of a text":     {"- a:\n    return: {<<: [{b: 1}, x]}\n", `^w.yaml:2:27: what is merged must be a map$`},
		"map as key":          {"- a:\n    return: {{b: 1}: 2}\n", `^w.yaml:2:14: a key must be a string$`},
		"nameless step":       {"- '':\n    return: 1\n", `^w.yaml:1:3: the name of a step is empty$`},
		"binary":              {"- a:\n    return: !!binary aGk=\n", `^w.yaml:2:13: binary values are not part of the language$`},
		"long expression":     {"- a:\n    return: ${1 + \"" + strings.Repeat("é", 395) + "\"}\n", `^w.yaml:2:\d+: the expression has 401 characters; the limit is 400$`},
		"51 assignments":      {"- a:\n    assign:\n" + strings.Repeat("    - x: 1\n", 51), `^w.yaml:3:5: assign has 51 entries; 1 to 50 are allowed$`},
		"no assignment":       {"- a:\n    assign: []\n", `^w.yaml:2:13: assign has 0 entries; 1 to 50 are allowed$`},
		"51 conditions":       {"- a:\n    switch:\n" + strings.Repeat("    - condition: true\n", 51), `^w.yaml:3:5: switch has 51 conditions; 1 to 50 are allowed$`},
		"one branch":          {"- a:\n    parallel:\n      branches:\n" + branches(1), `^w.yaml:4:7: parallel has 1 branches; 2 to 10 are allowed$`},
		"11 branches":         {"- a:\n    parallel:\n      branches:\n" + branches(11), `^w.yaml:4:7: parallel has 11 branches; 2 to 10 are allowed$`},
		"steps as a map":      {"main:\n  steps:\n    a:\n      return: 1\n", `^w.yaml:3:5: steps must be a list$`},
		"step as a list":      {"- a: [1]\n", `^w.yaml:1:6: step "a" must be a map$`},
		"two names in a step": {"- a:\n    return: 1\n  b:\n    return: 2\n", `^w.yaml:1:3: a step must be a map with one key$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("w.yaml", []byte(tt.src))
			if err == nil {
				t.Fatalf("parsed, want %s", tt.want)
			}
			if !matches(tt.want, err.Error()) {
				t.Errorf("got %.300v, want %s", err, tt.want)
			}
		})
	}
}

func branches(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "      - b%d: {steps: [{s%d: {next: end}}]}\n", i, i)
	}
	return b.String()
}

// TestAtTheLimits has sources that are as large as they may be.
func TestAtTheLimits(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"expression":  "- a:\n    return: ${\"" + strings.Repeat("é", 398) + "\"}\n",
		"assignments": "- a:\n    assign:\n" + strings.Repeat("    - x: 1\n", 50),
		"conditions":  "- a:\n    switch:\n" + strings.Repeat("    - condition: true\n", 50),
		"branches":    "- a:\n    parallel:\n      branches:\n" + branches(10),
		"source":      "# " + strings.Repeat("x", maxSource-21) + "\n- a: {return: 0}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse("w.yaml", []byte(src)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAllErrorsAtOnce holds that one error hides no other, and that a name which cannot be read brings no errors in its train.
func TestAllErrorsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse("w.yaml", []byte(`main:
  steps:
    - a:
        assign:
          - x: ${1 +}
          - [y, 1]
    - b:
        return: ${x + y + z}
    - c:
        next: d
sub:
  steps:
    - d:
        return: ${unknown}
`))
	want := `w.yaml:5:21: parse error in expression "${1 +}": unexpected end of the expression, want a value
w.yaml:6:13: an entry of assign must be a map with one key
w.yaml:14:19: error in step d: error evaluating return value: symbol 'unknown' is neither a variable nor a sub-workflow name`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestLiterals holds what YAML's scalars are to the language.
func TestLiterals(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]any{
		`1`: int64(1), `-5`: int64(-5), `+5`: int64(5), `0`: int64(0), `010`: int64(8), `0x1F`: int64(31), `0o17`: int64(15), `1_000`: int64(1000),
		`9223372036854775807`: int64(9223372036854775807), `99999999999999999999`: 1e20, `1.5`: 1.5, `1e3`: 1000.0, `.5`: 0.5,
		`true`: true, `True`: true, `FALSE`: false, `yes`: "yes", `on`: "on", `~`: nil, `null`: nil, ``: nil, `"5"`: "5", `'true'`: "true", `!!str 5`: "5",
		`2024-02-29`: "2024-02-29", `10:30`: "10:30", `a b # c`: "a b", `!custom x`: "x", `$${x}`: "$${x}", `a ${x}`: "a ${x}", `"${x"`: "${x", `1.2.3`: "1.2.3",
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			w, err := Parse("w.yaml", []byte("- a:\n    return: "+src+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			v := w.Main.Steps[0].Body.(*Return).Value
			if v.Kind != Literal || v.Lit != want {
				t.Errorf("got %T %v, want %T %v", v.Lit, v.Lit, want, want)
			}
		})
	}
}

// TestMerge holds which value wins where maps are merged: the map's own, then the first one merged.
func TestMerge(t *testing.T) {
	t.Parallel()
	w, err := Parse("w.yaml", []byte("- a:\n    assign:\n    - x: &x {a: 1, b: 1}\n    - y: &y {b: 2, c: 2, d: 2}\n    - z: {<<: [*x, *y], d: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, f := range w.Main.Steps[0].Body.(*Assign).Sets[2].Value.Map {
		if _, twice := got[f.Key]; twice {
			t.Errorf("%s is there twice", f.Key)
		}
		got[f.Key] = f.Value.Lit
	}
	if diff := cmp.Diff(map[string]any{"a": int64(1), "b": int64(1), "c": int64(2), "d": int64(3)}, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
