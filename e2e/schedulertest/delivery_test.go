package schedulertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/runonce/e2e/idtokentest"
)

// R1 R6: what a target is sent.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
		job  Job
		want http.Header // without Accept-Encoding
		line string
		body string
	}{
		{"plain", Config{}, Job{HTTP: &HTTPTarget{URL: "/a/b?c=d"}}, http.Header{}, "POST /a/b?c=d", ""},
		{"body", Config{}, Job{HTTP: &HTTPTarget{URL: "/", Method: "PUT", Body: []byte("{}")}},
			http.Header{"Content-Type": {"application/octet-stream"}, "Content-Length": {"2"}}, "PUT /", "{}"},
		{"JSON body", Config{}, Job{HTTP: &HTTPTarget{URL: "/", Body: []byte("{}"), Headers: map[string]string{"content-type": "application/json"}}},
			http.Header{"Content-Type": {"application/json"}, "Content-Length": {"2"}}, "POST /", "{}"},
		{"GET", Config{}, Job{HTTP: &HTTPTarget{URL: "/", Method: "GET"}}, http.Header{}, "GET /", ""},
		{"headers that the service replaces", Config{}, Job{HTTP: &HTTPTarget{URL: "/", Headers: map[string]string{
			"X-CloudScheduler-JobName": "forged", "x-cloudscheduler-scheduletime": "forged", "User-Agent": "mine", "X-Google-A": "b", "X-AppEngine-Cron": "true", "Host": "elsewhere", "Mine": "kept, with a comma",
		}}}, http.Header{"Mine": {"kept, with a comma"}}, "POST /", ""},
		{"Pacific time", Config{Render: Pacific}, Job{HTTP: &HTTPTarget{URL: "/"}},
			http.Header{"X-Cloudscheduler-Scheduletime": {"2026-10-16T05:00:00-07:00"}}, "POST /", ""},
		{"English schedule", Config{}, Job{Schedule: "every 5 minutes", HTTP: &HTTPTarget{URL: "/"}},
			http.Header{"X-Cloudscheduler-Scheduletime": nil}, "POST /", ""},
		{"App Engine", Config{}, Job{AppEngine: &AppEngineTarget{RelativeURI: "/cron?a=b", Body: []byte("x")}},
			http.Header{"User-Agent": {appUserAgent}, "Content-Type": {"application/octet-stream"}, "Content-Length": {"1"}}, "POST /cron?a=b", "x"},
		{"App Engine with a name", Config{}, Job{AppEngine: &AppEngineTarget{Method: "GET", Headers: map[string]string{"User-Agent": "mine"}}},
			http.Header{"User-Agent": {"mine " + appUserAgent}}, "GET /", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to := newTarget(t, always(200))
			tt.cfg.AppEngine = to.URL + "/"
			s, _ := start(t, tt.cfg)
			j := tt.job
			j.Name = "daily"
			if j.Schedule == "" {
				j.Schedule = "0 12 * * *"
			}
			if j.HTTP != nil {
				j.HTTP.URL = to.URL + j.HTTP.URL
			}
			create(t, s, j)
			r, err := s.Fire(t.Context(), "daily", noon)
			if err != nil || !r.Succeeded() {
				t.Fatalf("%+v, %v", r, err)
			}
			want := http.Header{
				"User-Agent": {"Google-Cloud-Scheduler"}, "X-Cloudscheduler": {"true"}, "X-Cloudscheduler-Jobname": {"daily"},
				"X-Cloudscheduler-Scheduletime": {"2026-10-16T12:00:00Z"},
			}
			for k, v := range tt.want {
				want[k] = v
				if v == nil {
					delete(want, k)
				}
			}
			if len(tt.body) == 0 && !strings.HasPrefix(tt.line, "GET") {
				want["Content-Length"] = []string{"0"}
			}
			requests, bodies := to.seen()
			got := requests[0]
			got.Header.Del("Accept-Encoding")
			if diff := cmp.Diff(want, got.Header); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if line := got.Method + " " + got.RequestURI; line != tt.line || bodies[0] != tt.body || "http://"+got.Host != to.URL {
				t.Errorf("%s with body %q to %s, want %s with %q", line, bodies[0], got.Host, tt.line, tt.body)
			}
		})
	}
}

// R1: the case of the names on the wire.
func TestHeaderCase(t *testing.T) {
	t.Parallel()
	for _, lower := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		lines := make(chan []string, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				close(lines)
				return
			}
			defer c.Close()
			var got []string
			for in := bufio.NewScanner(c); in.Scan() && in.Text() != ""; {
				got = append(got, in.Text())
			}
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			lines <- got
		}()
		s, _ := start(t, Config{LowerCase: lower})
		create(t, s, hourly("http://"+l.Addr().String()+"/"))
		if _, err := s.Deliver(t.Context(), "hourly", noon); err != nil {
			t.Error(err)
		}
		want := "X-CloudScheduler-JobName: hourly"
		if lower {
			want = "x-cloudscheduler-jobname: hourly"
		}
		if got := <-lines; !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
		l.Close()
	}
}

// R18: every attempt has a token of its own for the right audience, over what the job's headers say.
func TestTokens(t *testing.T) {
	t.Parallel()
	v := NewVirtual(noon)
	issuer := idtokentest.New(idtokentest.Config{Now: v.Now})
	defer issuer.Close()
	to := newTarget(t, func(n int) int { return []int{500, 200, 200, 200}[n-1] })
	s, _ := start(t, Config{
		Clock: v,
		IDToken: func(_ context.Context, email, audience string) (string, error) {
			return issuer.Token(idtokentest.Claims{Email: email, Audience: audience}), nil
		},
		AccessToken: func(_ context.Context, email, scope string) (string, error) { return email + "|" + scope, nil },
	})
	j := hourly(to.URL + "/x?y=z")
	j.Retry.Count = 1
	j.HTTP.Headers = map[string]string{"authorization": "mine"}
	j.HTTP.OIDC = &OIDC{Email: "a@b"}
	create(t, s, j)
	j.Name, j.HTTP.OIDC = "audience", &OIDC{Email: "a@b", Audience: "https://x"}
	create(t, s, j)
	j.Name, j.HTTP.OIDC, j.HTTP.OAuth = "oauth", nil, &OAuth{Email: "a@b"}
	create(t, s, j)
	for _, name := range []string{"hourly", "audience", "oauth"} {
		if r, err := s.Fire(t.Context(), name, noon); err != nil || !r.Succeeded() {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
	}
	var auth []string
	requests, _ := to.seen()
	for _, r := range requests {
		auth = append(auth, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
	for n, audience := range []string{to.URL + "/x?y=z", to.URL + "/x?y=z", "https://x"} {
		if claims, err := issuer.Verify(auth[n], audience); err != nil || claims["email"] != "a@b" {
			t.Errorf("request %d: %v, %v", n+1, claims, err)
		}
	}
	if auth[0] == auth[1] || auth[3] != "a@b|https://www.googleapis.com/auth/cloud-platform" {
		t.Errorf("two attempts with one token, or a wrong access token: %q", auth)
	}
}

// R18: without a token nothing is sent; it counts as a failed attempt.
func TestNoToken(t *testing.T) {
	t.Parallel()
	to := newTarget(t, always(200))
	none := errors.New("no token today")
	s, _ := start(t, Config{IDToken: func(context.Context, string, string) (string, error) { return "", none }})
	j := hourly(to.URL)
	j.HTTP.OIDC, j.Retry.Count = &OIDC{Email: "a@b"}, 1
	create(t, s, j)
	r, err := s.Fire(t.Context(), "hourly", noon)
	requests, _ := to.seen()
	if err != nil || len(r.Attempts) != 2 || !errors.Is(r.Attempts[0].Err, none) || len(requests) != 0 {
		t.Errorf("%+v, %v, %d requests", r, err, len(requests))
	}
}

// A target that cannot be reached is a failed attempt.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	create(t, s, hourly("http://127.0.0.1:1/"))
	a, err := s.Deliver(t.Context(), "hourly", noon)
	if err != nil || a.Err == nil || a.Status != 0 || a.Succeeded() {
		t.Errorf("%+v, %v", a, err)
	}
	if j, _ := s.Job("hourly"); j.LastStatus != 14 {
		t.Errorf("status %d, want 14", j.LastStatus)
	}
}

// Only 2xx is success, and a redirect counts by where it leads.
func TestSuccess(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	for _, code := range []int{200, 204, 299, 304, 400, 401, 409, 429, 500, 503, 504} {
		mux.HandleFunc(fmt.Sprintf("/%d", code), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	mux.HandleFunc("/to/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/to"), http.StatusTemporaryRedirect)
	})
	s, _ := start(t, Config{Transport: HandlerTransport(mux)})
	for path, want := range map[string][2]int{ // status, code of the job
		"/200": {200, 0}, "/204": {204, 0}, "/299": {299, 0}, "/304": {304, 2}, "/400": {400, 3}, "/401": {401, 16}, "/409": {409, 10},
		"/429": {429, 8}, "/500": {500, 13}, "/503": {503, 14}, "/504": {504, 4}, "/to/200": {200, 0}, "/to/409": {409, 10},
	} {
		j := hourly("http://target" + path)
		j.Name = "j" + strings.ReplaceAll(path, "/", "-")
		create(t, s, j)
		a, err := s.Deliver(t.Context(), j.Name, noon)
		if err != nil || a.Status != want[0] || a.Succeeded() != (want[1] == 0) {
			t.Errorf("%s: status %d, succeeded %t, %v", path, a.Status, a.Succeeded(), err)
		}
		if j, _ := s.Job(j.Name); j.LastStatus != want[1] || !j.LastAttempt.Equal(noon) {
			t.Errorf("%s: code %d at %s, want %d", path, j.LastStatus, j.LastAttempt, want[1])
		}
	}
}

// wait fails the test if a signal does not come.
func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("no signal")
		panic("unreachable")
	}
}
