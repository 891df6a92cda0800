package schedulertest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wireJob is a Job in the API's JSON.
type wireJob struct {
	Name            string         `json:"name,omitempty"`
	Description     string         `json:"description,omitempty"`
	Schedule        string         `json:"schedule,omitempty"`
	TimeZone        string         `json:"timeZone,omitempty"`
	HTTPTarget      *wireHTTP      `json:"httpTarget,omitempty"`
	AppEngine       *wireAppEngine `json:"appEngineHttpTarget,omitempty"`
	PubSub          map[string]any `json:"pubsubTarget,omitempty"`
	RetryConfig     *wireRetry     `json:"retryConfig,omitempty"`
	AttemptDeadline string         `json:"attemptDeadline,omitempty"`
	State           State          `json:"state,omitempty"`
	Status          *wireStatus    `json:"status,omitempty"`
	ScheduleTime    string         `json:"scheduleTime,omitempty"`
	LastAttemptTime string         `json:"lastAttemptTime,omitempty"`
	UserUpdateTime  string         `json:"userUpdateTime,omitempty"`
}

type wireHTTP struct {
	URI       string            `json:"uri,omitempty"`
	Method    string            `json:"httpMethod,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      []byte            `json:"body,omitempty"`
	OIDCToken *wireOIDC         `json:"oidcToken,omitempty"`
	OAuth     *wireOAuth        `json:"oauthToken,omitempty"`
}

type wireOIDC struct {
	Email    string `json:"serviceAccountEmail,omitempty"`
	Audience string `json:"audience,omitempty"`
}

type wireOAuth struct {
	Email string `json:"serviceAccountEmail,omitempty"`
	Scope string `json:"scope,omitempty"`
}

type wireAppEngine struct {
	URI     string            `json:"relativeUri,omitempty"`
	Method  string            `json:"httpMethod,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
	Routing *wireRouting      `json:"appEngineRouting,omitempty"`
}

type wireRouting struct {
	Service string `json:"service,omitempty"`
	Version string `json:"version,omitempty"`
}

type wireRetry struct {
	Count        int    `json:"retryCount,omitempty"`
	MaxDuration  string `json:"maxRetryDuration,omitempty"`
	MinBackoff   string `json:"minBackoffDuration,omitempty"`
	MaxBackoff   string `json:"maxBackoffDuration,omitempty"`
	MaxDoublings *int   `json:"maxDoublings,omitempty"` // absent: the default; 0: never
}

type wireStatus struct {
	Code int `json:"code,omitempty"`
}

func toWire(j Job) wireJob {
	r := j.Retry.withDefaults()
	w := wireJob{
		Name: j.Name, Description: j.Description, Schedule: j.Schedule, TimeZone: j.TimeZone, State: j.State,
		AttemptDeadline: seconds(j.AttemptDeadline), ScheduleTime: stamp(j.Next), LastAttemptTime: stamp(j.LastAttempt), UserUpdateTime: stamp(j.Updated),
		RetryConfig: &wireRetry{Count: j.Retry.Count, MaxDuration: seconds(r.MaxDuration), MinBackoff: seconds(r.MinBackoff), MaxBackoff: seconds(r.MaxBackoff), MaxDoublings: &r.MaxDoublings},
	}
	if w.TimeZone == "" {
		w.TimeZone = "UTC"
	}
	if !j.LastAttempt.IsZero() {
		w.Status = &wireStatus{j.LastStatus}
	}
	if t := j.HTTP; t != nil {
		w.HTTPTarget = &wireHTTP{URI: t.URL, Method: t.Method, Headers: t.Headers, Body: t.Body, OIDCToken: (*wireOIDC)(t.OIDC), OAuth: (*wireOAuth)(t.OAuth)}
	}
	if t := j.AppEngine; t != nil {
		w.AppEngine = &wireAppEngine{URI: t.RelativeURI, Method: t.Method, Headers: t.Headers, Body: t.Body}
		if t.Service != "" || t.Version != "" {
			w.AppEngine.Routing = &wireRouting{t.Service, t.Version}
		}
	}
	return w
}

func fromWire(w wireJob) (Job, error) {
	j := Job{Name: w.Name, Description: w.Description, Schedule: w.Schedule, TimeZone: w.TimeZone}
	if w.PubSub != nil {
		return j, invalid("Pub/Sub targets are not imitated")
	}
	if t := w.HTTPTarget; t != nil {
		j.HTTP = &HTTPTarget{URL: t.URI, Method: t.Method, Headers: t.Headers, Body: t.Body, OIDC: (*OIDC)(t.OIDCToken), OAuth: (*OAuth)(t.OAuth)}
	}
	if t := w.AppEngine; t != nil {
		j.AppEngine = &AppEngineTarget{RelativeURI: t.URI, Method: t.Method, Headers: t.Headers, Body: t.Body}
		if t.Routing != nil {
			j.AppEngine.Service, j.AppEngine.Version = t.Routing.Service, t.Routing.Version
		}
	}
	var err error
	if j.AttemptDeadline, err = parseSeconds(w.AttemptDeadline); err != nil {
		return j, err
	}
	r := w.RetryConfig
	if r == nil {
		return j, nil
	}
	j.Retry = Retry{Count: r.Count}
	if r.MaxDoublings != nil {
		j.Retry.MaxDoublings = *r.MaxDoublings
		if *r.MaxDoublings == 0 {
			j.Retry.MaxDoublings = -1
		}
	}
	for text, to := range map[*string]*time.Duration{&r.MaxDuration: &j.Retry.MaxDuration, &r.MinBackoff: &j.Retry.MinBackoff, &r.MaxBackoff: &j.Retry.MaxBackoff} {
		if *to, err = parseSeconds(*text); err != nil {
			return j, err
		}
	}
	return j, nil
}

// changeable are the fields that an update may name.
var changeable = []string{"description", "schedule", "timeZone", "httpTarget", "appEngineHttpTarget", "retryConfig", "attemptDeadline"}

// masked is a copy of old in which the fields that mask names are those of change, unset where change lacks them.
func masked(old, change wireJob, mask string) (wireJob, error) {
	to, err := fields(old)
	if err != nil {
		return old, err
	}
	from, err := fields(change)
	if err != nil {
		return old, err
	}
	for path := range strings.SplitSeq(mask, ",") {
		keys := strings.Split(lowerCamel(strings.TrimSpace(path)), ".")
		if !slices.Contains(changeable, keys[0]) {
			return old, invalid("updateMask: %q cannot be changed", path)
		}
		copyField(to, from, keys)
	}
	text, err := json.Marshal(to)
	if err != nil {
		return old, err
	}
	var out wireJob
	if err := json.Unmarshal(text, &out); err != nil {
		return old, invalid("updateMask %q: a path leads into a field that has no parts", mask)
	}
	return out, nil
}

func copyField(to, from map[string]any, keys []string) {
	for _, k := range keys[:len(keys)-1] {
		inner, ok := to[k].(map[string]any)
		if !ok {
			inner = map[string]any{}
			to[k] = inner
		}
		to = inner
		from, _ = from[k].(map[string]any)
	}
	last := keys[len(keys)-1]
	if v, ok := from[last]; ok {
		to[last] = v
		return
	}
	delete(to, last)
}

// fields is a job as its JSON has it.
func fields(w wireJob) (map[string]any, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	err = json.Unmarshal(text, &m)
	return m, err
}

// lowerCamel writes http_target.uri as httpTarget.uri; a mask may have either.
func lowerCamel(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && i+1 < len(s) {
			i++
			b.WriteString(strings.ToUpper(s[i : i+1]))
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// seconds writes a duration as the API does, "3.5s".
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

func parseSeconds(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || strings.TrimLeft(strings.TrimSuffix(s, "s"), "-.0123456789") != "" {
		return 0, invalid("duration %q: want seconds, like 180s", s)
	}
	return d, nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
