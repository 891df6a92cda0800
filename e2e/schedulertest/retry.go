package schedulertest

import "time"

// Retry is a job's RetryConfig. Zero fields have the service's defaults.
type Retry struct {
	// Count is how many retries there are, 0 to 5. Both Count and MaxDuration zero: none.
	Count int
	// MaxDuration is for how long a run is retried, from its first attempt. 0: no limit of time, Count decides. With both
	// set a run is retried until both are reached.
	MaxDuration time.Duration
	// MinBackoff and MaxBackoff bound the time between the attempts. 0: 5 seconds and 1 hour.
	MinBackoff, MaxBackoff time.Duration
	// MaxDoublings is how often that time doubles before it grows evenly. 0: 5. Negative: never.
	MaxDoublings int
}

func (r Retry) withDefaults() Retry {
	if r.MinBackoff == 0 {
		r.MinBackoff = 5 * time.Second
	}
	if r.MaxBackoff == 0 {
		r.MaxBackoff = time.Hour
	}
	if r.MaxDoublings == 0 {
		r.MaxDoublings = 5
	}
	r.MaxDoublings = max(r.MaxDoublings, 0)
	return r
}

// Delay is the time before the n-th retry, from 1: MinBackoff, doubled MaxDoublings times, then growing by what the last
// doubling gave, never beyond MaxBackoff. 10 s, 3 doublings and 300 s give 10, 20, 40, 80, 160, 240, 300, 300 s, as on the
// page "Retry jobs".
func (r Retry) Delay(n int) time.Duration {
	r = r.withDefaults()
	d := r.MinBackoff
	doubled := 0
	for ; doubled < min(n-1, r.MaxDoublings) && d < r.MaxBackoff; doubled++ {
		d *= 2
	}
	if d >= r.MaxBackoff {
		return r.MaxBackoff
	}
	step := d
	for range n - 1 - doubled {
		if d += step; d >= r.MaxBackoff {
			return r.MaxBackoff
		}
	}
	return d
}

// Allows reports whether the n-th retry, from 1, may start when the first attempt was that long ago.
func (r Retry) Allows(n int, elapsed time.Duration) bool {
	return n <= r.Count || r.MaxDuration > 0 && elapsed <= r.MaxDuration
}
