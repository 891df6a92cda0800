package schedulertest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzSchedule: a malformed schedule is an error, never a panic; slots of a good one go forward.
func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"* * * * *", "0 9 * * MON-FRI", "*/5 1,2 1-3/2 ? 0", "every 5 minutes", "TZ= ", "@every 1s", "0 0 31 2 *", "-1 * * * *", "1/0 * * * *"} {
		f.Add(s, "UTC")
		f.Add(s, "America/Sao_Paulo")
	}
	f.Fuzz(func(t *testing.T, text, zone string) {
		s, err := parseSchedule(text, zone)
		if err != nil {
			return
		}
		at := noon
		for range 3 {
			next := s.next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) || next.Sub(at) > 9*366*24*time.Hour {
				t.Fatalf("schedule %q in %q: after %s comes %s", text, zone, at, next)
			}
			at = next
		}
	})
}

// FuzzREST: whatever is sent, the API answers with JSON and never with a fault of its own.
func FuzzREST(f *testing.F) {
	f.Add("POST", "/jobs", `{"name":"projects/p/locations/europe-west1/jobs/a","schedule":"* * * * *","httpTarget":{"uri":"http://127.0.0.1:1"}}`)
	f.Add("PATCH", "/jobs/j?updateMask=httpTarget.headers.a,retry_config", `{"retryConfig":{"maxDoublings":0}}`)
	f.Add("PATCH", "/jobs/j?updateMask=schedule.x.y", `{"schedule":"1 * * * *"}`)
	f.Add("GET", "/jobs?pageSize=1&pageToken=a", "")
	f.Add("POST", "/jobs/j:pause", "{}")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		s := New(Config{Clock: NewVirtual(noon), Transport: HandlerTransport(http.NotFoundHandler())})
		defer s.Close()
		if _, err := s.CreateJob(Job{Name: location + "/jobs/j", Schedule: "0 * * * *", HTTP: &HTTPTarget{URL: "http://target"}}); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://api/v1/"+location+path, strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		resp, err := HandlerTransport(s.Handler()).RoundTrip(req)
		if err != nil {
			t.Skip()
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 500 {
			t.Errorf("%s %s with %q: %d %s", method, path, body, resp.StatusCode, text)
		}
	})
}
