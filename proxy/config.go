package proxy

import (
	"fmt"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config of the proxy. The environment variables are the deployment's interface (FromEnv); a zero field means the default
// that its comment names. AuthMode, AuthAccounts, AuthAudiences and Targets have none: without them the proxy does not start.
type Config struct {
	// Port to listen on, all interfaces. "": 8080; "0": any free one. Listen overrides it with a full address.
	Port   string `env:"PORT" json:"port"`
	Listen string `env:"LISTEN" json:"listen,omitempty"`

	// Project of the Firestore database. "": the one that the credentials name. Database "": "(default)"; Collection "": "runonce".
	Project    string `env:"FIRESTORE_PROJECT" json:"firestore_project"`
	Database   string `env:"FIRESTORE_DATABASE" json:"firestore_database"`
	Collection string `env:"FIRESTORE_COLLECTION" json:"firestore_collection"`
	// ExecutionsEndpoint replaces Google's address of the Workflows Executions API; one on loopback is spoken to in plain
	// text and without credentials.
	ExecutionsEndpoint string `env:"EXECUTIONS_ENDPOINT" json:"executions_endpoint,omitempty"`
	// RunEndpoint and BuildEndpoint are the same for Cloud Run and Cloud Build, which are connected to where Targets names jobs or triggers.
	RunEndpoint   string `env:"RUN_ENDPOINT" json:"run_endpoint,omitempty"`
	BuildEndpoint string `env:"BUILD_ENDPOINT" json:"build_endpoint,omitempty"`

	// Targets that may be started: resource names, "*" for one whole segment or a part of it, comma separated. After "="
	// the sources that a target accepts, joined by "+"; without it, scheduler alone.
	Targets []string `env:"TARGETS" json:"targets"`
	// Aliases are short paths, POST /run/ALIAS: entries ALIAS=RESOURCE, comma separated. The resource must be in Targets as well.
	Aliases []string `env:"ALIASES" json:"aliases,omitempty"`
	// Scope of a run's name (R4): "target" (default), "job" (and the job's project and region, which the delivery must then
	// name in the headers X-Runonce-Job-Project and X-Runonce-Job-Location, or the query parameters job_project and
	// job_location) or "none" (the bytes of Google's sample, for a fleet that moves over).
	Scope string `env:"SCOPE" json:"scope"`
	// Round is "" or "minute": rounds the schedule time to the nearest minute, for a job whose deliveries were seen to differ in
	// the fraction.
	Round string `env:"ROUND" json:"round,omitempty"`
	// Forced says what a delivery is whose time lies in the future, as a manual run's does (R5): "own" (default), a run of its own, or
	// "next", the coming scheduled run, which is then skipped, as Google's document describes it. ForcedSkew is the largest
	// difference of clocks that does not count as the future. 0: one minute.
	Forced     string        `env:"FORCED" json:"forced"`
	ForcedSkew time.Duration `env:"FORCED_SKEW" json:"forced_skew"`
	// MaxPast refuses a slot that is older: its record may be gone. 0: the retention, less the retry window. MaxFuture refuses one
	// that is further ahead. 0: 366 days.
	MaxPast   time.Duration `env:"MAX_PAST" json:"max_past"`
	MaxFuture time.Duration `env:"MAX_FUTURE" json:"max_future"`
	// OnPermanent is what a start becomes that can never succeed (facts: no code but 2xx stops the Scheduler): "fail" (default),
	// an error each time, so that the job shows red, or "ack", recorded as failed and answered 200.
	OnPermanent string `env:"ON_PERMANENT" json:"on_permanent"`

	// CompleteOn says when a run is done: "started" (default), or "succeeded" (R19): a delivery is held until the execution has ended, and
	// one that failed is started again with the same run id, until MaxStarts have failed. 0: 3. PollInterval is the first wait between two looks. 0: 2 s.
	CompleteOn   string        `env:"COMPLETE_ON" json:"complete_on"`
	MaxStarts    int           `env:"MAX_STARTS" json:"max_starts"`
	PollInterval time.Duration `env:"POLL_INTERVAL" json:"poll_interval"`

	Auth

	// Lease of a claim, renewed while the attempt lives. 0: 30 s. Retention of records. 0: 48 h.
	Lease     time.Duration `env:"LEASE" json:"lease"`
	Retention time.Duration `env:"RETENTION" json:"retention"`
	// HandlerTimeout bounds one delivery. 0: 30 s; where it waits for the end, RequestTimeout less 10 s. StartTimeout bounds the call that starts, and ReadTimeout a look-up with its retries. 0: 10 s.
	HandlerTimeout time.Duration `env:"HANDLER_TIMEOUT" json:"handler_timeout"`
	StartTimeout   time.Duration `env:"START_TIMEOUT" json:"start_timeout"`
	ReadTimeout    time.Duration `env:"READ_TIMEOUT" json:"read_timeout"`
	// Grace between the two look-ups after a start whose answer was lost: a list may lag behind. 0: 2 s.
	Grace time.Duration `env:"GRACE" json:"grace"`
	// DrainTimeout is how long work in flight may go on after SIGTERM. 0: 7 s; the platform kills after 10 s.
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" json:"drain_timeout"`
	// MaxConcurrent deliveries at work, beyond which the answer is 429. 0: 80. MaxBody in bytes. 0: 128 KiB.
	MaxConcurrent int   `env:"MAX_CONCURRENT" json:"max_concurrent"`
	MaxBody       int64 `env:"MAX_BODY" json:"max_body"`

	// SweepLimit is how many runs one POST /sweep takes up. 0: 100. SweepAttempts is after how many attempts it leaves a run to a person. 0: 20.
	SweepLimit    int   `env:"SWEEP_LIMIT" json:"sweep_limit"`
	SweepAttempts int64 `env:"SWEEP_ATTEMPTS" json:"sweep_attempts"`

	// RequestTimeout is what the service's own time-out is set to on Cloud Run. 0: 60 s; where deliveries wait for the end, the
	// attempt deadline. Job is what the jobs are set to. Both are only checked (R13, R14).
	RequestTimeout time.Duration `env:"REQUEST_TIMEOUT" json:"request_timeout"`
	Job            JobConfig     `envPrefix:"JOB_" json:"job"`

	// OTLPEndpoint is where metrics and traces go by OTLP over HTTP, the base URL. "": nowhere.
	OTLPEndpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" json:"otlp_endpoint,omitempty"`
	// LogProject names the project of trace links in the log. "": Project.
	LogProject string `env:"LOG_PROJECT" json:"log_project,omitempty"`
	// Service is K_SERVICE, which Cloud Run sets.
	Service string `env:"K_SERVICE" json:"k_service,omitempty"`
}

// JobConfig is what the Scheduler jobs behind the proxy are set to; the proxy cannot see it, and checks its own settings against it.
type JobConfig struct {
	// AttemptDeadline. 0: 3 min, Cloud Scheduler's default.
	AttemptDeadline time.Duration `env:"ATTEMPT_DEADLINE" json:"attempt_deadline"`
	// RetryCount nil: 5, what this toolkit deploys (Cloud Scheduler's default is 0: no retry).
	RetryCount *int `env:"RETRY_COUNT" json:"retry_count"`
	// MinBackoff 0: 5 s. MaxBackoff 0: 1 h. MaxDoublings nil: 5. MaxRetryDuration 0: no limit.
	MinBackoff       time.Duration `env:"MIN_BACKOFF" json:"min_backoff"`
	MaxBackoff       time.Duration `env:"MAX_BACKOFF" json:"max_backoff"`
	MaxDoublings     *int          `env:"MAX_DOUBLINGS" json:"max_doublings"`
	MaxRetryDuration time.Duration `env:"MAX_RETRY_DURATION" json:"max_retry_duration"`
}

// FromEnv reads the configuration from environment variables, given as in os.Environ. It is not yet validated.
func FromEnv(environ []string) (Config, error) {
	var c Config
	if err := env.ParseWithOptions(&c, env.Options{Environment: env.ToMap(environ)}); err != nil {
		return Config{}, fmt.Errorf("read the environment: %w", err)
	}
	return c, nil
}

// WithDefaults returns the configuration with every default filled in.
func (c Config) WithDefaults() Config {
	or(&c.Port, "8080")
	or(&c.Listen, ":"+c.Port)
	or(&c.Database, "(default)")
	or(&c.Collection, "runonce")
	or(&c.Scope, "target")
	or(&c.Forced, "own")
	or(&c.ForcedSkew, time.Minute)
	or(&c.MaxFuture, 366*24*time.Hour)
	or(&c.OnPermanent, "fail")
	or(&c.Lease, 30*time.Second)
	or(&c.Retention, 48*time.Hour)
	c.Job = c.Job.withDefaults()
	or(&c.CompleteOn, onStarted)
	if c.CompleteOn == onSucceeded {
		or(&c.RequestTimeout, c.Job.AttemptDeadline)
		or(&c.HandlerTimeout, c.RequestTimeout-10*time.Second)
	}
	or(&c.MaxStarts, 3)
	or(&c.PollInterval, 2*time.Second)
	or(&c.SweepLimit, 100)
	or(&c.SweepAttempts, 20)
	or(&c.HandlerTimeout, 30*time.Second)
	or(&c.StartTimeout, 10*time.Second)
	or(&c.ReadTimeout, 10*time.Second)
	or(&c.Grace, 2*time.Second)
	or(&c.DrainTimeout, 7*time.Second)
	or(&c.MaxConcurrent, 80)
	or(&c.MaxBody, 128<<10)
	or(&c.RequestTimeout, time.Minute)
	or(&c.LogProject, c.Project)
	c.Auth = c.Auth.withDefaults()
	or(&c.MaxPast, max(c.Retention-c.Job.window(), time.Minute))
	return c
}

func (j JobConfig) withDefaults() JobConfig {
	five := 5
	or(&j.AttemptDeadline, 3*time.Minute)
	or(&j.RetryCount, &five)
	or(&j.MinBackoff, 5*time.Second)
	or(&j.MaxBackoff, time.Hour)
	or(&j.MaxDoublings, &five)
	return j
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
