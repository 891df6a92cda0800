package guardtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/runonce/functions/guard"
)

// CrashConfig shapes Crash. The zero value works.
type CrashConfig struct {
	// Store makes the empty store of one scenario and what moves its server clock on. Default: a new Memory.
	Store func() (store guard.Store, advance func(d time.Duration))
	// Lease is how far the server clock moves before each further delivery: at least the lease of the guard under test.
	// Default 30 s.
	Lease time.Duration
	// Deliveries is how often a scenario is delivered at the most. Default 10.
	Deliveries int
	// Uncertain accepts guard.ErrUncertain as an end, with the effect done or not: for steps that say Repeat: Never.
	Uncertain bool
}

// Crash proves a guarded function of yours. fn is one delivery as your handler would take it: it builds its guard on
// d.Store, as a new process would, and tells d of each change it makes to the world.
//
// Crash runs fn once undisturbed and notes its store calls and effects. Then it starts from nothing for each of them and
// each fault: the call refused, its answer lost, sent twice, the process killed before it and after it. It delivers
// until fn succeeds, with a lease between deliveries, and once more as a duplicate. Each effect of the undisturbed run
// must then have happened exactly once, and no other.
//
// A function whose effects are plain additions with Repeat: Safe fails here, since a crash between effect and record
// repeats it: give it Find, a callee that takes the token (Delivery.EffectOnce), or Repeat: Never with Uncertain set.
func Crash(t testing.TB, cfg CrashConfig, fn func(ctx context.Context, d *Delivery) error) {
	t.Helper()
	scenarios, problems := crash(t.Context(), cfg.filled(), fn)
	for _, p := range problems {
		t.Error(p)
	}
	t.Logf("guardtest.Crash: %d scenarios, %d problems", scenarios, len(problems))
}

func (c CrashConfig) filled() CrashConfig {
	if c.Store == nil {
		c.Store = func() (guard.Store, func(time.Duration)) {
			m := &Memory{}
			return m, m.Advance
		}
	}
	if c.Lease <= 0 {
		c.Lease = 30 * time.Second
	}
	if c.Deliveries <= 0 {
		c.Deliveries = 10
	}
	return c
}

type crashFunc = func(context.Context, *Delivery) error

// crash runs every scenario and returns how many there were and what went wrong.
func crash(ctx context.Context, cfg CrashConfig, fn crashFunc) (int, []error) {
	clean := &scenario{cfg: cfg}
	if err := clean.run(ctx, fn); err != nil {
		return 1, []error{fmt.Errorf("undisturbed: %w", err)}
	}
	if len(clean.effects) == 0 {
		return 1, []error{errors.New("undisturbed: no effect; tell Delivery.Effect of each change that the function makes")}
	}
	scenarios, problems := 1, []error(nil)
	for i, p := range clean.points {
		for _, fault := range p.faults() {
			s := &scenario{cfg: cfg, at: i + 1, fault: fault}
			scenarios++
			err := s.run(ctx, fn)
			if err == nil {
				err = s.compare(clean.effects)
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("%s at point %d, %s: %w", fault, i+1, p.what, err))
			}
		}
	}
	return scenarios, problems
}

// run delivers until fn has succeeded twice: the second time it is a duplicate, which must change nothing.
func (s *scenario) run(ctx context.Context, fn crashFunc) error {
	store, advance := s.cfg.Store()
	var last error
	done := -1 // effects when fn had succeeded once
	for n := 1; n <= s.cfg.Deliveries; n++ {
		last = s.deliver(ctx, store, n, fn)
		now := s.happened()
		switch {
		case done >= 0 && len(now) != done:
			return fmt.Errorf("a duplicate after the end made an effect: %q", now[done:])
		case last != nil && !s.ended(last):
			advance(s.cfg.Lease)
		case done >= 0:
			return nil
		default:
			done = len(now)
		}
	}
	return fmt.Errorf("no end after %d deliveries; the last said: %w", s.cfg.Deliveries, last)
}

func (s *scenario) happened() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

// ended reports whether err is an end that is as good as success.
func (s *scenario) ended(err error) bool {
	s.uncertain = s.cfg.Uncertain && errors.Is(err, guard.ErrUncertain)
	return s.uncertain
}

// deliver is one process from its start to its end.
func (s *scenario) deliver(ctx context.Context, store guard.Store, n int, fn crashFunc) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &Delivery{N: n, scenario: s, store: store, cancel: cancel, killed: make(chan struct{})}
	d.Store = gated{d}
	err := errors.New("the function ended without returning")
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = fn(ctx, d)
	}()
	select {
	case <-done:
		return err
	case <-d.killed:
	}
	select { // it unwinds at once, unless it waits for a goroutine that is gone
	case <-done:
	case <-time.After(time.Second):
	}
	return errKilled
}

// compare holds the effects to those of the undisturbed run.
func (s *scenario) compare(want []string) error {
	count := map[string]int{}
	for _, e := range want {
		count[e]--
	}
	for _, e := range s.happened() {
		count[e]++
	}
	for e, n := range count {
		if n > 0 || n < 0 && !s.uncertain {
			return fmt.Errorf("effect %q happened %+d times against the undisturbed run", e, n)
		}
	}
	return nil
}
