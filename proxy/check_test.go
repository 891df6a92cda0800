package proxy

import (
	"strings"
	"testing"
	"time"
)

func validConfig() Config {
	return Config{
		Listen: "127.0.0.1:0", Project: "p", Targets: []string{testTarget}, LogProject: "p",
		Auth: Auth{AuthMode: ModeVerify, AuthAudiences: []string{testAudience}, AuthAccounts: []string{testAccount}},
	}
}

const (
	testAudience = "https://proxy.example"
	testAccount  = "scheduler@p.iam.gserviceaccount.com"
)

func ptr(n int) *int { return &n }

// R13, R14, R18: each contradiction is named.
func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(*Config)
		want string // in the error, "" for none
		warn string
	}{
		"valid":                 {edit: func(*Config) {}},
		"no mode":               {edit: func(c *Config) { c.AuthMode = "" }, want: "AUTH_MODE"},
		"iam off Cloud Run":     {edit: func(c *Config) { c.AuthMode = ModeCloudRunIAM }, want: "K_SERVICE"},
		"iam on Cloud Run":      {edit: func(c *Config) { c.AuthMode, c.Service = ModeCloudRunIAM, "proxy" }},
		"no audience":           {edit: func(c *Config) { c.AuthAudiences = nil }, want: "AUTH_AUDIENCES"},
		"empty audience":        {edit: func(c *Config) { c.AuthAudiences = []string{""} }, want: "AUTH_AUDIENCES"},
		"no accounts":           {edit: func(c *Config) { c.AuthAccounts = nil }, want: "AUTH_ACCOUNTS"},
		"no targets":            {edit: func(c *Config) { c.Targets = nil }, want: "TARGETS is empty"},
		"target of no project":  {edit: func(c *Config) { c.Targets = []string{"projects/*/locations/l/workflows/w"} }, want: "name the project"},
		"target no name":        {edit: func(c *Config) { c.Targets = []string{"orders"} }, want: "resource name"},
		"unknown source":        {edit: func(c *Config) { c.Targets = []string{testTarget + "=carrier-pigeon"} }, want: "no source"},
		"scope":                 {edit: func(c *Config) { c.Scope = "all" }, want: "SCOPE"},
		"handler too long":      {edit: func(c *Config) { c.HandlerTimeout = time.Minute }, want: "HANDLER_TIMEOUT"},
		"request too long":      {edit: func(c *Config) { c.RequestTimeout = 5 * time.Minute }, want: "JOB_ATTEMPT_DEADLINE"},
		"sample's lease":        {edit: func(c *Config) { c.Lease = 300 * time.Second }, want: "2m35s"}, // the source's own 300 s outlive five retries
		"lease too short":       {edit: func(c *Config) { c.Lease = time.Millisecond }, want: "LEASE"},
		"no retry":              {edit: func(c *Config) { c.Job.RetryCount = ptr(0) }, warn: "POST /sweep"},
		"retention in window":   {edit: func(c *Config) { c.Retention = 10 * time.Minute }, want: "RETENTION"},
		"slots beyond records":  {edit: func(c *Config) { c.MaxPast = 90 * time.Hour }, want: "MAX_PAST"},
		"drain beyond the kill": {edit: func(c *Config) { c.DrainTimeout = 10 * time.Second }, want: "DRAIN_TIMEOUT"},
		"negative time":         {edit: func(c *Config) { c.Grace = -1 }, want: "GRACE"},
		"short past":            {edit: func(c *Config) { c.MaxPast = time.Minute }, warn: "MAX_PAST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := validConfig()
			tt.edit(&c)
			warnings, err := c.Validate()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
			if tt.warn != "" && !strings.Contains(strings.Join(warnings, "\n"), tt.warn) {
				t.Errorf("got warnings %q, want one with %q", warnings, tt.warn)
			}
		})
	}
}

// R14: the delays of Cloud Scheduler's documentation.
func TestBackoffs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		job  JobConfig
		want time.Duration
	}{
		"default":         {JobConfig{}, 155 * time.Second},
		"documented":      {JobConfig{RetryCount: ptr(8), MinBackoff: 10 * time.Second, MaxBackoff: 300 * time.Second, MaxDoublings: ptr(3)}, (10 + 20 + 40 + 80 + 160 + 240 + 300 + 300) * time.Second},
		"none":            {JobConfig{RetryCount: ptr(0)}, 0},
		"duration":        {JobConfig{RetryCount: ptr(0), MaxRetryDuration: time.Hour}, time.Hour},
		"the later of it": {JobConfig{MaxRetryDuration: time.Minute}, 155 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.job.withDefaults().backoffs(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	c, err := FromEnv([]string{"PORT=9", "TARGETS=a,b", "AUTH_ACCOUNTS=x,y", "JOB_RETRY_COUNT=0", "LEASE=20s", "K_SERVICE=s"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != "9" || len(c.Targets) != 2 || len(c.AuthAccounts) != 2 || c.Job.RetryCount == nil || *c.Job.RetryCount != 0 || c.Lease != 20*time.Second || c.Service != "s" {
		t.Errorf("got %+v", c)
	}
	if c = c.WithDefaults(); c.Listen != ":9" || c.Job.RetryCount == nil || *c.Job.RetryCount != 0 || *c.Job.MaxDoublings != 5 {
		t.Errorf("with defaults: got %+v", c)
	}
	if _, err := FromEnv([]string{"LEASE=soon"}); err == nil {
		t.Error("LEASE=soon: got no error")
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	rules, err := parseRules([]string{"projects/p/locations/l/workflows/orders", "projects/p/locations/*/workflows/nightly-*"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"projects/p/locations/l/workflows/orders":       true,
		"projects/p/locations/l/workflows/orders2":      false,
		"projects/q/locations/l/workflows/orders":       false,
		"projects/p/locations/eu/workflows/nightly-a":   true,
		"projects/p/locations/eu/workflows/nightly-a/b": false,
	} {
		if got := allowed(rules, target) != nil; got != want {
			t.Errorf("%s: got %v, want %v", target, got, want)
		}
	}
}
