package schedulertest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/runonce/e2e/schedulertest"
)

func Example() {
	calls := 0
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		fmt.Println(r.Header.Get("X-CloudScheduler-JobName"), r.Header.Get("X-CloudScheduler-ScheduleTime"))
		if calls == 1 {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer target.Close()

	noon := time.Date(2026, 10, 16, 12, 0, 0, 0, time.UTC)
	clock := schedulertest.NewVirtual(noon)
	s := schedulertest.New(schedulertest.Config{Clock: clock, Render: schedulertest.Pacific})
	defer s.Close()
	_, err := s.CreateJob(schedulertest.Job{
		Name: "daily", Schedule: "0 12 * * *", HTTP: &schedulertest.HTTPTarget{URL: target.URL},
		Retry: schedulertest.Retry{Count: 1, MinBackoff: 10 * time.Second},
	})
	if err != nil {
		fmt.Println(err)
	}
	run, err := s.Fire(context.Background(), "daily", noon)
	fmt.Println(run.Succeeded(), len(run.Attempts), clock.Now().Sub(noon), err)
	// Output:
	// daily 2026-10-16T05:00:00-07:00
	// daily 2026-10-16T05:00:00-07:00
	// true 2 10s <nil>
}
