package schedulertest

import (
	"testing"
	"time"
)

// R14: the back-offs are the documented ones.
func TestDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		retry Retry
		want  []int // seconds
	}{
		{"defaults", Retry{}, []int{5, 10, 20, 40, 80, 160, 320, 480, 640}},
		{"the page's example", Retry{MinBackoff: 10 * time.Second, MaxBackoff: 300 * time.Second, MaxDoublings: 3}, []int{10, 20, 40, 80, 160, 240, 300, 300}},
		{"no doubling", Retry{MinBackoff: 10 * time.Second, MaxDoublings: -1}, []int{10, 20, 30, 40}},
		{"one doubling", Retry{MinBackoff: 10 * time.Second, MaxDoublings: 1}, []int{10, 20, 40, 60}},
		{"cap in the doublings", Retry{MinBackoff: 10 * time.Second, MaxBackoff: 15 * time.Second}, []int{10, 15, 15}},
		{"cap at once", Retry{MinBackoff: 10 * time.Second, MaxBackoff: 10 * time.Second}, []int{10, 10}},
		{"doublings beyond counting", Retry{MaxDoublings: 1000, MaxBackoff: time.Minute}, []int{5, 10, 20, 40, 60, 60}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i, want := range tt.want {
				if got := tt.retry.Delay(i + 1); got != time.Duration(want)*time.Second {
					t.Errorf("delay %d is %s, want %d s", i+1, got, want)
				}
			}
			if got, most := tt.retry.Delay(1_000_000), tt.retry.withDefaults().MaxBackoff; got != most {
				t.Errorf("delay 1000000 is %s, want %s", got, most)
			}
		})
	}
}

// R14: a run is retried until both limits are reached.
func TestAllows(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	for _, tt := range []struct {
		name    string
		retry   Retry
		n       int
		elapsed time.Duration
		want    bool
	}{
		{"neither", Retry{}, 1, 0, false},
		{"count, first", Retry{Count: 2}, 1, 0, true},
		{"count, last, late", Retry{Count: 2}, 2, 1000 * hour, true},
		{"count, one more", Retry{Count: 2}, 3, 0, false},
		{"duration, many", Retry{MaxDuration: hour}, 1000, hour, true},
		{"duration over", Retry{MaxDuration: hour}, 1, hour + 1, false},
		{"both, count reached", Retry{Count: 2, MaxDuration: hour}, 3, hour, true},
		{"both, duration reached", Retry{Count: 2, MaxDuration: hour}, 2, 2 * hour, true},
		{"both reached", Retry{Count: 2, MaxDuration: hour}, 3, 2 * hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.retry.Allows(tt.n, tt.elapsed); got != tt.want {
				t.Errorf("allowed: %t, want %t", got, tt.want)
			}
		})
	}
}
