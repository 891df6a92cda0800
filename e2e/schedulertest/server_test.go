package schedulertest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 10, 16, 12, 0, 0, 0, time.UTC)

// target is what jobs call: it answers what the test says and keeps what it was sent.
type target struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

// newTarget answers the n-th request, from 1, with what status says.
func newTarget(t *testing.T, status func(n int) int) *target {
	t.Helper()
	x := &target{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		x.mu.Lock()
		x.requests, x.bodies = append(x.requests, r), append(x.bodies, string(body))
		n := len(x.requests)
		x.mu.Unlock()
		w.WriteHeader(status(n))
		fmt.Fprintf(w, "answer %d", n)
	}))
	t.Cleanup(x.Close)
	return x
}

// seen returns the requests and their bodies so far.
func (x *target) seen() ([]*http.Request, []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.requests), slices.Clone(x.bodies)
}

func always(status int) func(int) int { return func(int) int { return status } }

// start returns a server on a virtual clock that stands at noon.
func start(t *testing.T, cfg Config) (*Server, *Virtual) {
	t.Helper()
	v := NewVirtual(noon)
	if cfg.Clock == nil {
		cfg.Clock = v
	}
	s := New(cfg)
	t.Cleanup(s.Close)
	return s, v
}

func create(t *testing.T, s *Server, j Job) Job {
	t.Helper()
	j, err := s.CreateJob(j)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func hourly(url string) Job {
	return Job{Name: "hourly", Schedule: "0 * * * *", HTTP: &HTTPTarget{URL: url}}
}

// The state of a job goes through pause, resume, update and delete, and everything that is refused says why.
func TestJobs(t *testing.T) {
	t.Parallel()
	s, v := start(t, Config{})
	j := create(t, s, hourly("http://127.0.0.1:1/x"))
	want := Job{
		Name: "projects/runonce-test/locations/europe-west1/jobs/hourly", Schedule: "0 * * * *", State: Enabled, Updated: noon,
		HTTP: &HTTPTarget{URL: "http://127.0.0.1:1/x", Method: "POST"}, AttemptDeadline: 3 * time.Minute, Next: noon.Add(time.Hour),
	}
	if diff := cmp.Diff(want, j); diff != "" {
		t.Errorf("created job (-want +got):\n%s", diff)
	}
	if j, err := s.Pause("hourly"); err != nil || j.State != Paused {
		t.Errorf("pause: %+v, %v", j, err)
	}
	v.Advance(90 * time.Minute)
	if j, err := s.Resume("hourly"); err != nil || j.State != Enabled || !j.Next.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("resume: %+v, %v", j, err)
	}
	j.Schedule = "30 * * * *"
	j.HTTP.Headers = map[string]string{"A": "b"}
	if j, err := s.UpdateJob(j); err != nil || !j.Next.Equal(noon.Add(150*time.Minute)) || j.HTTP.Headers["A"] != "b" {
		t.Errorf("update: %+v, %v", j, err)
	}
	j.HTTP.Headers["A"] = "changed by the caller"
	if j, err := s.Job(j.Name); err != nil || j.HTTP.Headers["A"] != "b" {
		t.Errorf("the kept job: %+v, %v", j.HTTP, err)
	}
	if next, err := s.Next("hourly", noon); err != nil || !next.Equal(noon.Add(30*time.Minute)) {
		t.Errorf("next %v, %v", next, err)
	}
	create(t, s, Job{Name: "projects/other/locations/us-east1/jobs/hourly", Schedule: "0 * * * *", HTTP: &HTTPTarget{URL: "http://127.0.0.1:1"}})
	if a, b := s.Jobs(""), s.Jobs("projects/other/locations/us-east1"); len(a) != 2 || len(b) != 1 {
		t.Errorf("%d jobs, %d of the other project", len(a), len(b))
	}
	if err := s.DeleteJob("hourly"); err != nil {
		t.Error(err)
	}
	if _, err := s.Job("hourly"); status(err) != "NOT_FOUND" {
		t.Errorf("after the end: %v", err)
	}
}

func status(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return fmt.Sprint(err)
}

// What the service refuses, or what this imitation does not have, is an error that says so.
func TestRefusedJobs(t *testing.T) {
	t.Parallel()
	token := &OIDC{Email: "a@b"}
	for name, change := range map[string]func(*Job){
		"name":                   func(j *Job) { j.Name = "a b" },
		"long name":              func(j *Job) { j.Name = strings.Repeat("a", 501) },
		"odd full name":          func(j *Job) { j.Name = "projects/p/jobs/j" },
		"schedule":               func(j *Job) { j.Schedule = "* * *" },
		"no schedule":            func(j *Job) { j.Schedule = "" },
		"schedule with zone":     func(j *Job) { j.Schedule = "TZ=UTC 0 * * * *" },
		"descriptor":             func(j *Job) { j.Schedule = "@hourly" },
		"seconds":                func(j *Job) { j.Schedule = "0 0 * * * *" },
		"English":                func(j *Job) { j.Schedule = "every monday 09:00" },
		"every 0 minutes":        func(j *Job) { j.Schedule = "every 0 minutes" },
		"zone":                   func(j *Job) { j.TimeZone = "Middle/Earth" },
		"local zone":             func(j *Job) { j.TimeZone = "Local" },
		"no target":              func(j *Job) { j.HTTP = nil },
		"two targets":            func(j *Job) { j.AppEngine = &AppEngineTarget{} },
		"URL":                    func(j *Job) { j.HTTP.URL = "ftp://x" },
		"relative URL":           func(j *Job) { j.HTTP.URL = "/x" },
		"long URL":               func(j *Job) { j.HTTP.URL = "http://x/" + strings.Repeat("a", 2083) },
		"method":                 func(j *Job) { j.HTTP.Method = "BREW" },
		"body of a GET":          func(j *Job) { j.HTTP.Method, j.HTTP.Body = "GET", []byte("x") },
		"header twice":           func(j *Job) { j.HTTP.Headers = map[string]string{"a": "1", "A": "2"} },
		"OIDC without an issuer": func(j *Job) { j.HTTP.OIDC = token },
		"OAuth without an issuer": func(j *Job) {
			j.HTTP.OAuth = &OAuth{Email: "a@b"}
		},
		"both tokens":       func(j *Job) { j.HTTP.OIDC, j.HTTP.OAuth = token, &OAuth{Email: "a@b"} },
		"App Engine":        func(j *Job) { j.HTTP, j.AppEngine = nil, &AppEngineTarget{} },
		"six retries":       func(j *Job) { j.Retry.Count = 6 },
		"minus one retry":   func(j *Job) { j.Retry.Count = -1 },
		"negative duration": func(j *Job) { j.Retry.MaxDuration = -1 },
		"back-offs":         func(j *Job) { j.Retry.MinBackoff, j.Retry.MaxBackoff = 2*time.Second, time.Second },
		"short deadline":    func(j *Job) { j.AttemptDeadline = 14 * time.Second },
		"long deadline":     func(j *Job) { j.AttemptDeadline = 31 * time.Minute },
		"long description":  func(j *Job) { j.Description = strings.Repeat("a", 501) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, Config{})
			j := hourly("http://127.0.0.1:1")
			change(&j)
			if _, err := s.CreateJob(j); status(err) != "INVALID_ARGUMENT" {
				t.Errorf("error %v, want INVALID_ARGUMENT", err)
			}
			if n := len(s.Jobs("")); n != 0 {
				t.Errorf("%d jobs are kept", n)
			}
		})
	}
}

// What needs a job, or a state, that is not there.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"job":     func() error { _, err := s.Job("x"); return err },
		"update":  func() error { _, err := s.UpdateJob(Job{Name: "x"}); return err },
		"delete":  func() error { return s.DeleteJob("x") },
		"pause":   func() error { _, err := s.Pause("x"); return err },
		"next":    func() error { _, err := s.Next("x", noon); return err },
		"fire":    func() error { _, err := s.Fire(ctx, "x", noon); return err },
		"deliver": func() error { _, err := s.Deliver(ctx, "x", noon); return err },
		"force":   func() error { _, err := s.Force(ctx, "x"); return err },
	} {
		if err := call(); status(err) != "NOT_FOUND" {
			t.Errorf("%s of no job: %v, want NOT_FOUND", name, err)
		}
	}
	j := create(t, s, hourly("http://127.0.0.1:1"))
	if _, err := s.CreateJob(j); status(err) != "ALREADY_EXISTS" {
		t.Errorf("create twice: %v", err)
	}
	if _, err := s.Resume("hourly"); status(err) != "FAILED_PRECONDITION" {
		t.Errorf("resume an enabled job: %v", err)
	}
	j.Schedule = "x"
	if _, err := s.UpdateJob(j); status(err) != "INVALID_ARGUMENT" {
		t.Errorf("update with a bad schedule: %v", err)
	}
}
