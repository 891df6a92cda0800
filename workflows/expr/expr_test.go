package expr

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type env map[string]any

func (e env) Lookup(name string) (any, bool) { v, ok := e[name]; return v, ok }

func (e env) Func(name string) (any, bool) {
	if name == "http.default_retry" {
		return "the policy", true
	}
	return nil, false
}

func (e env) Call(_ context.Context, name string, args []any) (any, error) {
	if name == "text.count" {
		return int64(len(args)), nil
	}
	return nil, &Error{"TypeError", "no function " + name}
}

var world = env{
	"m": map[string]any{"a": int64(1), "b c": "x", "list": []any{int64(4), "five"}},
	"k": "a", "n": int64(7), "d": 2.5, "s": "text", "yes": true, "none": nil, "raw": []byte("b"),
}

func TestEval(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]any{
		`1 + 2 * 3`:                              int64(7),
		`(1 + 2) * 3`:                            int64(9),
		`7 // 2`:                                 int64(3),
		`-7 // 2`:                                int64(-4),
		`7 % -3`:                                 int64(-2),
		`-7 % 3`:                                 int64(2),
		`7 / 2`:                                  3.5,
		`4 / 2`:                                  2.0,
		`7.5 // 2`:                               3.0,
		`2 - -1`:                                 int64(3),
		`-9223372036854775808`:                   int64(math.MinInt64),
		`-9223372036854775808 % -1`:              int64(0),
		`-7.5 // 2`:                              -4.0,
		`-7.5 % 2`:                               0.5,
		`0.3 // 0.1`:                             2.0,
		`+n`:                                     int64(7),
		`2 * 3.5`:                                7.0,
		`9007199254740993 == 9007199254740992.0`: false,
		`9007199254740993 > 9007199254740992.0`:  true,
		`9223372036854775807 < 1e300`:            true,
		`-1e300 < n`:                             true,
		`2.5 >= 2`:                               true,
		`"\ud83d\ude00" + "\u00e9"`:              "😀é",
		`'it\'s'`:                                "it's",
		`[1, 2][1]`:                              int64(2),
		`{"a": {"b": 5}}.a.b`:                    int64(5),
		`m.list == [4, "five"]`:                  true,
		`m != none`:                              true,
		`raw == raw`:                             true,
		`raw == s`:                               false,
		`n in m.list or n == 7`:                  true,
		`NOT yes`:                                false,
		`1.5e3`:                                  1500.0,
		`"a" + 'b'`:                              "ab",
		`"a\"b\n\u00e9\d"`:                       "a\"b\né\\d",
		`not yes or yes`:                         true,
		`not ("a" in m)`:                         false,
		`not("zz" in m) AND yes`:                 true,
		`1 == 1.0`:                               true,
		`"1" == 1`:                               false,
		`none == null`:                           true,
		`1 < 2 == TRUE`:                          true,
		`"a" in m`:                               true,
		`"five" in m.list`:                       true,
		`n in [6, 7]`:                            true,
		`m.a`:                                    int64(1),
		`m["b c"]`:                               "x",
		`m[k]`:                                   int64(1),
		`m.list[n - 7]`:                          int64(4),
		`{"a": [1], k + "b": m.a}`:               map[string]any{"a": []any{int64(1)}, "ab": int64(1)},
		`[]`:                                     []any(nil),
		`text.count(1, "a", [])`:                 int64(3),
		`http.default_retry`:                     "the policy",
		`false and text.nothing()`:               false,
		`True or text.nothing()`:                 true,
		`[1, {"a": 2.0}] == [1.0, {"a": 2}]`:     true,
		`d * 2`:                                  5.0,
		`"b" > "a"`:                              true,
		`"code" in m and m.code in [409, 429]`:   false,
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			e, err := Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Eval(t.Context(), world)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" && !(src == "[]" && len(got.([]any)) == 0) {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	for src, kind := range map[string]string{
		`"a" + 1`:                    "TypeError",
		`1 + "a"`:                    "TypeError",
		`[1] + [2]`:                  "TypeError",
		`s and yes`:                  "TypeError",
		`yes and 1`:                  "TypeError",
		`not n`:                      "TypeError",
		`-s`:                         "TypeError",
		`"t" in s`:                   "TypeError",
		`1 in m`:                     "TypeError",
		`yes < no`:                   "KeyError",
		`yes < yes`:                  "TypeError",
		`1 / 0`:                      "ZeroDivisionError",
		`1 // 0`:                     "ZeroDivisionError",
		`1.0 % 0`:                    "ZeroDivisionError",
		`m.zz`:                       "KeyError",
		`m["zz"]`:                    "KeyError",
		`s.zz`:                       "TypeError",
		`m.list[2]`:                  "IndexError",
		`m.list[-1]`:                 "IndexError",
		`m.list["a"]`:                "TypeError",
		`m[1]`:                       "TypeError",
		`n[0]`:                       "TypeError",
		`unknown`:                    "KeyError",
		`9223372036854775807 + 1`:    "ValueError",
		`9223372036854775807 * 2`:    "ValueError",
		`-9223372036854775807 - 2`:   "ValueError",
		`{1: 2}`:                     "TypeError",
		`text.nothing()`:             "TypeError",
		`-9223372036854775808 // -1`: "ValueError",
		`- -9223372036854775808`:     "ValueError",
		`-9223372036854775808 * -1`:  "ValueError",
		`none.a`:                     "TypeError",
		`none["a"]`:                  "TypeError",
		`"a" in none`:                "TypeError",
		`"a" < 1`:                    "TypeError",
		`none < 1`:                   "TypeError",
		`yes + yes`:                  "TypeError",
		`raw + raw`:                  "TypeError",
		`-yes`:                       "TypeError",
		`text.count().a.b`:           "TypeError",
		`unknown.a.b`:                "KeyError",
		`m.a.b`:                      "TypeError",
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			e, err := Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Eval(t.Context(), world)
			var ee *Error
			if !errors.As(err, &ee) || ee.Kind != kind {
				t.Errorf("got %v, %v; want a %s", got, err, kind)
			}
		})
	}
}
