package schedulertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the imitation. It is safe for concurrent use.
type Server struct {
	cfg      Config
	client   *http.Client
	ctx      context.Context // ends with Close; requests outlive the calls that made them
	cancel   context.CancelFunc
	inFlight sync.WaitGroup
	wake     chan struct{}

	mu     sync.Mutex
	jobs   map[string]*entry
	log    []Attempt
	serial int
	rest   *httptest.Server
}

// entry is a job and where its schedule stands.
type entry struct {
	job   Job
	sched schedule
	next  time.Time // slot
	run   *pending  // nil: none goes on
	busy  bool      // an attempt of the schedule is being made
}

// at is when the job has something to do next.
func (e *entry) at() time.Time {
	if e.run != nil {
		return e.run.due
	}
	return e.next
}

// New returns a server without jobs. It keeps schedules while RunUntil does. Close it.
func New(cfg Config) *Server {
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	if cfg.Render == nil {
		cfg.Render = UTC
	}
	if cfg.Project == "" {
		cfg.Project = "runonce-test"
	}
	if cfg.Location == "" {
		cfg.Location = "europe-west1"
	}
	s := &Server{cfg: cfg, jobs: map[string]*entry{}, wake: make(chan struct{}, 1)}
	if s.cfg.Transport == nil {
		s.cfg.Transport = &http.Transport{MaxIdleConnsPerHost: 16}
	}
	s.client = &http.Client{Transport: s.cfg.Transport}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close cancels what is still running at targets, waits for it, and stops the REST API.
func (s *Server) Close() {
	s.mu.Lock()
	rest := s.rest
	s.mu.Unlock()
	if rest != nil {
		rest.Close()
	}
	s.cancel()
	s.inFlight.Wait()
	s.client.CloseIdleConnections()
}

// URL is the address of the REST API, which the first call starts.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == nil {
		s.rest = httptest.NewServer(s.Handler())
	}
	return s.rest.URL
}

// Attempts is the log of all deliveries so far, in the order in which they ended.
func (s *Server) Attempts() []Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// CreateJob adds a job and returns it as the server keeps it. Errors are of type *Error.
func (s *Server) CreateJob(j Job) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.Name == "" {
		s.serial++
		j.Name = fmt.Sprintf("job-%d", s.serial)
	}
	j, sched, err := s.normalize(j)
	if err != nil {
		return Job{}, err
	}
	if s.jobs[j.Name] != nil {
		return Job{}, &Error{409, "ALREADY_EXISTS", "Job " + j.Name + " already exists."}
	}
	now := s.cfg.Clock.Now()
	j.State, j.Updated, j.LastAttempt, j.LastStatus = Enabled, now, time.Time{}, 0
	s.jobs[j.Name] = &entry{job: j, sched: sched, next: sched.next(now)}
	s.poke()
	return s.jobs[j.Name].view(), nil
}

// UpdateJob replaces a job's settings and keeps its state. A run that goes on keeps the old ones.
func (s *Server) UpdateJob(j Job) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.entry(j.Name)
	if err != nil {
		return Job{}, err
	}
	j, sched, err := s.normalize(j)
	if err != nil {
		return Job{}, err
	}
	now := s.cfg.Clock.Now()
	j.State, j.LastAttempt, j.LastStatus, j.Updated = e.job.State, e.job.LastAttempt, e.job.LastStatus, now
	if j.Schedule != e.job.Schedule || j.TimeZone != e.job.TimeZone {
		e.next = sched.next(now)
	}
	e.job, e.sched = j, sched
	s.poke()
	return e.view(), nil
}

// Job returns a job as it stands.
func (s *Server) Job(name string) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.entry(name)
	if err != nil {
		return Job{}, err
	}
	return e.view(), nil
}

// Jobs returns all jobs of a location, projects/P/locations/L, in the order of their names; "": all.
func (s *Server) Jobs(parent string) []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var jobs []Job
	for _, n := range s.names() {
		if parent == "" || strings.HasPrefix(n, parent+"/jobs/") {
			jobs = append(jobs, s.jobs[n].view())
		}
	}
	return jobs
}

// DeleteJob removes a job. An attempt that is on its way goes on.
func (s *Server) DeleteJob(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.entry(name)
	if err != nil {
		return err
	}
	delete(s.jobs, e.job.Name)
	s.poke()
	return nil
}

// Pause stops a job's schedule and the retries of its run.
func (s *Server) Pause(name string) (Job, error) { return s.setState(name, Enabled, Paused) }

// Resume takes up a paused job's schedule with the next slot from now.
func (s *Server) Resume(name string) (Job, error) { return s.setState(name, Paused, Enabled) }

func (s *Server) setState(name string, from, to State) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.entry(name)
	if err != nil {
		return Job{}, err
	}
	if e.job.State != from {
		return Job{}, &Error{400, "FAILED_PRECONDITION", fmt.Sprintf("The Job.state must be %s.", from)}
	}
	e.job.State, e.run = to, nil
	e.next = e.sched.next(s.cfg.Clock.Now())
	s.poke()
	return e.view(), nil
}

// Next is the first slot of a job after t.
func (s *Server) Next(name string, t time.Time) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.entry(name)
	if err != nil {
		return time.Time{}, err
	}
	return e.sched.next(t), nil
}

func (s *Server) fullName(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "projects/" + s.cfg.Project + "/locations/" + s.cfg.Location + "/jobs/" + name
}

// entry finds a job by its short or full name. The caller holds mu.
func (s *Server) entry(name string) (*entry, error) {
	if e := s.jobs[s.fullName(name)]; e != nil {
		return e, nil
	}
	return nil, &Error{404, "NOT_FOUND", "Job " + s.fullName(name) + " was not found."}
}

func (e *entry) view() Job {
	j := e.job.clone()
	j.Next = e.at()
	return j
}

// poke makes RunUntil look again.
func (s *Server) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
