package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const testTarget = "projects/p/locations/l/workflows/orders"

var testNow = time.Date(2026, 10, 16, 12, 0, 5, 0, time.UTC)

func scheduled(job, at string) http.Header {
	h := http.Header{}
	h.Set("X-CloudScheduler-JobName", job)
	h.Set("X-CloudScheduler-ScheduleTime", at)
	return h
}

func read(t *testing.T, cfg Config, h http.Header, query url.Values) (delivery, error) {
	t.Helper()
	return readDelivery(cfg.WithDefaults(), []string{sourceScheduler}, request{header: h, query: query, target: testTarget, now: testNow})
}

func code(err error) string {
	var p *problem
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// R1, R2, R3, A7, A8
func TestSchedulerRefuses(t *testing.T) {
	t.Parallel()
	twice := scheduled("daily", "2026-10-16T12:00:00Z")
	twice.Add("X-CloudScheduler-JobName", "other")
	for name, tt := range map[string]struct {
		header http.Header
		cfg    Config
		code   string
		says   string
	}{
		"nothing":         {http.Header{}, Config{}, "missing-header", "X-CloudScheduler-JobName and X-CloudScheduler-ScheduleTime"},
		"no job":          {http.Header{"X-Cloudscheduler-Scheduletime": {"2026-10-16T12:00:00Z"}}, Config{}, "missing-header", "X-CloudScheduler-JobName is missing"},
		"no time":         {http.Header{"X-Cloudscheduler-Jobname": {"daily"}}, Config{}, "missing-header", "unix-cron"},
		"two names":       {twice, Config{}, "missing-header", "2 times"},
		"name with slash": {scheduled("a/b", "2026-10-16T12:00:00Z"), Config{}, "bad-name", "letters"},
		"no such time":    {scheduled("daily", "yesterday"), Config{}, "bad-time", "RFC 3339"},
		"offset unsplit":  {scheduled("daily", "2026-10-16T12:00:00-0700"), Config{}, "bad-time", "RFC 3339"},
		"bad and rounded": {scheduled("daily", "12:00"), Config{Round: "minute"}, "bad-time", "RFC 3339"},
		"too old":         {scheduled("daily", "2026-10-10T12:00:00Z"), Config{}, "slot-too-old", "runs trigger"},
		"too far":         {scheduled("daily", "2028-10-16T12:00:00Z"), Config{}, "slot-too-far", "ahead"},
		"no scope":        {scheduled("daily", "2026-10-16T12:00:00Z"), Config{Scope: "job"}, "no-scope", "X-Runonce-Job-Project"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, tt.cfg, tt.header, nil)
			if code(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v (code %q), want code %q and a message with %q", err, code(err), tt.code, tt.says)
			}
			if p := problemOf(err); p.Status != http.StatusBadRequest {
				t.Errorf("got status %d, want 400", p.Status)
			}
		})
	}
}

// R3, R4, R5: which deliveries are one run.
func TestSchedulerRuns(t *testing.T) {
	t.Parallel()
	base := scheduled("daily", "2026-10-16T12:00:00Z")
	query := url.Values{"job_project": {"p1"}, "job_location": {"l1"}}
	for name, tt := range map[string]struct {
		a, b         http.Header
		aCfg, bCfg   Config
		aQuery, bQry url.Values
		same         bool
	}{
		"other rendering":        {a: base, b: scheduled("daily", "2026-10-16T05:00:00-07:00"), same: true},
		"zeros in the fraction":  {a: base, b: scheduled("daily", "2026-10-16T12:00:00.000Z"), same: true},
		"lower case names":       {a: base, b: http.Header{"x-cloudscheduler-jobname": {"daily"}, "x-cloudscheduler-scheduletime": {"2026-10-16T12:00:00Z"}}, same: true},
		"another fraction":       {a: base, b: scheduled("daily", "2026-10-16T12:00:00.5Z")},
		"rounded":                {a: base, b: scheduled("daily", "2026-10-16T12:00:00.5Z"), aCfg: Config{Round: "minute"}, bCfg: Config{Round: "minute"}, same: true},
		"another job":            {a: base, b: scheduled("hourly", "2026-10-16T12:00:00Z")},
		"another scope":          {a: base, b: base, bCfg: Config{Scope: "none"}},
		"job of a project":       {a: base, b: base, aCfg: Config{Scope: "job"}, bCfg: Config{Scope: "job"}, aQuery: query, bQry: url.Values{"job_project": {"p2"}, "job_location": {"l1"}}},
		"forced, and the slot":   {a: scheduled("daily", "2026-10-16T13:00:00Z"), b: scheduled("daily", "2026-10-16T13:00:00Z"), bCfg: Config{Forced: "next"}},
		"within the skew no run": {a: scheduled("daily", "2026-10-16T12:01:00Z"), b: scheduled("daily", "2026-10-16T12:01:00Z"), bCfg: Config{Forced: "next"}, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := read(t, tt.aCfg, tt.a, tt.aQuery)
			if err != nil {
				t.Fatal(err)
			}
			b, err := read(t, tt.bCfg, tt.b, tt.bQry)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.runID == b.runID; got != tt.same {
				t.Errorf("one run: got %v, want %v", got, tt.same)
			}
		})
	}
}

// R3: SCOPE=none gives the bytes of Google's sample.
func TestUnscopedRunID(t *testing.T) {
	t.Parallel()
	d, err := read(t, Config{Scope: "none"}, scheduled("my-job", "2026-10-16T12:00:00Z"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "e60ff3f5c616e32a1234a8936c35f611fdfe142b355c0fc0e871c4d914680cd5" // sha256("my-job/2026-10-16T12:00:00Z")
	if d.runID != want {
		t.Errorf("got %s, want %s", d.runID, want)
	}
}

// R15
func TestJoinRunID(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want, code string }{
		"none":         {in: "", want: `{"run_id":"r"}`},
		"empty":        {in: "{}", want: `{"run_id":"r"}`},
		"beside":       {in: `{"z": 1.50, "a": "<b>"}`, want: `{"a":"<b>","run_id":"r","z":1.50}`},
		"big number":   {in: `{"n":123456789012345678901234567890}`, want: `{"n":123456789012345678901234567890,"run_id":"r"}`},
		"its own":      {in: `{"run_id":"r"}`, want: `{"run_id":"r"}`},
		"another":      {in: `{"run_id":"s"}`, code: "run-id-clash"},
		"no text":      {in: `{"run_id":7}`, code: "run-id-clash"},
		"other case":   {in: `{"RUN_ID":"s"}`, want: `{"RUN_ID":"s","run_id":"r"}`},
		"list":         {in: `[1]`, code: "bad-argument"},
		"null":         {in: `null`, code: "bad-argument"},
		"text":         {in: `"x"`, code: "bad-argument"},
		"no JSON":      {in: `{`, code: "bad-argument"},
		"two values":   {in: `{}{}`, code: "bad-argument"},
		"brace behind": {in: `{}}`, code: "bad-argument"},
		"too long":     {in: `{"a":"` + strings.Repeat("x", maxArgument) + `"}`, code: "argument-too-long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := joinRunID(tt.in, "r")
			if got != tt.want || code(err) != tt.code {
				t.Fatalf("got %q, %v; want %q, code %q", got, err, tt.want, tt.code)
			}
			if err == nil && runIDIn(got) != "r" {
				t.Errorf("runIDIn(%q) = %q, want r", got, runIDIn(got))
			}
		})
	}
}

func FuzzJoinRunID(f *testing.F) {
	f.Add(`{"a":1}`)
	f.Add(`{"run_id":"r","run_id":"s"}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := joinRunID(in, "r")
		if err == nil && runIDIn(got) != "r" {
			t.Errorf("joinRunID(%q) = %q, whose run_id is %q", in, got, runIDIn(got))
		}
	})
}
