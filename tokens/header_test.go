package tokens

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// B12 R21: one token, bare or quoted; anything else is refused.
func TestFromHeader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", MaxLen)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string // "": an error
	}{
		{"bare", http.Header{Header: {"run/charge"}}, "run/charge"},
		{"quoted", http.Header{Header: {`"run/charge"`}}, "run/charge"},
		{"lower case", http.Header{"idempotency-key": {"run"}}, "run"},
		{"white space around", http.Header{Header: {" run\t"}}, "run"},
		{"escapes", http.Header{Header: {`"a\"b\\c"`}}, `a"b\c`},
		{"comma in quotes", http.Header{Header: {`"a,b"`}}, "a,b"},
		{"longest", http.Header{Header: {long}}, long},
		{"longest in quotes", http.Header{Header: {`"` + long + `"`}}, long},
		{"none", http.Header{}, ""},
		{"nil", nil, ""},
		{"no values", http.Header{Header: {}}, ""},
		{"empty", http.Header{Header: {""}}, ""},
		{"blank", http.Header{Header: {"  "}}, ""},
		{"empty in quotes", http.Header{Header: {`""`}}, ""},
		{"blank in quotes", http.Header{Header: {`" "`}}, ""},
		{"too long", http.Header{Header: {long + "a"}}, ""},
		{"two values", http.Header{Header: {"a", "a"}}, ""},
		{"two spellings", http.Header{Header: {"a"}, "idempotency-key": {"a"}}, ""},
		{"two joined", http.Header{Header: {"a,b"}}, ""},
		{"two joined with a space", http.Header{Header: {"a, b"}}, ""},
		{"two quoted joined", http.Header{Header: {`"a", "b"`}}, ""},
		{"parameter", http.Header{Header: {`"a";x=1`}}, ""},
		{"open quote", http.Header{Header: {`"a`}}, ""},
		{"only a quote", http.Header{Header: {`"`}}, ""},
		{"quote within", http.Header{Header: {`a"b`}}, ""},
		{"odd escape", http.Header{Header: {`"a\n"`}}, ""},
		{"cut escape", http.Header{Header: {`"a\`}}, ""},
		{"control", http.Header{Header: {"a\x00b"}}, ""},
		{"beyond ASCII", http.Header{Header: {"é"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := FromHeader(tt.header)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("FromHeader = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, h := range []http.Header{nil, {Header: {""}}, {Header: {`""`}}} {
		if _, err := FromHeader(h); !errors.Is(err, ErrNoToken) {
			t.Errorf("FromHeader(%v): %v, want ErrNoToken", h, err)
		}
	}
}

// R21: what was set is read back, and nothing is left of what was there.
func TestSetHeader(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"run/charge": "run/charge", `a"b\c`: `"a\"b\\c"`, "a,b": `"a,b"`, `a\b`: `a\b`} {
		h := http.Header{"idempotency-key": {"old"}, Header: {"old", "older"}}
		SetHeader(h, token)
		got, err := FromHeader(h)
		if err != nil || got != token || h.Get(Header) != want || len(h) != 1 {
			t.Errorf("SetHeader(%q): %v, read back %q, %v, want %q", token, h, got, err, want)
		}
	}
}

// R1 R2: the headers of a delivery, whatever their case; a missing one is named.
func TestFromScheduler(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string // in the error; "": none
	}{
		{"HTTP/1.1", http.Header{"X-Cloudscheduler-Jobname": {"j"}, "X-Cloudscheduler-Scheduletime": {noon}}, ""},
		{"HTTP/2", http.Header{"x-cloudscheduler-jobname": {"j"}, "x-cloudscheduler-scheduletime": {noon}}, ""},
		{"as documented", http.Header{JobNameHeader: {"j"}, ScheduleTimeHeader: {noon}}, ""},
		{"none", http.Header{}, "X-CloudScheduler-JobName and X-CloudScheduler-ScheduleTime are missing"},
		{"no job", http.Header{ScheduleTimeHeader: {noon}}, "X-CloudScheduler-JobName is missing"},
		{"no time", http.Header{JobNameHeader: {"j"}}, "unix-cron"},
		{"empty time", http.Header{JobNameHeader: {"j"}, ScheduleTimeHeader: {" "}}, "unix-cron"},
		{"two jobs", http.Header{JobNameHeader: {"j", "k"}, ScheduleTimeHeader: {noon}}, "there 2 times"},
		{"two times", http.Header{JobNameHeader: {"j"}, ScheduleTimeHeader: {noon}, "x-cloudscheduler-scheduletime": {noon}}, "there 2 times"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job, at, err := FromScheduler(tt.header)
			if tt.want == "" && (err != nil || job != "j" || at != noon) {
				t.Errorf("got %q, %q, %v", job, at, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || job != "" || at != "") {
				t.Errorf("got %q, %q, %v, want an error with %q", job, at, err, tt.want)
			}
		})
	}
}

// FuzzHeader: never a panic; what is accepted is a token and survives the way there and back.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"run/charge", `"a\"b"`, `"a", "b"`, `"a`, "a,b", `\`, `"\`, ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token, err := FromHeader(http.Header{Header: {value}})
		if err != nil {
			token = value
			if Check(value) != nil {
				return
			}
		}
		h := http.Header{}
		SetHeader(h, token)
		if back, err := FromHeader(h); err != nil || back != token || Check(back) != nil {
			t.Errorf("%q: set as %v, read back %q, %v", token, h, back, err)
		}
	})
}
