package schedulertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slots lists job and slot of the log, minutes after noon.
func slots(attempts []Attempt) string {
	var at []string
	for _, a := range attempts {
		at = append(at, fmt.Sprintf("%s%d@%d", a.Job[strings.LastIndexByte(a.Job, '/')+1:], int(a.Slot.Sub(noon).Minutes()), int(a.Start.Sub(noon).Minutes())))
	}
	return strings.Join(at, " ")
}

// R23: a day of schedules passes on a virtual clock, in order, and as told while runs are retried.
func TestRunUntil(t *testing.T) {
	t.Parallel()
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for _, tt := range []struct {
		name   string
		cfg    Config
		jobs   []Job
		status func(int) int
		end    int // minutes after noon
		want   string
	}{
		{"two jobs", Config{}, []Job{{Name: "a", Schedule: "*/20 * * * *"}, {Name: "b", Schedule: "15,40 * * * *"}}, always(200), 60,
			"b15@15 a20@20 a40@40 b40@40 a60@60"},
		{"retries", Config{}, []Job{{Name: "a", Schedule: "*/20 * * * *", Retry: Retry{Count: 2, MinBackoff: minutes(4), MaxDoublings: -1}}},
			always(500), 45, "a20@20 a20@24 a20@32 a40@40 a40@44"},
		{"another job in a back-off", Config{}, []Job{{Name: "a", Schedule: "20 * * * *", Retry: Retry{Count: 1, MinBackoff: minutes(10)}}, {Name: "b", Schedule: "25 * * * *"}},
			always(500), 59, "a20@20 b25@25 a20@30"},
		{"late slot", Config{}, []Job{{Name: "a", Schedule: "*/10 * * * *", Retry: Retry{Count: 1, MinBackoff: minutes(25)}}},
			func(n int) int { return []int{500, 200, 200, 200}[n-1] }, 49, "a10@10 a10@35 a30@35 a40@40"},
		{"missed slots are skipped", Config{SkipMissed: true}, []Job{{Name: "a", Schedule: "*/10 * * * *", Retry: Retry{Count: 1, MinBackoff: minutes(25)}}},
			func(n int) int { return []int{500, 200, 200, 200}[n-1] }, 49, "a10@10 a10@35 a40@40"},
		{"retries stop at the next slot", Config{StopAtNextSlot: true}, []Job{{Name: "a", Schedule: "*/10 * * * *", Retry: Retry{Count: 5, MinBackoff: minutes(3), MaxDoublings: -1}}},
			always(500), 25, "a10@10 a10@13 a10@19 a20@20 a20@23"},
		{"nothing to do", Config{}, nil, always(200), 60, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to := newTarget(t, tt.status)
			s, v := start(t, tt.cfg)
			for _, j := range tt.jobs {
				j.HTTP = &HTTPTarget{URL: to.URL}
				create(t, s, j)
			}
			end := noon.Add(minutes(tt.end))
			if err := s.RunUntil(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			if got := slots(s.Attempts()); got != tt.want {
				t.Errorf("attempts %s\nwant     %s", got, tt.want)
			}
			if !v.Now().Equal(end) {
				t.Errorf("the clock stands at %s, want %s", v.Now(), end)
			}
		})
	}
}

// A job that is paused while it is retried stops, and goes on with a later slot; one that is deleted stops.
func TestPauseInRun(t *testing.T) {
	t.Parallel()
	s, v := start(t, Config{Transport: HandlerTransport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))})
	j := hourly("http://target")
	j.Retry = Retry{Count: 5, MinBackoff: time.Minute}
	create(t, s, j)
	until := func(minutes int) {
		t.Helper()
		if err := s.RunUntil(t.Context(), noon.Add(time.Duration(minutes)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	until(62)
	if _, err := s.Pause("hourly"); err != nil {
		t.Fatal(err)
	}
	until(150)
	if _, err := s.Resume("hourly"); err != nil {
		t.Fatal(err)
	}
	until(181)
	if err := s.DeleteJob("hourly"); err != nil {
		t.Fatal(err)
	}
	until(300)
	if got, want := slots(s.Attempts()), "hourly60@60 hourly60@61 hourly180@180 hourly180@181"; got != want {
		t.Errorf("attempts %s, want %s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.RunUntil(ctx, v.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := s.RunUntil(t.Context(), time.Time{}); err != nil {
		t.Errorf("without jobs and end on a virtual clock: %v", err)
	}
}

// On the real clock jobs overlap with each other, never with themselves, and a new job is seen at once.
func TestRunOnRealClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running := map[string]int{}
		most, overlaps := 0, 0
		var mu sync.Mutex
		s := New(Config{Transport: HandlerTransport(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			job := r.Header.Get("X-CloudScheduler-JobName")
			mu.Lock()
			running[job]++
			most = max(most, running[job])
			if running["a"] > 0 && running["b"] > 0 {
				overlaps++
			}
			mu.Unlock()
			time.Sleep(90 * time.Second)
			mu.Lock()
			running[job]--
			mu.Unlock()
		}))})
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.RunUntil(ctx, time.Time{}) }()
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			create(t, s, Job{Name: name, Schedule: "* * * * *", HTTP: &HTTPTarget{URL: "http://target"}})
		}
		time.Sleep(10 * time.Minute)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.Close() // waits for the requests that were given up
		if most != 1 || overlaps == 0 {
			t.Errorf("at most %d attempts of a job at once, want 1; %d overlaps of the two", most, overlaps)
		}
		if n := len(s.Attempts()); n < 10 || n > 16 {
			t.Errorf("%d attempts in ten minutes of 90 s each, want about 12", n)
		}
	})
}
