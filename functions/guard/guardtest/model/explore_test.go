package model

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"testing/synctest"
)

// node is a schedule: the one before it and one action more.
type node struct {
	before *node
	action string
	depth  int
}

func (n *node) schedule() []string {
	list := make([]string, n.depth)
	for ; n.before != nil; n = n.before {
		list[n.depth-1] = n.action
	}
	return list
}

// report is what an exploration found.
type report struct {
	schedules, states, deepest int
	violation                  error
	schedule                   []string // a shortest one that violates
}

func (r *report) fail(n *node, err error) { r.violation, r.schedule = err, n.schedule() }

func (r report) String() string {
	s := fmt.Sprintf("%d schedules run, %d different states, up to %d actions", r.schedules, r.states, r.deepest)
	if r.violation == nil {
		return s + ", no violation"
	}
	return fmt.Sprintf("%s\nviolation: %v\nshortest schedule:\n  %s", s, r.violation, strings.Join(r.schedule, "\n  "))
}

// explore runs every schedule of sc, shortest first, until one violates a promise.
func explore(t *testing.T, sc scenario) (found report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seed := maphash.MakeSeed()
		seen := map[uint64]struct{}{}
		queue := []*node{{}}
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			found.schedules++
			found.deepest = max(found.deepest, n.depth)
			w, err := replay(sc, seed, n.schedule())
			if err != nil {
				found.fail(n, fmt.Errorf("the guard does not run the same way twice: %w", err))
				_ = w.end()
				return
			}
			key := w.key()
			_, known := seen[key]
			seen[key] = struct{}{}
			if !known && (sc.depth == 0 || n.depth < sc.depth) {
				for _, action := range w.actions() {
					queue = append(queue, &node{n, action, n.depth + 1})
				}
			}
			if !known {
				found.states++
				err = w.check()
			}
			if err = errors.Join(err, w.end()); err != nil {
				found.fail(n, err)
				return
			}
		}
	})
	return found
}

// replay runs a schedule from the start.
func replay(sc scenario, seed maphash.Seed, schedule []string) (*world, error) {
	w := newWorld(sc, seed)
	for _, action := range schedule {
		if err := w.act(action); err != nil {
			return w, err
		}
	}
	return w, nil
}

// key is equal for two worlds in which everything can go on in the same ways.
func (w *world) key() uint64 {
	var h maphash.Hash
	h.SetSeed(w.server.seed)
	fmt.Fprintln(&h, w.faultsLeft, w.crashesLeft, w.lapsesLeft, w.server.state(), w.sink.applied, w.sink.floor)
	for _, a := range w.actors {
		fmt.Fprintln(&h, a.started, a.dead(), a.finished(), a.learnt(), a.clock.Now().UnixNano())
	}
	waiting, ghosts := w.calls()
	for _, o := range waiting {
		fmt.Fprint(&h, o.name, o.lost(), w.isLate(o), " ")
	}
	fmt.Fprintln(&h)
	for _, o := range ghosts {
		fmt.Fprint(&h, o.name, " ")
	}
	return h.Sum64()
}
