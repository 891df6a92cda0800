package model

import (
	"hash/maphash"
	"testing"
	"testing/synctest"
)

// Schedules that violated a promise once, or that lie deeper than the exploration goes. Each is held to the promises
// after every action.
var pinned = map[string]struct {
	scenario
	schedule []string
}{
	// The finish, whose answer was lost, must not take a renewal that arrives late for its own arrival.
	"a renewal arrives after the effect": {
		scenario{sink: dedup, actors: 1, faults: 1, lapses: 1},
		[]string{"deliver A", "run A1.Create", "third of a lease", "run A2.Do", "lose A4.Update", "arrive A3.Update", "run A5.Get"},
	},
	// The lease must not be counted from the second create, since it was the first that arrived, ten seconds before.
	"the first create arrives late, and the second is refused": {
		scenario{sink: dedup, actors: 1, faults: 2, lapses: 3, late: true},
		[]string{
			"deliver A", "lose A1.Create", "delay A2.Get", "arrive A1.Create", "third of a lease", "hear A2.Get",
			"run A3.Create", "run A4.Get", "third of a lease", "third of a lease", "run A5.Do",
		},
	},
	// The lease must be counted from before the renewal was sent, since its answer takes ten seconds.
	"the answer to a renewal is slow": {
		scenario{sink: dedup, actors: 1, faults: 1, lapses: 5, late: true},
		[]string{
			"deliver A", "run A1.Create", "third of a lease", "delay A3.Update", "third of a lease", "hear A3.Update",
			"third of a lease", "third of a lease", "run A2.Do",
		},
	},
}

func TestPinnedSchedules(t *testing.T) {
	for name, p := range pinned {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for n := range len(p.schedule) + 1 {
					w, err := replay(p.scenario, maphash.MakeSeed(), p.schedule[:n])
					if err == nil {
						err = w.check()
					} else {
						t.Logf("possible is %q", w.actions())
					}
					if e := w.end(); err == nil {
						err = e
					}
					if err != nil {
						t.Errorf("after %q: %v", p.schedule[:n], err)
						return
					}
				}
			})
		})
	}
}
