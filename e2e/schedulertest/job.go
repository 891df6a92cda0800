package schedulertest

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// State of a job.
type State string

// The states that a user brings about.
const (
	Enabled State = "ENABLED"
	Paused  State = "PAUSED"
)

// Job is what Cloud Scheduler keeps. One of HTTP and AppEngine is set.
type Job struct {
	// Name is short ("daily") or full ("projects/P/locations/L/jobs/daily"). The Server gives back full ones.
	Name        string
	Description string
	// Schedule is unix-cron, or "every N minutes" or "every N hours". TimeZone is of the tz database; "": UTC.
	Schedule, TimeZone string
	HTTP               *HTTPTarget
	AppEngine          *AppEngineTarget
	Retry              Retry
	// AttemptDeadline. 0: 3 minutes for HTTP, 10 for App Engine.
	AttemptDeadline time.Duration

	// State, LastAttempt, Next and LastStatus are the Server's; what a caller sets is ignored.
	State       State
	LastAttempt time.Time
	Next        time.Time // a retry, or the next slot
	LastStatus  int       // google.rpc.Code of the last attempt
	Updated     time.Time
}

// HTTPTarget is where an HTTP job goes.
type HTTPTarget struct {
	URL     string
	Method  string // "": POST
	Headers map[string]string
	Body    []byte
	// OIDC and OAuth: at most one; its token goes into Authorization, over what Headers say.
	OIDC  *OIDC
	OAuth *OAuth
}

// OIDC makes the Server send an identity token with every attempt.
type OIDC struct {
	Email    string
	Audience string // "": the URL of the target, with path and query
}

// OAuth makes the Server send an access token with every attempt.
type OAuth struct {
	Email string
	Scope string // "": cloud-platform
}

// AppEngineTarget is where an App Engine job goes: a path of the application at Config.AppEngine.
type AppEngineTarget struct {
	RelativeURI      string // "": /
	Method           string // "": POST
	Headers          map[string]string
	Body             []byte
	Service, Version string // kept, and not acted on
}

var jobName = regexp.MustCompile(`^projects/[A-Za-z0-9.:-]+/locations/[a-z0-9-]+/jobs/[A-Za-z0-9_-]{1,500}$`)

// short is the job's id, what X-CloudScheduler-JobName says.
func (j Job) short() string { return j.Name[strings.LastIndexByte(j.Name, '/')+1:] }

// clone shares nothing with j that could be changed.
func (j Job) clone() Job {
	if j.HTTP != nil {
		t := *j.HTTP
		t.Headers, t.Body = maps.Clone(t.Headers), slices.Clone(t.Body)
		if t.OIDC != nil {
			oidc := *t.OIDC
			t.OIDC = &oidc
		}
		if t.OAuth != nil {
			oauth := *t.OAuth
			t.OAuth = &oauth
		}
		j.HTTP = &t
	}
	if j.AppEngine != nil {
		t := *j.AppEngine
		t.Headers, t.Body = maps.Clone(t.Headers), slices.Clone(t.Body)
		j.AppEngine = &t
	}
	return j
}

// normalize fills in the defaults of a job and says what the service would refuse.
func (s *Server) normalize(j Job) (Job, schedule, error) {
	j = j.clone()
	j.Name = s.fullName(j.Name)
	if !jobName.MatchString(j.Name) {
		return j, schedule{}, invalid("job name %q: want projects/P/locations/L/jobs/J, J of letters, digits, hyphens and underscores", j.Name)
	}
	sched, err := parseSchedule(j.Schedule, j.TimeZone)
	if err != nil {
		return j, sched, err
	}
	if err := j.Retry.check(); err != nil {
		return j, sched, err
	}
	if len(j.Description) > 500 {
		return j, sched, invalid("description is longer than 500 characters")
	}
	longest := 30 * time.Minute
	switch {
	case (j.HTTP == nil) == (j.AppEngine == nil):
		return j, sched, invalid("want one target: HTTP or App Engine; Pub/Sub is not imitated")
	case j.HTTP != nil:
		j.HTTP, err = s.normalizeHTTP(*j.HTTP)
		j.AttemptDeadline = orDefault(j.AttemptDeadline, 3*time.Minute)
	default:
		longest = 24*time.Hour + 15*time.Second
		j.AppEngine, err = s.normalizeAppEngine(*j.AppEngine)
		j.AttemptDeadline = orDefault(j.AttemptDeadline, 10*time.Minute)
	}
	if err != nil {
		return j, sched, err
	}
	if j.AttemptDeadline > longest || j.AttemptDeadline < 15*time.Second && !s.cfg.Short || j.AttemptDeadline < 0 {
		return j, sched, invalid("attempt deadline %s: want 15s to %s", j.AttemptDeadline, longest)
	}
	return j, sched, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

func (r Retry) check() error {
	switch d := r.withDefaults(); {
	case r.Count < 0 || r.Count > 5:
		return invalid("retry count %d: want 0 to 5", r.Count)
	case r.MaxDuration < 0 || r.MinBackoff < 0 || r.MaxBackoff < 0:
		return invalid("retry: a duration is negative")
	case d.MinBackoff > d.MaxBackoff:
		return invalid("retry: the shortest back-off is longer than the longest")
	}
	return nil
}

var httpMethods = []string{"POST", "GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"}

func (s *Server) normalizeHTTP(t HTTPTarget) (*HTTPTarget, error) {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, invalid("target %q: want an http or https URL", t.URL)
	case len(t.URL) > 2083:
		return nil, invalid("target: the URL is longer than 2083 characters")
	case t.OIDC != nil && t.OAuth != nil:
		return nil, invalid("target: OIDC and OAuth exclude each other")
	case t.OIDC != nil && (t.OIDC.Email == "" || s.cfg.IDToken == nil):
		return nil, invalid("target: OIDC wants an account, and the fake wants Config.IDToken")
	case t.OAuth != nil && (t.OAuth.Email == "" || s.cfg.AccessToken == nil):
		return nil, invalid("target: OAuth wants an account, and the fake wants Config.AccessToken")
	}
	t.Method, err = checkMethod(t.Method, t.Body, t.Headers, "POST", "PUT", "PATCH")
	return &t, err
}

func (s *Server) normalizeAppEngine(t AppEngineTarget) (*AppEngineTarget, error) {
	if t.RelativeURI == "" {
		t.RelativeURI = "/"
	}
	switch {
	case s.cfg.AppEngine == "":
		return nil, invalid("an App Engine target: the fake wants Config.AppEngine")
	case t.RelativeURI[0] != '/' || strings.Contains(t.RelativeURI, " "):
		return nil, invalid("relative URI %q: want a path without spaces", t.RelativeURI)
	case t.Method == "PATCH" || t.Method == "OPTIONS":
		return nil, invalid("method %s: App Engine targets do not have it", t.Method)
	}
	var err error
	t.Method, err = checkMethod(t.Method, t.Body, t.Headers, "POST", "PUT")
	return &t, err
}

func checkMethod(method string, body []byte, headers map[string]string, withBody ...string) (string, error) {
	if method == "" {
		method = http.MethodPost
	}
	if !slices.Contains(httpMethods, method) {
		return "", invalid("method %q is unknown", method)
	}
	if len(body) > 0 && !slices.Contains(withBody, method) {
		return "", invalid("a body is allowed with %s only", strings.Join(withBody, ", "))
	}
	seen := map[string]bool{}
	for k := range headers {
		if c := http.CanonicalHeaderKey(k); seen[c] {
			return "", invalid("header %s is there twice", c)
		} else {
			seen[c] = true
		}
	}
	return method, nil
}
