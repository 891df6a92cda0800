package model

import (
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"example.com/runonce/functions/guard"
)

// check holds what has happened so far to the promises; then it ends every process, delivers once more after one lease,
// and holds the end to them too.
func (w *world) check() error {
	if err := w.safe(); err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	if err := w.safe(); err != nil {
		return fmt.Errorf("as a killed process ended: %w", err)
	}
	if err := w.progress(); err != nil {
		return fmt.Errorf("promise 2, one lease after the last crash: %w", err)
	}
	return w.safe()
}

// end kills every process and waits until nothing of it is left.
func (w *world) end() error {
	for _, a := range w.actors {
		if a.running() {
			w.kill(a)
		}
	}
	for _, a := range w.actors {
		if !a.started {
			continue
		}
		if err := a.bury(); err != nil {
			return err
		}
	}
	return nil
}

// safe checks the promises that must hold at every moment.
func (w *world) safe() error {
	if len(w.server.violated) > 0 {
		return fmt.Errorf("promise 3 or 6, a zombie changes nothing and no client clock decides: %s", w.server.violated[0])
	}
	if len(w.sink.applied) > 1 {
		return fmt.Errorf("promise 1, one effect: %q", w.sink.applied)
	}
	first := ""
	for _, a := range w.actors {
		if !a.finished() {
			continue
		}
		// What it wrote before another took its claim away was its own; judge saw to that.
		if now, found := w.server.truth(token); found && refused(a.err) && a.owns(now.Record.AttemptID) {
			return fmt.Errorf("promise 5, a refused caller changes nothing: %s was told %q and the record is its own", a.name, a.err)
		}
		if a.err != nil {
			continue
		}
		if first == "" {
			first = a.result.Value
		}
		if a.result.Value != first {
			return fmt.Errorf("promise 4, replays are equal: %q and %q", first, a.result.Value)
		}
		if len(w.sink.applied) == 0 || a.result.Value != w.sink.applied[0] {
			return fmt.Errorf("%s was told %q, but the effects are %q", a.name, a.result.Value, w.sink.applied)
		}
	}
	return nil
}

func refused(err error) bool {
	return errors.Is(err, guard.ErrInProgress) || errors.Is(err, guard.ErrMismatch)
}

// progress delivers once more, without faults, after a lease has passed.
func (w *world) progress() error {
	w.server.memory.Advance(lease)
	told := slices.ContainsFunc(w.actors, func(a *actor) bool { return a.finished() && a.err == nil })
	a := w.add("Z", 0)
	if snap, found := w.server.truth(token); found {
		a.fingerprint = snap.Record.Fingerprint
	}
	a.start()
	synctest.Wait()
	for range 100 {
		if a.finished() {
			break
		}
		if waiting, _ := w.calls(); len(waiting) > 0 {
			w.settle(waiting[0], waiting[0].exec())
			continue
		}
		w.pass(100 * time.Millisecond)
	}
	switch {
	case !a.finished():
		return errors.New("the delivery does not end")
	case told && !a.result.Replayed:
		return fmt.Errorf("an earlier caller was told that it is done, this one got %q, replayed %t, error %v", a.result.Value, a.result.Replayed, a.err)
	case w.sink.kind == plain && errors.Is(a.err, guard.ErrUncertain):
		return nil // the promise of Repeat: Never
	case a.err != nil:
		return a.err
	case len(w.sink.applied) != 1:
		return fmt.Errorf("the run is finished with %d effects: %q", len(w.sink.applied), w.sink.applied)
	}
	return nil
}
