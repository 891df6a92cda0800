package tokens

import (
	"strings"
	"testing"
	"time"
)

const (
	target = "projects/p/locations/l/workflows/w"
	noon   = "2026-10-16T12:00:00Z"
)

// R3: equal instants, however written, are one run; others are not.
func TestEqualInstants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"offset", noon, "2026-10-16T05:00:00-07:00", true},
		{"offset over midnight", "2026-10-16T23:30:00Z", "2026-10-17T05:15:00+05:45", true},
		{"zero fraction", noon, "2026-10-16T12:00:00.000000Z", true},
		{"trailing zeros", "2026-10-16T12:00:00.5Z", "2026-10-16T05:00:00.500000-07:00", true},
		{"minus zero offset", noon, "2026-10-16T12:00:00-00:00", true},
		{"a microsecond apart", noon, "2026-10-16T12:00:00.000001Z", false},
		{"a nanosecond apart", "2026-10-16T12:00:00.000000001Z", "2026-10-16T12:00:00.000000002Z", false},
		{"the two 01:30 of an autumn night", "2026-11-01T01:30:00-07:00", "2026-11-01T01:30:00-08:00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []Scope{{None: true}, {Target: target}} {
				a, errA := RunID("j", tt.a, s)
				b, errB := RunID("j", tt.b, s)
				if errA != nil || errB != nil || (a == b) != tt.same {
					t.Errorf("scope %+v: %s, %v and %s, %v, want equal: %t", s, a, errA, b, errB, tt.same)
				}
			}
		})
	}
}

// R2 R3: what is malformed is refused, with a message that says which part.
func TestRunIDRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, job, time string
		scope           Scope
		want            string
	}{
		{"no job", "", noon, Scope{Target: target}, "part 1 is empty"},
		{"blank time", "j", " ", Scope{Target: target}, "part 2 is empty"},
		{"slash in the job", "a/b", noon, Scope{None: true}, "job name"},
		{"full resource name", "projects/p/locations/l/jobs/j", noon, Scope{Target: target}, "job name"},
		{"long job", strings.Repeat("j", 501), noon, Scope{Target: target}, "job name"},
		{"newline after the job", "j\n", noon, Scope{Target: target}, "job name"},
		{"letter beyond ASCII", "jöb", noon, Scope{Target: target}, "job name"},
		{"words", "j", "yesterday", Scope{Target: target}, "RFC 3339"},
		{"no zone", "j", "2026-10-16T12:00:00", Scope{Target: target}, "RFC 3339"},
		{"zone without colon", "j", "2026-10-16T12:00:00-0700", Scope{Target: target}, "RFC 3339"},
		{"space for T", "j", "2026-10-16 12:00:00Z", Scope{Target: target}, "RFC 3339"},
		{"comma", "j", "2026-10-16T12:00:00,5Z", Scope{Target: target}, "RFC 3339"},
		{"one-digit hour", "j", "2026-10-16T2:00:00Z", Scope{Target: target}, "RFC 3339"},
		{"leap second", "j", "2026-12-31T23:59:60Z", Scope{Target: target}, "RFC 3339"},
		{"30 February", "j", "2026-02-30T12:00:00Z", Scope{Target: target}, "RFC 3339"},
		{"offset of a day", "j", "2026-10-16T12:00:00+24:00", Scope{Target: target}, "RFC 3339"},
		{"point without digits", "j", "2026-10-16T12:00:00.Z", Scope{Target: target}, "RFC 3339"},
		{"newline after", "j", noon + "\n", Scope{Target: target}, "RFC 3339"},
		{"ten digits", "j", "2026-10-16T12:00:00.0000000001Z", Scope{Target: target}, "nine digits"},
		{"year 0 in UTC", "j", "0001-01-01T00:00:00+01:00", Scope{Target: target}, "out of range"},
		{"year 10000 in UTC", "j", "9999-12-31T23:59:59-01:00", Scope{Target: target}, "out of range"},
		{"endless", "j", strings.Repeat("2", 1000), Scope{Target: target}, "RFC 3339"},
		{"no scope", "j", noon, Scope{}, "Target is empty"},
		{"blank target", "j", noon, Scope{Target: "  "}, "Target is empty"},
		{"none and a target", "j", noon, Scope{None: true, Target: target}, "excludes"},
		{"none and a project", "j", noon, Scope{None: true, Project: "p"}, "excludes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := RunID(tt.job, tt.time, tt.scope)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != "" {
				t.Errorf("RunID = %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// R4 R5: keys that differ in any part, or whose parts are cut elsewhere, never meet.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	keys := []Key{
		{Scheduler, []string{"j", noon}, Scope{None: true}},
		{Scheduler, []string{"j", noon}, Scope{Target: "a"}},
		{Scheduler, []string{"j", noon}, Scope{Target: "b"}},
		{Scheduler, []string{"j", noon}, Scope{Target: "a", Project: "p"}},
		{Scheduler, []string{"j", noon}, Scope{Target: "a", Location: "p"}},
		{Scheduler, []string{"j", noon}, Scope{Target: "ap"}},
		{Scheduler, []string{"j", noon}, Scope{Target: "a", Project: "p", Location: "l"}},
		{Scheduler, []string{"j", noon}, Scope{Target: "a", Project: "pl"}},
		{Forced, []string{"j", noon}, Scope{None: true}},
		{Forced, []string{"j", noon}, Scope{Target: "a"}},
		{Forced, []string{"j", noon, "second"}, Scope{Target: "a"}},
		{CloudTasks, []string{"ab", "c"}, Scope{Target: "a"}},
		{CloudTasks, []string{"a", "bc"}, Scope{Target: "a"}},
		{PubSub, []string{"ab", "c"}, Scope{Target: "a"}},
		{CloudEvent, []string{"ab", "c"}, Scope{Target: "a"}},
		{Requested, []string{"ab", "c"}, Scope{Target: "a"}},
		{Requested, []string{"abc"}, Scope{Target: "a"}},
		{"own", []string{"abc"}, Scope{Target: "a"}},
		{"own", []string{"3:abc,"}, Scope{Target: "a"}},
		{"own", []string{"abc", "abc"}, Scope{Target: "a"}},
	}
	seen := map[string]Key{}
	for _, k := range keys {
		id, err := k.RunID()
		if err != nil || len(id) != 64 {
			t.Errorf("%+v: %q, %v", k, id, err)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%+v and %+v have one id", k, other)
		}
		seen[id] = k
	}
}

// B12: a key that is missing is refused, so that two requests without one never meet.
func TestKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		key  Key
	}{
		{"no kind", Key{"", []string{"a"}, Scope{Target: target}}},
		{"odd kind", Key{"Own Kind", []string{"a"}, Scope{Target: target}}},
		{"no parts", Key{"own", nil, Scope{Target: target}}},
		{"empty part", Key{Requested, []string{""}, Scope{Target: target}}},
		{"blank part", Key{Requested, []string{" \t"}, Scope{Target: target}}},
		{"one of two", Key{CloudTasks, []string{"queue"}, Scope{Target: target}}},
		{"three of two", Key{PubSub, []string{"a", "b", "c"}, Scope{Target: target}}},
		{"forced without a time", Key{Forced, []string{"j"}, Scope{Target: target}}},
		{"forced with a bad time", Key{Forced, []string{"j", "now"}, Scope{Target: target}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := tt.key.RunID(); err == nil || got != "" {
				t.Errorf("RunID = %q, %v, want an error", got, err)
			}
		})
	}
}

// R5: a time in the future is a manual run; a clock that is a little behind does not make one of a scheduled run.
func TestIsForced(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 16, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, time string
		want       bool
	}{
		{"past", "2026-10-16T11:59:59Z", false},
		{"now", noon, false},
		{"within skew", "2026-10-16T12:00:30Z", false},
		{"beyond skew", "2026-10-16T12:00:30.000001Z", true},
		{"next hour, other zone", "2026-10-16T06:00:00-07:00", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := IsForced(tt.time, now, 30*time.Second)
			if err != nil || got != tt.want {
				t.Errorf("IsForced = %t, %v, want %t", got, err, tt.want)
			}
		})
	}
	if _, err := IsForced("soon", now, 0); err == nil {
		t.Error("IsForced of a malformed time: no error")
	}
}

// R3: rounding is a choice of the caller, to the nearest minute.
func TestRoundToMinute(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-10-16T16:49:59.99Z": "2026-10-16T16:50:00Z", "2026-10-16T16:50:00.510855-07:00": "2026-10-16T23:50:00Z",
		"2026-10-16T16:50:29.9Z": "2026-10-16T16:50:00Z", noon: noon,
	} {
		if got, err := RoundToMinute(in); err != nil || got != want {
			t.Errorf("RoundToMinute(%s) = %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := RoundToMinute("noon"); err == nil {
		t.Error("RoundToMinute of a malformed time: no error")
	}
}

// R4: the full name of a job is taken apart only by whoever asks for it.
func TestSplitJobName(t *testing.T) {
	t.Parallel()
	p, l, j, err := SplitJobName("projects/example.com:p/locations/europe-west1/jobs/daily_1")
	if err != nil || p != "example.com:p" || l != "europe-west1" || j != "daily_1" {
		t.Errorf("got %q %q %q, %v", p, l, j, err)
	}
	for _, bad := range []string{"", "daily", "projects/p/locations/l/jobs/", "projects/p/jobs/j", "/projects/p/locations/l/jobs/j", "projects/p/locations/l/jobs/a/b", "projects/../locations/l/jobs/j\n"} {
		if _, _, _, err := SplitJobName(bad); err == nil {
			t.Errorf("SplitJobName(%q): no error", bad)
		}
	}
}

// B24: a repetition on purpose has a name of its own, which its retries keep.
func TestRerun(t *testing.T) {
	t.Parallel()
	first, err := Rerun("abc", 1)
	again, _ := Rerun("abc", 1)
	second, _ := Rerun("abc", 2)
	if err != nil || first != again || first == second || first == "abc" {
		t.Errorf("Rerun: %q, %q, %q, %v", first, again, second, err)
	}
	for _, n := range []int{0, -1} {
		if _, err := Rerun("abc", n); err == nil {
			t.Errorf("Rerun generation %d: no error", n)
		}
	}
}
