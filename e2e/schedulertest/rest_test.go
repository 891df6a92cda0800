package schedulertest

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/cloudscheduler/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

const location = "projects/p/locations/europe-west1"

func client(t *testing.T, s *Server) *cloudscheduler.ProjectsLocationsJobsService {
	t.Helper()
	c, err := cloudscheduler.NewService(t.Context(), option.WithEndpoint(s.URL()), option.WithHTTPClient(http.DefaultClient))
	if err != nil {
		t.Fatal(err)
	}
	return c.Projects.Locations.Jobs
}

func apiCode(err error) int {
	var e *googleapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// R26: the API takes a job from Google's own client through its life, as gcloud does.
func TestREST(t *testing.T) {
	t.Parallel()
	told := make(chan Attempt, 1)
	to := newTarget(t, always(409))
	s, _ := start(t, Config{OnAttempt: func(a Attempt) { told <- a }})
	jobs := client(t, s)
	name := location + "/jobs/daily"
	made, err := jobs.Create(location, &cloudscheduler.Job{
		Name: name, Schedule: "0 9 * * *", TimeZone: "Europe/Berlin", Description: "orders", AttemptDeadline: "60s",
		HttpTarget: &cloudscheduler.HttpTarget{
			Uri: to.URL + "/run", HttpMethod: "POST", Body: base64.StdEncoding.EncodeToString([]byte("{}")), Headers: map[string]string{"Content-Type": "application/json"},
		},
		RetryConfig: &cloudscheduler.RetryConfig{RetryCount: 3, MinBackoffDuration: "1.5s", MaxBackoffDuration: "10s", MaxRetryDuration: "0s", MaxDoublings: 2},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if made.State != "ENABLED" || made.ScheduleTime != "2026-10-17T07:00:00Z" || made.AttemptDeadline != "60s" || made.RetryConfig.MinBackoffDuration != "1.5s" || made.HttpTarget.Body != "e30=" || made.Status != nil {
		t.Errorf("created %+v, retry %+v, target %+v", made, made.RetryConfig, made.HttpTarget)
	}
	if _, err := jobs.Create(location, made).Do(); apiCode(err) != 409 {
		t.Errorf("create twice: %v", err)
	}
	if j, err := jobs.Pause(name, &cloudscheduler.PauseJobRequest{}).Do(); err != nil || j.State != "PAUSED" {
		t.Errorf("pause: %+v, %v", j, err)
	}
	if _, err := jobs.Pause(name, &cloudscheduler.PauseJobRequest{}).Do(); apiCode(err) != 400 {
		t.Errorf("pause twice: %v", err)
	}
	if j, err := jobs.Resume(name, &cloudscheduler.ResumeJobRequest{}).Do(); err != nil || j.State != "ENABLED" {
		t.Errorf("resume: %+v, %v", j, err)
	}
	if _, err := jobs.Run(name, &cloudscheduler.RunJobRequest{}).Do(); err != nil {
		t.Errorf("run: %v", err)
	}
	for n := range 4 {
		if a := wait(t, told); a.N != n+1 || !a.Forced || a.ScheduleTime != "2026-10-17T07:00:00Z" {
			t.Errorf("attempt of the run: %+v", a)
		}
	}
	if j, err := jobs.Get(name).Do(); err != nil || j.Status == nil || j.Status.Code != 10 || j.LastAttemptTime == "" {
		t.Errorf("after the run: %+v, %v", j, err)
	}
	if _, err := jobs.Delete(name).Do(); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := jobs.Get(name).Do(); apiCode(err) != 404 || !strings.Contains(err.Error(), "daily was not found") {
		t.Errorf("after the end: %v", err)
	}
}

// R26: an update changes what its mask names and nothing else.
func TestPatch(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	jobs := client(t, s)
	j := Job{
		Name: location + "/jobs/a", Schedule: "0 9 * * *", Description: "old", Retry: Retry{Count: 2, MaxDoublings: -1},
		HTTP: &HTTPTarget{URL: "http://127.0.0.1:1/a", Headers: map[string]string{"A": "1", "B": "2"}, Body: []byte("x")},
	}
	create(t, s, j)
	got, err := jobs.Patch(j.Name, &cloudscheduler.Job{
		Schedule: "0 10 * * *", Description: "not in the mask",
		HttpTarget: &cloudscheduler.HttpTarget{Headers: map[string]string{"C": "3"}},
	}).UpdateMask("schedule,http_target.headers,httpTarget.body").Do()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.Job(j.Name)
	if err != nil || got.Schedule != "0 10 * * *" || kept.Description != "old" || kept.Retry.Count != 2 || kept.Retry.Delay(2) != 10*time.Second ||
		kept.HTTP.URL != "http://127.0.0.1:1/a" || len(kept.HTTP.Headers) != 1 || kept.HTTP.Headers["C"] != "3" || len(kept.HTTP.Body) != 0 {
		t.Errorf("%+v, %+v, %v", kept, kept.HTTP, err)
	}
	if _, err := jobs.Patch(j.Name, &cloudscheduler.Job{Description: "new"}).Do(); err != nil {
		t.Errorf("without a mask: %v", err)
	}
	if _, err := jobs.Patch(j.Name, &cloudscheduler.Job{}).UpdateMask("retryConfig,description").Do(); err != nil {
		t.Errorf("unset: %v", err)
	}
	if kept, err := s.Job(j.Name); err != nil || kept.Description != "" || kept.Retry.Count != 0 || kept.Retry.Delay(2) != 10*time.Second {
		t.Errorf("after the unset: %+v, %v", kept, err)
	}
	for name, mask := range map[string]string{"state": "state", "name": "name", "unknown": "colour", "part of a text": "schedule.x"} {
		if _, err := jobs.Patch(j.Name, &cloudscheduler.Job{}).UpdateMask(mask).Do(); apiCode(err) != 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := jobs.Patch(j.Name, &cloudscheduler.Job{}).UpdateMask("httpTarget").Do(); apiCode(err) != 400 {
		t.Errorf("no target left: %v", err)
	}
	if _, err := jobs.Patch(location+"/jobs/none", &cloudscheduler.Job{}).Do(); apiCode(err) != 404 {
		t.Errorf("no job: %v", err)
	}
}

// R26: lists come in pages.
func TestList(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{AppEngine: "http://127.0.0.1:1"})
	jobs := client(t, s)
	for _, n := range []string{"c", "a", "b"} {
		create(t, s, Job{Name: location + "/jobs/" + n, Schedule: "0 9 * * *", AppEngine: &AppEngineTarget{RelativeURI: "/x", Service: "cron"}})
	}
	create(t, s, Job{Name: "elsewhere", Schedule: "0 9 * * *", AppEngine: &AppEngineTarget{}})
	var names []string
	pages := 0
	err := jobs.List(location).PageSize(2).Pages(t.Context(), func(l *cloudscheduler.ListJobsResponse) error {
		pages++
		for _, j := range l.Jobs {
			names = append(names, strings.TrimPrefix(j.Name, location+"/jobs/")+" "+j.AppEngineHttpTarget.RelativeUri+" "+j.AppEngineHttpTarget.AppEngineRouting.Service)
		}
		return nil
	})
	if got := strings.Join(names, ", "); err != nil || pages != 2 || got != "a /x cron, b /x cron, c /x cron" {
		t.Errorf("%s in %d pages, %v", got, pages, err)
	}
}

// R26: what is malformed, of another place or not imitated is refused by name.
func TestRefusedREST(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"no JSON", "POST", "/v1/" + location + "/jobs", "{", 400, "no job"},
		{"other location", "POST", "/v1/" + location + "/jobs", `{"name":"projects/q/locations/l/jobs/j"}`, 400, "not of projects/p"},
		{"duration", "POST", "/v1/" + location + "/jobs", `{"attemptDeadline":"1m"}`, 400, "want seconds"},
		{"retry duration", "POST", "/v1/" + location + "/jobs", `{"retryConfig":{"minBackoffDuration":"soon"}}`, 400, "want seconds"},
		{"Pub/Sub", "POST", "/v1/" + location + "/jobs", `{"pubsubTarget":{"topicName":"t"}}`, 400, "Pub/Sub"},
		{"page size", "GET", "/v1/" + location + "/jobs?pageSize=x", "", 400, "pageSize"},
		{"verb", "POST", "/v1/" + location + "/jobs/j:explode", "{}", 404, "explode of jobs is not imitated"},
		{"path", "GET", "/v1/projects/p/topics", "", 404, "GET /v1/projects/p/topics is not imitated"},
		{"no name", "POST", "/v1/" + location + "/jobs", `{"schedule":"0 9 * * *","httpTarget":{"uri":"http://127.0.0.1:1"}}`, 200, location + "/jobs/job-1"},
		{"location", "GET", "/v1/" + location, "", 200, "europe-west1"},
		{"locations", "GET", "/v1beta1/projects/p/locations", "", 200, location},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://api"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := HandlerTransport(s.Handler()).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
				t.Errorf("%d %s, want %d with %q", resp.StatusCode, body, tt.status, tt.want)
			}
		})
	}
}
