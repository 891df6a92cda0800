package schedulertest

import (
	"testing"
	"time"
)

// R24: a virtual clock calls what falls due in order, at its time, and not what was stopped.
func TestVirtual(t *testing.T) {
	t.Parallel()
	v := NewVirtual(noon)
	var moved time.Duration
	v.Moved = func(d time.Duration) { moved += d }
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, name+v.Now().Format(" 15:04:05")) }
	}
	v.AfterFunc(2*time.Second, note("b"))
	v.AfterFunc(time.Second, func() {
		note("a")()
		v.AfterFunc(500*time.Millisecond, note("c"))
	})
	stop := v.AfterFunc(time.Second, note("stopped"))
	v.AfterFunc(0, note("now"))
	if !stop() || stop() {
		t.Error("stop does not say whether it stopped")
	}
	v.Advance(3 * time.Second)
	v.AdvanceTo(noon) // never back
	want := []string{"now 12:00:00", "a 12:00:01", "c 12:00:01", "b 12:00:02"}
	if len(got) != len(want) {
		t.Fatalf("called %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("call %d: %q, want %q", i+1, got[i], want[i])
		}
	}
	if moved != 3*time.Second || !v.Now().Equal(noon.Add(3*time.Second)) {
		t.Errorf("moved by %s to %s", moved, v.Now())
	}
}
