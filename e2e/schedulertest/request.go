package schedulertest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// What Cloud Scheduler calls itself.
const (
	userAgent    = "Google-Cloud-Scheduler"
	appUserAgent = "AppEngine-Google; (+http://code.google.com/appengine)"
)

// request makes the request of one attempt. An empty scheduleTime is not sent.
func (s *Server) request(ctx context.Context, j Job, scheduleTime string) (*http.Request, error) {
	url, method, headers, body := "", "", map[string]string(nil), []byte(nil)
	if j.HTTP != nil {
		url, method, headers, body = j.HTTP.URL, j.HTTP.Method, j.HTTP.Headers, j.HTTP.Body
	} else {
		url, method, headers, body = strings.TrimRight(s.cfg.AppEngine, "/")+j.AppEngine.RelativeURI, j.AppEngine.Method, j.AppEngine.Headers, j.AppEngine.Body
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	agent := userAgent
	h := map[string]string{}
	for k, v := range headers {
		c := http.CanonicalHeaderKey(k)
		if c == "User-Agent" && j.AppEngine != nil {
			agent = v + " " + appUserAgent
		}
		if !replaced(c) {
			h[c] = v
		}
	}
	if agent == userAgent && j.AppEngine != nil {
		agent = appUserAgent
	}
	if len(body) > 0 && h["Content-Type"] == "" {
		h["Content-Type"] = "application/octet-stream"
	}
	h["User-Agent"] = agent
	h["X-CloudScheduler"] = "true"
	h["X-CloudScheduler-JobName"] = j.short()
	if scheduleTime != "" {
		h["X-CloudScheduler-ScheduleTime"] = scheduleTime
	}
	auth, err := s.authorization(ctx, j)
	if err != nil {
		return nil, err
	}
	if auth != "" {
		h["Authorization"] = auth
	}
	s.setHeaders(req, h)
	return req, nil
}

// setHeaders writes the names as they go over the wire: as documented, or in lower case. The User-Agent alone keeps its
// form, since net/http would add another.
func (s *Server) setHeaders(req *http.Request, h map[string]string) {
	for k, v := range h {
		if s.cfg.LowerCase && k != "User-Agent" {
			k = strings.ToLower(k)
		}
		req.Header[k] = []string{v}
	}
}

// replaced says which of the user's headers the service ignores or replaces.
func replaced(canonical string) bool {
	switch canonical {
	case "Host", "Content-Length", "User-Agent":
		return true
	}
	lower := strings.ToLower(canonical)
	return strings.HasPrefix(lower, "x-google-") || strings.HasPrefix(lower, "x-appengine-") || strings.HasPrefix(lower, "x-cloudscheduler")
}

func (s *Server) authorization(ctx context.Context, j Job) (string, error) {
	var token string
	var err error
	switch t := j.HTTP; {
	case t == nil || t.OIDC == nil && t.OAuth == nil:
		return "", nil
	case t.OIDC != nil:
		audience := t.OIDC.Audience
		if audience == "" {
			audience = t.URL
		}
		token, err = s.cfg.IDToken(ctx, t.OIDC.Email, audience)
	default:
		scope := t.OAuth.Scope
		if scope == "" {
			scope = "https://www.googleapis.com/auth/cloud-platform"
		}
		token, err = s.cfg.AccessToken(ctx, t.OAuth.Email, scope)
	}
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	return "Bearer " + token, nil
}

type handlerTransport struct{ handler http.Handler }

// RoundTrip calls the handler as a server would and returns when it has answered in full.
func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	in := req.Clone(req.Context())
	in.Header = http.Header{} // a server reads the names into one form
	for k, v := range req.Header {
		in.Header[http.CanonicalHeaderKey(k)] = v
	}
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:1"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	defer in.Body.Close()
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, in)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}
