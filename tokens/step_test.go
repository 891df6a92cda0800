package tokens

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// R20 R21: step tokens are what the design says, readable where they can be.
func TestStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, run, step string
		keys            []string
		want            string
	}{
		{"step", "run", "charge", nil, "run/charge"},
		{"key", "run", "ship", []string{"sku-1"}, "run/ship/sku-1"},
		{"two keys", "run", "ship", []string{"a", "b"}, "run/ship/a/b"},
		{"slash in a key", "run", "ship", []string{"a/b"}, "run/ship/a%2Fb"},
		{"percent in a key", "run", "ship", []string{"a%2Fb"}, "run/ship/a%252Fb"},
		{"unreserved stay", "run", "ship", []string{"A-z_0.9~"}, "run/ship/A-z_0.9~"},
		{"beyond ASCII", "run", "ship", []string{"é"}, "run/ship/%C3%A9"},
		{"not UTF-8", "run", "ship", []string{"\xff"}, "run/ship/%FF"},
		{"blank key", "run", "ship", []string{" "}, "run/ship/%20"},
		{"star key", "run", "ship", []string{"*"}, "run/ship/%2A"},
		{"call of a step", "run/charge", "card", nil, "run/charge//card"},
		{"call of a step with key", "run/ship/a", "post", []string{"1"}, "run/ship/a//post/1"},
		{"call of a call", "run/charge//card", "fee", nil, "run/charge//card//fee"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Step(tt.run, tt.step, tt.keys...)
			if err != nil || got != tt.want {
				t.Errorf("Step = %q, %v, want %q", got, err, tt.want)
			}
			if Run(got) != "run" {
				t.Errorf("Run(%q) = %q, want run", got, Run(got))
			}
		})
	}
}

// B12: a step or key without a name is an error.
func TestStepRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, run, step string
		keys            []string
	}{
		{"no run", "", "s", nil}, {"space in the run", "a b", "s", nil}, {"long run", strings.Repeat("r", 256), "s", nil},
		{"no name", "r", "", nil}, {"slash in the name", "r", "a/b", nil}, {"star", "r", "*x", nil}, {"dot first", "r", ".x", nil},
		{"newline", "r", "x\n", nil}, {"long name", "r", strings.Repeat("n", 65), nil}, {"empty key", "r", "s", []string{"a", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := Step(tt.run, tt.step, tt.keys...); err == nil || got != "" {
				t.Errorf("Step = %q, %v, want an error", got, err)
			}
		})
	}
	if _, err := Step("", "s"); !errors.Is(err, ErrNoToken) {
		t.Errorf("Step without a run: %v, want ErrNoToken", err)
	}
}

// R21: a token fits the header, whatever it is made of.
func TestLongSteps(t *testing.T) {
	t.Parallel()
	run := strings.Repeat("a", 64)
	seen := map[string]string{}
	for _, in := range [][]string{
		{run, "ship", strings.Repeat("x", 185)}, {run, "ship", strings.Repeat("x", 186)}, {run, "ship", strings.Repeat("x", 187)},
		{run, "ship", strings.Repeat("x", 100), strings.Repeat("x", 86)}, {run, "ship", strings.Repeat("x", 86), strings.Repeat("x", 100)},
		{run, "ship2", strings.Repeat("x", 300)}, {run + "/" + strings.Repeat("y", 190), "ship"}, {run + "/" + strings.Repeat("y", 190), "ship2"},
		{strings.Repeat("z", 255), "ship"}, {strings.Repeat("w", 255), "ship"}, {run + "/ship", "x", strings.Repeat("x", 300)},
	} {
		got, err := Step(in[0], in[1], in[2:]...)
		if err != nil || Check(got) != nil {
			t.Errorf("Step(%q) = %q, %v, %v", in, got, err, Check(got))
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %s have one token", in, other)
		}
		seen[got] = strings.Join(in, " ")
	}
}

// FuzzStep: no two lists give one token, and every token is one.
func FuzzStep(f *testing.F) {
	f.Add("run", "a", "k", "l", "run/a", "b", "k", "")
	f.Add("r/a", "b", "", "", "r", "a", "b", "")
	f.Add("r/a/", "b", "", "", "r/a", "b", "", "")
	f.Add("r//a", "b", "c", "", "r", "a", "b", "c")
	f.Add("r", "a", "%2F", "", "r", "a", "/", "")
	f.Add("*", "a", strings.Repeat("x", 300), "", "*", "a", strings.Repeat("x", 299), "x")
	f.Fuzz(func(t *testing.T, runA, nameA, keyA, keyA2, runB, nameB, keyB, keyB2 string) {
		keys := func(k ...string) []string { return slices.DeleteFunc(k, func(s string) bool { return s == "" }) }
		ka, kb := keys(keyA, keyA2), keys(keyB, keyB2)
		a, errA := Step(runA, nameA, ka...)
		b, errB := Step(runB, nameB, kb...)
		if errA == nil && Check(a) != nil {
			t.Errorf("Step(%q, %q, %q) = %q is no token: %v", runA, nameA, ka, a, Check(a))
		}
		if errA == nil && errB == nil && (a == b) != (runA == runB && nameA == nameB && slices.Equal(ka, kb)) {
			t.Errorf("Step(%q, %q, %q) = %q, Step(%q, %q, %q) = %q", runA, nameA, ka, a, runB, nameB, kb, b)
		}
	})
}

// FuzzRunID: no two jobs and instants give one id; malformed text is an error, never a panic.
func FuzzRunID(f *testing.F) {
	f.Add("j", noon, "j", "2026-10-16T05:00:00-07:00", target, true)
	f.Add("j/2", noon, "j", "2026-10-16T12:00:00.0000000001Z", "", false)
	f.Fuzz(func(t *testing.T, jobA, timeA, jobB, timeB, target string, none bool) {
		s := Scope{Target: target}
		if none {
			s = Scope{None: true}
		}
		a, errA := RunID(jobA, timeA, s)
		b, errB := RunID(jobB, timeB, s)
		if errA != nil || errB != nil {
			return
		}
		ta, _ := ParseTime(timeA)
		tb, _ := ParseTime(timeB)
		if same := jobA == jobB && ta.Equal(tb); (a == b) != same || len(a) != 64 {
			t.Errorf("RunID(%q, %q) = %s, RunID(%q, %q) = %s", jobA, timeA, a, jobB, timeB, b)
		}
		if forced, err := ForcedRunID(jobA, timeA, s); err != nil || forced == a {
			t.Errorf("ForcedRunID = %s, %v, and RunID the same", forced, err)
		}
	})
}
