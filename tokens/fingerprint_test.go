package tokens

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// B13: one meaning, one form.
func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"white space and order", " {\"b\" : 1 ,\n\t\"a\":[ true , null,false ] }\r", `{"a":[true,null,false],"b":1}`},
		{"empty", `{"a":{},"b":[],"":""}`, `{"":"","a":{},"b":[]}`},
		{"nested order", `[{"z":{"b":1,"a":2},"a":0}]`, `[{"a":0,"z":{"a":2,"b":1}}]`},
		{"RFC 8785 3.2.3: UTF-16 order", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"o"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"o\",\"€\":\"Euro Sign\",\"😀\":\"Emoji\",\"\ufb33\":\"Hebrew\"}"},
		{"RFC 8785 3.2.2.2: strings", `"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`, `"€$\u000f\nA'B\"\\\\\"/"`},
		{"RFC 8785 3.2.2.3: numbers", `[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`, `[333333333.33333329,1e+30,4.5,0.002,1e-27]`},
		{"one number", `[1, 1.0, 1.00, 10e-1, 0.1E1, 1E+0]`, `[1,1,1,1,1,1]`},
		{"zero", `[0, -0, 0.0, 0e5, -0.00E-3]`, `[0,0,0,0,0]`},
		{"text is no number", `["1", 1]`, `["1",1]`},
		{"all digits are kept", `[9007199254740993, 9007199254740992, 0.1000000000000000055]`, `[9007199254740993,9007199254740992,0.1000000000000000055]`},
		{"negative", `[-1.50, -1e21, -1e-7]`, `[-1.5,-1e+21,-1e-7]`},
		{"21 places", `[100000000000000000000, 1000000000000000000000, 123e19, 0.000001, 0.0000001, 12.5e-8]`, `[100000000000000000000,1e+21,1.23e+21,0.000001,1e-7,1.25e-7]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := CanonicalJSON([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("CanonicalJSON(%s)\n got %s, %v\nwant %s", tt.in, got, err, tt.want)
			}
			if again, err := CanonicalJSON(got); err != nil || string(again) != string(got) {
				t.Errorf("once more: %s, %v", again, err)
			}
		})
	}
}

// B13: what a reader could take for two things is refused.
func TestCanonicalJSONRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing": "", "blank": " ", "two values": "1 2", "word": "nul", "capital": "True", "NaN": "NaN", "plus": "+1", "leading zero": "01", "point last": "1.",
		"point first": ".5", "no exponent": "1e", "huge exponent": "1e99999999999", "minus": "-", "open": "[1", "open object": `{"a":1`, "comma last": "[1,]", "comma last in object": `{"a":1,}`,
		"no comma": "[1 2]", "no colon": `{"a" 1}`, "bare key": `{a:1}`, "twice": `{"a":1,"a":1}`, "twice, escaped": `{"a":1,"\u0061":2}`, "control": "\"\x01\"", "no UTF-8": "\"\xff\"",
		"half a pair": `"\ud83d"`, "wrong half": `"\ude00\ud83d"`, "half and a letter": `"\ud83d\u0041"`, "bad escape": `"\x"`, "cut escape": `"\`, "bad hex": `"\u00g0"`, "short hex": `"\u00`, "open string": `"a`,
		"deep": strings.Repeat("[", 100_000), "comment": "1 // one", "byte order mark": "\ufeff1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := CanonicalJSON([]byte(in)); err == nil || got != nil {
				t.Errorf("CanonicalJSON(%.60q) = %.60q, %v, want an error", in, got, err)
			}
		})
	}
}

// B13: numbers come out as JavaScript writes them, wherever a double has the same digits.
func TestNumbersAsECMAScript(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{1, 0.5, 1e20, 1e21, 1e22, 123456789.125, 5e-324, math.MaxFloat64, 1e-6, 1e-7, 4.35, 2.5e-5, 1.7976931348623157e308, 100, 1234500} {
		in := strconv.FormatFloat(x, 'e', -1, 64)
		want, err := json.Marshal(x) // encoding/json follows ECMAScript but for exponents of one digit, which it pads not
		if err != nil {
			t.Fatal(err)
		}
		if got, err := CanonicalJSON([]byte(in)); err != nil || string(got) != string(want) {
			t.Errorf("CanonicalJSON(%s) = %s, %v, want %s", in, got, err, want)
		}
	}
}

// B10: the parts of a fingerprint stay apart.
func TestFingerprintParts(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, parts := range [][]string{nil, {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"2:ab,", "c"}} {
		var b [][]byte
		for _, p := range parts {
			b = append(b, []byte(p))
		}
		sum := Fingerprint(b...)
		if other, ok := seen[sum]; ok {
			t.Errorf("%q and %s have one fingerprint", parts, other)
		}
		seen[sum] = strings.Join(parts, "|")
	}
	if _, err := FingerprintJSON([]byte("{")); err == nil {
		t.Error("FingerprintJSON of no JSON: no error")
	}
}

// FuzzCanonicalJSON: never a panic, nothing that encoding/json refuses, no change of meaning, and once is enough.
func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"b":1.0,"a":["\u00e9",null]}`, `1e-7`, `"\ud83d\ude00"`, `[[{}]]`, "\"\xff\"", `-0`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := slices.Clone(in)
		got, err := CanonicalJSON(in)
		if !slices.Equal(in, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		again, err := CanonicalJSON(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%q became %q, then %q, %v", in, got, again, err)
		}
		var a, b any
		if errA, errB := json.Unmarshal(in, &a), json.Unmarshal(got, &b); (errA == nil) != (errB == nil) {
			t.Errorf("encoding/json reads %q: %v, and %q: %v", in, errA, got, errB)
		} else if x, _ := json.Marshal(a); errA == nil {
			if y, _ := json.Marshal(b); string(x) != string(y) && !strings.Contains(string(x), "-0") {
				t.Errorf("%s became %s", x, y)
			}
		}
	})
}
