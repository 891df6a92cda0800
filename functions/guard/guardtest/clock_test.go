package guardtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClockFiresInOrder(t *testing.T) {
	t.Parallel()
	c := &Clock{}
	start := c.Now()
	type fired struct {
		Name string
		At   time.Duration
	}
	var got []fired
	note := func(name string) func() {
		return func() { got = append(got, fired{name, c.Now().Sub(start)}) }
	}
	c.AfterFunc(3*time.Second, note("third"))
	c.AfterFunc(time.Second, func() {
		note("first")()
		c.AfterFunc(time.Second, note("set by the first"))
	})
	c.AfterFunc(2*time.Second, note("second"))
	stop := c.AfterFunc(2*time.Second, note("stopped"))
	c.AfterFunc(9*time.Second, note("later"))
	if !stop() || stop() {
		t.Error("stop must report true once")
	}
	c.Advance(5 * time.Second)
	want := []fired{{"first", time.Second}, {"second", 2 * time.Second}, {"set by the first", 2 * time.Second}, {"third", 3 * time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fired (-want +got):\n%s", diff)
	}
	if c.Timers() != 1 || c.Now().Sub(start) != 5*time.Second {
		t.Errorf("%d timers left at %v, want 1 at 5s", c.Timers(), c.Now().Sub(start))
	}
}
