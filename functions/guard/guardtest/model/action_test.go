package model

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"example.com/runonce/functions/guard"
)

// actions lists what may happen next, in words that name the same thing in every run of the same schedule.
func (w *world) actions() []string {
	var list []string
	for _, a := range w.actors {
		if !a.started {
			list = append(list, "deliver "+a.name)
			break // deliveries are alike: they start in order
		}
	}
	waiting, ghosts := w.calls()
	for _, o := range waiting {
		if w.isLate(o) {
			list = append(list, "hear "+o.name)
			continue
		}
		list = append(list, "run "+o.name)
		if w.faultsLeft > 0 {
			list = append(list, "lose "+o.name)
			if w.late && !o.effect {
				list = append(list, "delay "+o.name)
			}
			if !o.effect || w.sink.kind != plain { // a plain callee cannot tell a request that is sent twice; no guard can help
				list = append(list, "double "+o.name)
			}
			if o.effect {
				list = append(list, "refuse "+o.name)
			}
		}
	}
	for _, o := range ghosts {
		list = append(list, "arrive "+o.name)
	}
	for _, a := range w.actors {
		if a.running() && w.crashesLeft > 0 {
			list = append(list, "kill "+a.name)
		}
		if a.running() && !w.waits(a) {
			list = append(list, "wake "+a.name)
		}
	}
	if w.lapsesLeft > 0 && slices.ContainsFunc(w.actors, func(a *actor) bool { return a.started }) {
		list = append(list, "third of a lease", "whole lease")
		if w.stalls {
			list = append(list, "stall")
		}
	}
	return list
}

// waits reports whether a has a call at a scheduling point.
func (w *world) waits(a *actor) bool {
	waiting, _ := w.calls()
	return slices.ContainsFunc(waiting, func(o *op) bool { return o.actor == a })
}

// act does one action; it is an error if the action is not there in this run.
func (w *world) act(action string) error {
	verb, name, _ := strings.Cut(action, " ")
	switch action {
	case "third of a lease":
		w.lapsesLeft--
		w.pass(lease / 3)
		return nil
	case "whole lease":
		w.lapsesLeft--
		w.pass(lease)
		return nil
	case "stall":
		w.lapsesLeft--
		w.server.memory.Advance(lease) // the processes stand still, and so do their clocks
		return nil
	}
	for _, a := range w.actors {
		if a.name == name {
			return w.actOn(a, verb)
		}
	}
	from, ghosts := w.calls()
	if verb == "arrive" {
		from = ghosts
	}
	i := slices.IndexFunc(from, func(o *op) bool { return o.name == name })
	if i < 0 {
		return fmt.Errorf("%q is not there", action)
	}
	w.carry(from[i], verb)
	return nil
}

func (w *world) actOn(a *actor, verb string) error {
	switch verb {
	case "deliver":
		a.start()
		synctest.Wait()
	case "kill":
		w.crashesLeft--
		w.kill(a)
	case "wake":
		w.pass(100 * time.Millisecond)
	default:
		return fmt.Errorf("%q cannot be done to %s", verb, a.name)
	}
	return nil
}

func (w *world) carry(o *op, verb string) {
	switch verb {
	case "run":
		w.alone(o)
		w.settle(o, o.exec())
	case "delay":
		w.faultsLeft--
		r := o.exec()
		w.mu.Lock()
		o.late = &r
		w.mu.Unlock()
	case "hear":
		w.settle(o, *o.late)
	case "double":
		w.faultsLeft--
		_ = o.exec()
		w.settle(o, o.exec())
	case "lose":
		w.faultsLeft--
		w.abandon(o)
		w.settle(o, reply{err: errUnknown})
	case "refuse":
		w.faultsLeft--
		w.settle(o, reply{err: guard.NotApplied(errRefused)})
	case "arrive":
		w.mu.Lock()
		w.ghosts = slices.DeleteFunc(w.ghosts, func(x *op) bool { return x == o })
		w.mu.Unlock()
		_ = o.exec()
	}
}

// alone notes a violation where an effect runs under a live context although the store does not think that its lease lasts.
func (w *world) alone(o *op) {
	if w.stalls || !strings.HasSuffix(o.name, "Do") || o.lost() {
		return
	}
	now, found := w.server.truth(token)
	if found && (!o.actor.owns(now.Record.AttemptID) || !alive(now)) {
		w.server.violated = append(w.server.violated, fmt.Sprintf("%s: its context is alive, but the claim is %s's and %v old", o.name, now.Record.AttemptID, now.ReadAt.Sub(now.UpdatedAt)))
	}
}
