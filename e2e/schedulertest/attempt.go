package schedulertest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Attempt is one delivery and how it ended.
type Attempt struct {
	Job          string // full name
	Slot         time.Time
	ScheduleTime string // as it was sent; "": not sent
	N            int    // of the run, from 1
	Forced       bool
	Duplicate    bool // a further copy, whose answer did not count
	Start, End   time.Time

	// Status, Header and Body are the target's answer, after redirects. Status 0: there was none, and Err says why.
	Status int
	Header http.Header
	Body   []byte // the first MiB
	Err    error
	// Late: the answer came after the attempt had been given up by its deadline, and did not count.
	Late bool
}

// ErrDeadline is the Err of an attempt that did not end within its deadline.
var ErrDeadline = errors.New("DEADLINE_EXCEEDED: the target did not answer within the attempt deadline")

// Succeeded: the target answered 200 to 299.
func (a Attempt) Succeeded() bool { return a.Err == nil && a.Status/100 == 2 && !a.Late }

// code is the google.rpc.Code that the job's status shows.
func (a Attempt) code() int {
	switch {
	case a.Succeeded():
		return 0
	case errors.Is(a.Err, ErrDeadline), a.Status == 504:
		return 4
	case a.Err != nil, a.Status == 503:
		return 14
	}
	if c, ok := map[int]int{400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 429: 8, 499: 1, 501: 12}[a.Status]; ok {
		return c
	}
	if a.Status/100 == 5 {
		return 13
	}
	return 2
}

type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// attempt sends one delivery and waits for its answer or its deadline.
func (s *Server) attempt(ctx context.Context, j Job, a Attempt) Attempt {
	a.Start = s.cfg.Clock.Now()
	// The request lives as long as the server, not as long as this wait: past its deadline it goes on at the target.
	reqCtx, cancel := context.WithCancel(s.ctx)
	answered := make(chan answer, 1)
	s.inFlight.Add(1)
	go func() {
		defer s.inFlight.Done()
		defer cancel()
		answered <- s.send(reqCtx, j, a.ScheduleTime)
	}()
	deadline := make(chan struct{})
	stop := s.cfg.Clock.AfterFunc(j.AttemptDeadline, func() { close(deadline) })
	defer stop()
	select {
	case r := <-answered:
		a.Status, a.Header, a.Body, a.Err = r.status, r.header, r.body, r.err
	case <-deadline:
		a.Err = ErrDeadline
		if s.cfg.CancelAtDeadline {
			cancel()
		}
		s.awaitLate(a, answered)
	case <-ctx.Done():
		cancel()
		a.Err = ctx.Err()
	}
	a.End = s.cfg.Clock.Now()
	s.record(a)
	return a
}

// awaitLate records the answer of an attempt that was given up, if it comes while the server runs.
func (s *Server) awaitLate(a Attempt, answered <-chan answer) {
	s.inFlight.Add(1)
	go func() {
		defer s.inFlight.Done()
		r := <-answered
		if r.err != nil {
			return
		}
		a.Late, a.End = true, s.cfg.Clock.Now()
		a.Status, a.Header, a.Body, a.Err = r.status, r.header, r.body, nil
		s.record(a)
	}()
}

func (s *Server) send(ctx context.Context, j Job, scheduleTime string) answer {
	req, err := s.request(ctx, j, scheduleTime)
	if err != nil {
		return answer{err: err}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return answer{err: err}
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}
}

func (s *Server) record(a Attempt) {
	s.mu.Lock()
	s.log = append(s.log, a)
	if e := s.jobs[a.Job]; e != nil && !a.Late && !a.Duplicate {
		e.job.LastAttempt, e.job.LastStatus = a.Start, a.code()
	}
	s.mu.Unlock()
	if s.cfg.OnAttempt != nil {
		s.cfg.OnAttempt(a)
	}
}
