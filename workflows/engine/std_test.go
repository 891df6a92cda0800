package engine

import (
	"slices"
	"testing"

	"example.com/runonce/workflows/expr"
)

// evaluate computes an expression in a fresh execution on a virtual clock.
func evaluate(t *testing.T, src string, change func(*Config)) (any, *Error) {
	t.Helper()
	e, err := expr.Parse(src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	cfg := Config{Clock: NewVirtual(epoch), ExecutionID: "exec-1", Env: map[string]string{"NAME": "value"}}
	if change != nil {
		change(&cfg)
	}
	x := &execution{program: &Program{routines: map[string]*routine{}}, cfg: cfg.withDefaults()}
	x.sched = schedulerOf(x.cfg.Clock)
	f := &frame{x: x, ctx: t.Context(), thread: &thread{}, routine: &routine{name: "main"}, scope: newScope(nil)}
	v, err := e.Eval(t.Context(), f)
	if err != nil {
		return nil, x.raise(err)
	}
	return v, nil
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src, want string // want: JSON, or a tag
	}{
		{`double("2.5")`, `2.5`}, {`double(2)`, `2`}, {`double("x")`, ValueError}, {`double(true)`, TypeError},
		{`int("42")`, `42`}, {`int(2.9)`, `2`}, {`int(-2.9)`, `-2`}, {`int("2.9")`, ValueError}, {`int(null)`, TypeError},
		{`string(1)`, `"1"`}, {`string(1.5)`, `"1.5"`}, {`string(true)`, `"true"`}, {`string([])`, TypeError}, {`string(null)`, TypeError},
		{`keys({"b": 1, "a": 2})`, `["a","b"]`}, {`keys([1])`, TypeError},
		{`len("héé")`, `3`}, {`len([1, 2])`, `2`}, {`len({"a": 1})`, `1`}, {`len(5)`, TypeError},
		{`default(null, 3)`, `3`}, {`default(0, 3)`, `0`}, {`default("", 3)`, `""`},
		{`if(true, 1, 2)`, `1`}, {`if(1 > 2, 1, 2)`, `2`}, {`if("x", 1, 2)`, TypeError},
		{`get_type(null)`, `"null"`}, {`get_type(true)`, `"boolean"`}, {`get_type(1)`, `"integer"`}, {`get_type(1.0)`, `"double"`},
		{`get_type("")`, `"string"`}, {`get_type([])`, `"list"`}, {`get_type({})`, `"map"`}, {`get_type(text.encode("x"))`, `"bytes"`},
		{`base64.encode(text.encode("hi there"))`, `"aGkgdGhlcmU="`}, {`base64.encode(text.encode("hi there"), false)`, `"aGkgdGhlcmU"`},
		{`text.decode(base64.decode("aGkgdGhlcmU="))`, `"hi there"`}, {`text.decode(base64.decode("aGkgdGhlcmU", false))`, `"hi there"`},
		{`base64.decode("%%%")`, ValueError}, {`base64.encode("text")`, TypeError},
		{`base64.encode(hash.compute_checksum(text.encode("abc"), "SHA256"))`, `"ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="`},
		{`base64.encode(hash.compute_hmac(text.encode("key"), text.encode("abc"), "SHA256"))`, `"nBluMtwBdfhvSxy4konWYZ3mvuaZ5MN45oMJ7Zehpqs="`},
		{`hash.compute_checksum(text.encode("abc"), "rot13")`, ValueError}, {`hash.compute_checksum("abc", "SHA256")`, TypeError},
		{`json.decode("{\"a\": [1, 2.5, null]}")`, `{"a":[1,2.5,null]}`}, {`json.decode(text.encode("1"))`, `1`}, {`json.decode("{")`, ValueError}, {`json.decode(1)`, TypeError},
		{`json.encode_to_string({"b": 1, "a": "<&>"})`, `"{\"a\":\"<&>\",\"b\":1}"`}, {`text.decode(json.encode([1]))`, `"[1]"`},
		{`json.encode_to_string([1], true)`, `"[\n  1\n]"`}, {`json.encode_to_string([1], {"indent": "\t"})`, `"[\n\t1\n]"`},
		{`json.encode_to_string(text.encode("x"))`, TypeError},
		{`list.concat([1], 2)`, `[1,2]`}, {`list.concat([1], [2])`, `[1,[2]]`}, {`list.concat("a", 2)`, TypeError}, {`list.prepend([1], 0)`, `[0,1]`},
		{`map.get({"a": 1}, "a")`, `1`}, {`map.get({"a": 1}, "b")`, `null`}, {`map.get({"a": {"b": 2}}, ["a", "b"])`, `2`},
		{`map.get("text", "a")`, `null`}, {`map.get(null, ["a"])`, `null`}, {`map.get({}, 1)`, TypeError},
		{`map.delete({"a": 1, "b": 2}, "a")`, `{"b":2}`}, {`map.delete({}, "a")`, KeyError},
		{`map.merge({"a": {"x": 1}}, {"a": {"y": 2}})`, `{"a":{"y":2}}`}, {`map.merge_nested({"a": {"x": 1}}, {"a": {"y": 2}})`, `{"a":{"x":1,"y":2}}`},
		{`map.merge([], {})`, TypeError},
		{`math.abs(-3)`, `3`}, {`math.abs(-3.5)`, `3.5`}, {`math.abs("x")`, TypeError}, {`math.max(1, 2.5)`, `2.5`}, {`math.max(3, 2.5)`, `3`},
		{`math.min(9007199254740993, 9007199254740992)`, `9007199254740992`}, {`math.floor(-1.5)`, `-2`}, {`math.floor(7)`, `7`},
		{`retry.always("e")`, `true`}, {`retry.never("e")`, `false`}, {`retry.default_backoff.max_delay`, `60`},
		{`sys.get_env("NAME")`, `"value"`}, {`sys.get_env("NONE")`, `null`}, {`sys.get_env("NONE", "d")`, `"d"`}, {`sys.get_env(1)`, TypeError},
		{`sys.get_env("NONE", 1)`, TypeError}, {`sys.get_env("GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID")`, `"exec-1"`},
		{`sys.now()`, `1767323045`}, {`get_type(sys.now())`, `"double"`},
		{`text.find_all("éaéa", "a")`, `[1,3]`}, {`text.find_all("aaa", "aa")`, `[0]`}, {`text.find_all("a", "x")`, `[]`},
		{`text.find_all_regex("HelloWorld", "Hello|World")`, `[{"index":0,"match":"Hello"},{"index":5,"match":"World"}]`},
		{`text.find_all_regex("abcd", "a|ab|abc")`, `[{"index":0,"match":"abc"}]`}, {`text.find_all_regex("a", "(")`, ValueError},
		{`text.match_regex("abc", "b")`, `true`}, {`text.match_regex("abc", "^b")`, `false`}, {`text.match_regex(1, "b")`, TypeError},
		{`text.replace_all("aXbX", "X", "-")`, `"a-b-"`}, {`text.replace_all_regex("ab", "(a)(b)", "$2$1")`, `"$2$1"`}, {`text.replace_all_regex("a1b22", "[0-9]+", "#")`, `"a#b#"`},
		{`text.split("a,b,", ",")`, `["a","b",""]`}, {`text.substring("héllo", 1, 3)`, `"él"`}, {`text.substring("abc", 2, 9)`, IndexError},
		{`text.to_lower("ÄB")`, `"äb"`}, {`text.to_upper("äb")`, `"ÄB"`},
		{`text.url_encode("a b/c?é")`, `"a%20b%2Fc%3F%C3%A9"`}, {`text.url_encode_plus("a b+")`, `"a+b%2B"`}, {`text.url_decode("a%20b%2F")`, `"a b/"`}, {`text.url_decode("%zz")`, ValueError},
		{`text.decode(text.encode("é", "ISO-8859-1"), "ISO-8859-1")`, `"é"`}, {`text.encode("é", "US-ASCII")`, ValueError}, {`text.encode("x", "EBCDIC")`, ValueError},
		{`time.format(0)`, `"1970-01-01T00:00:00Z"`}, {`time.format(0.5)`, `"1970-01-01T00:00:00.5Z"`}, {`time.format(0, "America/New_York")`, `"1969-12-31T19:00:00-05:00"`},
		{`time.format(0, "Nowhere/Town")`, ValueError}, {`time.parse("1970-01-01T00:01:00Z")`, `60`}, {`time.parse("1970-01-01T01:00:00+01:00")`, `0`}, {`time.parse("yesterday")`, ValueError},
		{`len(uuid.generate())`, `36`},
		{`http.default_retry_predicate({"code": 502, "tags": ["HttpError"]})`, `true`}, {`http.default_retry_predicate({"code": 500})`, `false`},
		{`http.default_retry_predicate({"tags": ["ConnectionError"]})`, `true`}, {`http.default_retry_predicate("text")`, `false`},
		{`http.default_retry_predicate_non_idempotent({"code": 502})`, `false`}, {`http.default_retry_predicate_non_idempotent({"code": 503})`, `true`},
		{`http.default_retry_predicate_non_idempotent({"tags": ["ConnectionError"]})`, `false`}, {`http.default_retry_predicate_non_idempotent({"tags": ["TimeoutError"]})`, `false`},
		{`http.default_retry_predicate_non_idempotent({"tags": ["ConnectionFailedError"]})`, `true`},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			t.Parallel()
			v, err := evaluate(t, tt.src, nil)
			if err != nil {
				if !slices.Contains(err.Tags, tt.want) {
					t.Fatalf("raised %v, want %s", err, tt.want)
				}
				return
			}
			if got := jsonText(v); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMissingEnvironment(t *testing.T) {
	t.Parallel()
	strict := DefaultSemantics()
	strict.MissingEnv = EnvKeyError
	_, err := evaluate(t, `sys.get_env("NONE")`, func(c *Config) { c.Semantics = &strict })
	if err == nil || !err.HasTag(KeyError) {
		t.Errorf("got %v, want a KeyError", err)
	}
}

func TestStringWordingOfTheService(t *testing.T) {
	t.Parallel()
	_, err := evaluate(t, `string({})`, nil)
	want := "unsupported operand type for string(): 'dict' (expecting number, string, or boolean)"
	if err == nil || err.Message != "TypeError: "+want {
		t.Errorf("got %v, want %q", err, want)
	}
}
