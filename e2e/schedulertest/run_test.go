package schedulertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// times are the starts of attempts in seconds after noon.
func times(attempts []Attempt) string {
	var at []string
	for _, a := range attempts {
		at = append(at, fmt.Sprint(int(a.Start.Sub(noon).Seconds())))
	}
	return strings.Join(at, " ")
}

// R3 R14: a run is retried at the documented times, always with one schedule time.
func TestFireRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		retry  Retry
		status func(int) int
		want   string
	}{
		{"success", Retry{Count: 5}, always(200), "0"},
		{"no retry", Retry{}, always(500), "0"},
		{"defaults, five", Retry{Count: 5}, always(409), "0 5 15 35 75 155"},
		{"third succeeds", Retry{Count: 5}, func(n int) int { return []int{500, 429, 204}[n-1] }, "0 5 15"},
		{"by time", Retry{MaxDuration: 40 * time.Second}, always(500), "0 5 15 35"},
		{"count after time", Retry{Count: 5, MaxDuration: 40 * time.Second}, always(500), "0 5 15 35 75 155"},
		{"time after count", Retry{Count: 1, MaxDuration: 80 * time.Second}, always(500), "0 5 15 35 75"},
		{"evenly after the doublings", Retry{Count: 5, MinBackoff: 10 * time.Second, MaxDoublings: 1}, always(500), "0 10 30 70 130 210"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to := newTarget(t, tt.status)
			s, _ := start(t, Config{Render: Micros})
			j := hourly(to.URL)
			j.Retry = tt.retry
			create(t, s, j)
			r, err := s.Fire(t.Context(), "hourly", noon.Add(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if got := times(r.Attempts); got != tt.want {
				t.Errorf("attempts at %s, want %s", got, tt.want)
			}
			for i, a := range r.Attempts {
				if a.N != i+1 || a.ScheduleTime != Micros(noon.Add(-time.Hour), 1) || string(a.Body) != fmt.Sprintf("answer %d", i+1) && a.Status != 204 {
					t.Errorf("attempt %d: %+v", i+1, a)
				}
			}
			if last := r.Attempts[len(r.Attempts)-1]; r.Succeeded() != (last.Status/100 == 2) {
				t.Errorf("succeeded: %t after %d", r.Succeeded(), last.Status)
			}
		})
	}
}

// R6: App Engine's 503 does not use up the retries, and does not go on for ever here.
func TestAppEngine503(t *testing.T) {
	t.Parallel()
	to := newTarget(t, func(n int) int { return []int{503, 503, 500, 503, 500, 500}[n-1] })
	s, _ := start(t, Config{AppEngine: to.URL})
	create(t, s, Job{Name: "app", Schedule: "0 * * * *", AppEngine: &AppEngineTarget{}, Retry: Retry{Count: 2}})
	r, err := s.Fire(t.Context(), "app", noon)
	if got, want := times(r.Attempts), "0 5 10 15 20 30"; err != nil || got != want {
		t.Errorf("attempts at %s, %v, want %s", got, err, want)
	}
	down := newTarget(t, always(503))
	s, _ = start(t, Config{AppEngine: down.URL})
	create(t, s, Job{Name: "app", Schedule: "0 * * * *", AppEngine: &AppEngineTarget{}})
	if r, err := s.Fire(t.Context(), "app", noon); err != nil || len(r.Attempts) != maxSystemRetries+1 {
		t.Errorf("%d attempts, %v", len(r.Attempts), err)
	}
}

// hanging is a target whose first request answers when it is let go.
type hanging struct {
	*httptest.Server
	arrived, gone chan struct{}
	letGo         chan struct{}
}

func newHanging(t *testing.T) *hanging {
	h := &hanging{arrived: make(chan struct{}, 10), gone: make(chan struct{}, 10), letGo: make(chan struct{})}
	var once sync.Once
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.arrived <- struct{}{}
		first := false
		once.Do(func() { first = true })
		if first {
			select {
			case <-h.letGo:
			case <-r.Context().Done():
				h.gone <- struct{}{}
			}
		}
		fmt.Fprint(w, "done")
	}))
	t.Cleanup(h.Close)
	return h
}

// R13: past its deadline an attempt goes on at the target, and the retry overlaps with it.
func TestDeadline(t *testing.T) {
	t.Parallel()
	h := newHanging(t)
	told := make(chan Attempt, 10)
	s, v := start(t, Config{OnAttempt: func(a Attempt) { told <- a }})
	j := hourly(h.URL)
	j.Retry.Count, j.AttemptDeadline = 1, 15*time.Second
	create(t, s, j)
	done := make(chan Run, 1)
	go func() {
		r, _ := s.Fire(t.Context(), "hourly", noon)
		done <- r
	}()
	wait(t, h.arrived)
	v.Advance(15 * time.Second)
	if a := wait(t, told); !errors.Is(a.Err, ErrDeadline) || a.Status != 0 || a.End.Sub(a.Start) != 15*time.Second {
		t.Errorf("first attempt: %+v", a)
	}
	r := wait(t, done)
	if got, want := times(r.Attempts), "0 20"; !r.Succeeded() || got != want {
		t.Errorf("attempts at %s, want %s, succeeded %t", got, want, r.Succeeded())
	}
	if a := wait(t, told); !a.Succeeded() || a.N != 2 {
		t.Errorf("second attempt: %+v", a)
	}
	select {
	case <-h.gone:
		t.Error("the first request was cancelled")
	default:
	}
	close(h.letGo)
	if a := wait(t, told); !a.Late || a.N != 1 || a.Status != 200 || a.Succeeded() {
		t.Errorf("late answer: %+v", a)
	}
	if n := len(s.Attempts()); n != 3 {
		t.Errorf("%d entries in the log, want 3", n)
	}
	if j, _ := s.Job("hourly"); j.LastStatus != 0 || !j.LastAttempt.Equal(noon.Add(20*time.Second)) {
		t.Errorf("the job shows %d of %s", j.LastStatus, j.LastAttempt)
	}
}

// R13: the other way: the request is cancelled at the deadline.
func TestCancelAtDeadline(t *testing.T) {
	t.Parallel()
	h := newHanging(t)
	s, v := start(t, Config{CancelAtDeadline: true})
	create(t, s, hourly(h.URL))
	done := make(chan Attempt, 1)
	go func() {
		a, _ := s.Deliver(t.Context(), "hourly", noon)
		done <- a
	}()
	wait(t, h.arrived)
	v.Advance(3 * time.Minute)
	if a := wait(t, done); !errors.Is(a.Err, ErrDeadline) {
		t.Errorf("%+v", a)
	}
	wait(t, h.gone)
	if j, _ := s.Job("hourly"); j.LastStatus != 4 {
		t.Errorf("status %d, want 4", j.LastStatus)
	}
}

// A caller that gives up ends the attempt and the retries; Close ends what still runs at targets.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	h := newHanging(t)
	s, _ := start(t, Config{Clock: realClock{}})
	j := hourly(h.URL)
	j.Retry.Count = 5
	create(t, s, j)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		r, err := s.Fire(ctx, "hourly", noon)
		if len(r.Attempts) != 1 {
			err = fmt.Errorf("%d attempts, %w", len(r.Attempts), err)
		}
		done <- err
	}()
	wait(t, h.arrived)
	cancel()
	if err := wait(t, done); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "attempts") {
		t.Error(err)
	}
	wait(t, h.gone)

	h = newHanging(t)
	s, v := start(t, Config{})
	create(t, s, hourly(h.URL))
	go func() {
		_, _ = s.Deliver(context.Background(), "hourly", noon)
	}()
	wait(t, h.arrived)
	v.Advance(time.Hour)
	s.Close()
	wait(t, h.gone)
}

// R8 R9: copies of an attempt come at once and under one name; the first answer counts.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(4)
	var mu sync.Mutex
	names := map[string]int{}
	s, _ := start(t, Config{
		Duplicates: func(job string, slot time.Time, attempt int) int {
			if attempt == 1 && slot.Equal(noon) && strings.HasSuffix(job, "/hourly") {
				return 3
			}
			return 0
		},
		Transport: HandlerTransport(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			together.Done()
			together.Wait()
			mu.Lock()
			defer mu.Unlock()
			names[r.Header.Get("X-CloudScheduler-JobName")+"/"+r.Header.Get("X-CloudScheduler-ScheduleTime")]++
		})),
	})
	create(t, s, hourly("http://target"))
	r, err := s.Fire(t.Context(), "hourly", noon)
	mu.Lock()
	defer mu.Unlock()
	if err != nil || len(r.Attempts) != 1 || names["hourly/2026-10-16T12:00:00Z"] != 4 || len(names) != 1 {
		t.Errorf("%+v, %v, names %v", r, err, names)
	}
	copies := 0
	for _, a := range s.Attempts() {
		if a.Duplicate {
			copies++
		}
	}
	if copies != 3 {
		t.Errorf("%d copies in the log, want 3", copies)
	}
}

// R5: a forced run carries the next slot's time, or none, of a paused job too.
func TestForce(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		to := newTarget(t, always(200))
		s, v := start(t, Config{ForcedWithoutTime: without})
		create(t, s, hourly(to.URL))
		v.Advance(10 * time.Minute)
		if _, err := s.Pause("hourly"); err != nil {
			t.Fatal(err)
		}
		r, err := s.Force(t.Context(), "hourly")
		want := "2026-10-16T13:00:00Z"
		if without {
			want = ""
		}
		if err != nil || !r.Succeeded() || !r.Forced || !r.Slot.Equal(noon.Add(time.Hour)) || r.Attempts[0].ScheduleTime != want {
			t.Errorf("without %t: %+v, %v", without, r, err)
		}
		requests, _ := to.seen()
		if got := requests[0].Header.Get("X-CloudScheduler-ScheduleTime"); got != want {
			t.Errorf("without %t: sent %q, want %q", without, got, want)
		}
	}
}
