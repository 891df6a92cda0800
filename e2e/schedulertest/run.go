package schedulertest

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxSystemRetries bounds how often an App Engine target's 503 is repeated outside of the retry count.
const maxSystemRetries = 10

// Run is one logical firing: its attempts in order. Copies are in the Server's log only.
type Run struct {
	Job      string
	Slot     time.Time
	Forced   bool
	Attempts []Attempt
}

// Succeeded: the last attempt did.
func (r Run) Succeeded() bool {
	return len(r.Attempts) > 0 && r.Attempts[len(r.Attempts)-1].Succeeded()
}

// pending is a run that goes on: what has been tried, and when the next attempt is due.
type pending struct {
	job     Job
	sched   schedule
	slot    time.Time
	forced  bool
	timed   bool // the schedule time is sent
	n       int  // attempts so far
	retries int  // of them, those that count
	system  int  // and those that do not
	first   time.Time
	due     time.Time
}

// step makes the next attempt and its copies. It reports whether another is due, at p.due.
func (s *Server) step(ctx context.Context, p *pending) (Attempt, bool) {
	p.n++
	if p.n == 1 {
		p.first = s.cfg.Clock.Now()
	}
	a := Attempt{Job: p.job.Name, Slot: p.slot, N: p.n, Forced: p.forced}
	if p.timed {
		a.ScheduleTime = s.cfg.Render(p.slot, p.n)
	}
	copies := 0
	if s.cfg.Duplicates != nil {
		copies = s.cfg.Duplicates(p.job.Name, p.slot, p.n)
	}
	var wg sync.WaitGroup
	for range copies {
		wg.Go(func() {
			c := a
			c.Duplicate = true
			s.attempt(ctx, p.job, c)
		})
	}
	a = s.attempt(ctx, p.job, a)
	wg.Wait()
	return a, ctx.Err() == nil && !a.Succeeded() && s.again(p, a)
}

// again sets when the next attempt of a run is due, and reports whether there is one.
func (s *Server) again(p *pending, a Attempt) bool {
	now := s.cfg.Clock.Now()
	if p.job.AppEngine != nil && a.Status == http.StatusServiceUnavailable {
		p.system++
		p.due = now.Add(p.job.Retry.withDefaults().MinBackoff)
		return p.system <= maxSystemRetries
	}
	p.due = now.Add(p.job.Retry.Delay(p.retries + 1))
	if !p.job.Retry.Allows(p.retries+1, p.due.Sub(p.first)) {
		return false
	}
	if next := p.sched.next(p.slot); s.cfg.StopAtNextSlot && !next.IsZero() && !p.due.Before(next) {
		return false
	}
	p.retries++
	return true
}

// finish runs p to its end: success, no retry left, or ctx.
func (s *Server) finish(ctx context.Context, p *pending) (Run, error) {
	r := Run{Job: p.job.Name, Slot: p.slot, Forced: p.forced}
	for {
		a, again := s.step(ctx, p)
		r.Attempts = append(r.Attempts, a)
		if !again {
			return r, ctx.Err()
		}
		if err := s.sleep(ctx, p.due, nil); err != nil {
			return r, err
		}
	}
}

// Fire delivers the run of a slot now, with its retries, and returns when the run has ended. It heeds neither the schedule
// nor other runs of the job, so that two calls overlap. The error is for an unknown job, or ctx's; how the attempts ended is
// in the Run.
func (s *Server) Fire(ctx context.Context, name string, slot time.Time) (Run, error) {
	p, err := s.newRun(name, slot, false)
	if err != nil {
		return Run{}, err
	}
	return s.finish(ctx, p)
}

// Deliver sends one delivery of a slot, without retries: a duplicate, where the slot was delivered before.
func (s *Server) Deliver(ctx context.Context, name string, slot time.Time) (Attempt, error) {
	p, err := s.newRun(name, slot, false)
	if err != nil {
		return Attempt{}, err
	}
	a, _ := s.step(ctx, p)
	return a, ctx.Err()
}

// Force runs a job now, as jobs.run does: with the time of the next slot, and even if it is running or paused.
func (s *Server) Force(ctx context.Context, name string) (Run, error) {
	p, err := s.newRun(name, time.Time{}, true)
	if err != nil {
		return Run{}, err
	}
	return s.finish(ctx, p)
}

// newRun prepares a run. A forced one is of the next slot.
func (s *Server) newRun(name string, slot time.Time, forced bool) (*pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.entry(name)
	if err != nil {
		return nil, err
	}
	if forced {
		slot = e.sched.next(s.cfg.Clock.Now())
	}
	return e.newRun(slot.UTC(), forced, !forced || !s.cfg.ForcedWithoutTime), nil
}

func (e *entry) newRun(slot time.Time, forced, timed bool) *pending {
	return &pending{job: e.job, sched: e.sched, slot: slot, forced: forced, timed: timed && e.sched.timed}
}

// RunUntil keeps the schedules of all jobs until end, or until ctx ends where end is zero, and returns when the runs that it
// started have made the attempts that were due by then. Only one run of a job goes on at a time. On a Virtual clock it never
// waits but for targets, and attempts are made one after the other in the order of their times; else those of different jobs overlap.
func (s *Server) RunUntil(ctx context.Context, end time.Time) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	_, virtual := s.cfg.Clock.(*Virtual)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, p, due := s.due()
		now := s.cfg.Clock.Now()
		switch {
		case e == nil && end.IsZero() && virtual:
			return nil // nothing is left that could move the clock
		case e == nil && end.IsZero():
			due = now.Add(time.Hour)
		case !end.IsZero() && (e == nil || due.After(end)):
			if !now.Before(end) {
				return nil
			}
			due = end
		}
		switch {
		case due.After(now):
			if err := s.sleep(ctx, due, s.wake); err != nil {
				return err
			}
		case s.claim(e, p):
			if virtual {
				s.tick(ctx, e, p)
			} else {
				wg.Go(func() { s.tick(ctx, e, p) })
			}
		}
	}
}

// due is the job whose next attempt is the earliest, that attempt's run and its time.
func (s *Server) due() (*entry, *pending, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *entry
	for _, name := range s.names() {
		e := s.jobs[name]
		if e.busy || e.job.State != Enabled || e.at().IsZero() {
			continue
		}
		if best == nil || e.at().Before(best.at()) {
			best = e
		}
	}
	if best == nil {
		return nil, nil, time.Time{}
	}
	if best.run != nil {
		return best, best.run, best.run.due
	}
	return best, best.newRun(best.next, false, true), best.next
}

// claim marks a job busy with p, unless it changed since due.
func (s *Server) claim(e *entry, p *pending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.busy || s.jobs[e.job.Name] != e || e.job.State != Enabled || e.run != nil && e.run != p || e.run == nil && !e.next.Equal(p.slot) {
		return false
	}
	e.busy, e.run = true, p
	return true
}

// tick makes one attempt of a job's run and sets what is due next.
func (s *Server) tick(ctx context.Context, e *entry, p *pending) {
	_, again := s.step(ctx, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.busy = false
	if e.run == p && !again {
		e.run = nil
		e.next = s.after(e.sched, p.slot)
	}
	s.poke()
}

// after is the slot that follows a run which ended now.
func (s *Server) after(sched schedule, slot time.Time) time.Time {
	now := s.cfg.Clock.Now()
	next := sched.next(slot)
	if s.cfg.SkipMissed && !next.After(now) {
		return sched.next(now)
	}
	for {
		later := sched.next(next)
		if next.IsZero() || later.IsZero() || later.After(now) {
			return next
		}
		next = later
	}
}

// names are the jobs in order.
func (s *Server) names() []string {
	names := make([]string, 0, len(s.jobs))
	for n := range s.jobs {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
