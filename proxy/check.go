package proxy

import (
	"errors"
	"fmt"
	"time"
)

// Validate reports everything that is wrong with the configuration, defaults filled in, joined into one error; and what is
// allowed but worth a look. It is called by New and by the -check flag. The order of times is R14's.
func (c Config) Validate() (warnings []string, err error) {
	c = c.WithDefaults()
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if len(c.Targets) == 0 {
		bad("TARGETS is empty: list what may be started, e.g. projects/P/locations/L/workflows/W")
	}
	rules, err := parseRules(c.Targets)
	if err != nil {
		bad("TARGETS: %w", err)
	} else if _, err := parseAliases(c.Aliases, rules); err != nil {
		bad("ALIASES: %w", err)
	}
	oneOf := func(name, value string, options ...string) {
		for _, o := range options {
			if o == value {
				return
			}
		}
		bad("%s is %q, want one of %q", name, value, options)
	}
	oneOf("SCOPE", c.Scope, "target", "job", "none")
	oneOf("ROUND", c.Round, "", "minute")
	oneOf("FORCED", c.Forced, "own", "next")
	oneOf("ON_PERMANENT", c.OnPermanent, "fail", "ack")
	oneOf("COMPLETE_ON", c.CompleteOn, onStarted, onSucceeded)
	if c.MaxConcurrent < 1 || c.MaxBody < 1 || c.MaxStarts < 1 || c.SweepLimit < 1 || c.SweepAttempts < 1 {
		bad("MAX_CONCURRENT, MAX_BODY, MAX_STARTS, SWEEP_LIMIT and SWEEP_ATTEMPTS must be at least 1")
	}
	wrong = append(wrong, c.Auth.check(c.Service)...)
	warnings, order := c.checkOrder()
	return warnings, errors.Join(append(wrong, order...)...)
}

// checkOrder holds the times against each other: handler < Cloud Run ≤ attempt deadline; lease < what the job's back-offs add up to
// < retention. A lease needs not cover the handler's time-out, because it is renewed (R13).
func (c Config) checkOrder() (warnings []string, wrong []error) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	for name, d := range map[string]time.Duration{"FORCED_SKEW": c.ForcedSkew, "MAX_PAST": c.MaxPast, "MAX_FUTURE": c.MaxFuture,
		"POLL_INTERVAL": c.PollInterval, "START_TIMEOUT": c.StartTimeout, "READ_TIMEOUT": c.ReadTimeout, "GRACE": c.Grace, "DRAIN_TIMEOUT": c.DrainTimeout, "HANDLER_TIMEOUT": c.HandlerTimeout} {
		if d < 0 {
			bad("%s is %v, want more than 0", name, d)
		}
	}
	if c.HandlerTimeout >= c.RequestTimeout {
		bad("HANDLER_TIMEOUT (%v) must be shorter than REQUEST_TIMEOUT (%v): Cloud Run answers 504 while the handler still runs", c.HandlerTimeout, c.RequestTimeout)
	}
	if c.RequestTimeout > c.Job.AttemptDeadline {
		bad("REQUEST_TIMEOUT (%v) must not exceed JOB_ATTEMPT_DEADLINE (%v): the Scheduler would give up on a delivery that is still at work", c.RequestTimeout, c.Job.AttemptDeadline)
	}
	if c.DrainTimeout >= 10*time.Second {
		bad("DRAIN_TIMEOUT (%v) must be shorter than 10s, when the platform kills", c.DrainTimeout)
	}
	if c.Lease < time.Second {
		bad("LEASE (%v) must be at least 1s: renewals would not keep up", c.Lease)
	}
	sum := c.Job.backoffs()
	switch {
	case sum == 0:
		warnings = append(warnings, "JOB_RETRY_COUNT and JOB_MAX_RETRY_DURATION are 0: nothing delivers again after a crash; retry the job, or call POST /sweep from a job of its own")
	case c.Lease >= sum:
		bad("LEASE (%v) must be shorter than the %v that the job's back-offs add up to: after a crash right behind the claim every retry would meet the lease, and the run be lost", c.Lease, sum)
	}
	if w := c.Job.window(); c.Retention <= w {
		bad("RETENTION (%v) must be longer than the %v in which a job may still retry", c.Retention, w)
	} else if c.MaxPast > c.Retention {
		bad("MAX_PAST (%v) must not exceed RETENTION (%v): a slot whose record is gone would run again", c.MaxPast, c.Retention)
	}
	if c.MaxPast < c.Job.window() {
		warnings = append(warnings, fmt.Sprintf("MAX_PAST (%v) is shorter than the %v in which a job may still retry", c.MaxPast, c.Job.window()))
	}
	return warnings, wrong
}

// backoffs is the time from the first failed attempt to the start of the last retry, attempts themselves not counted.
// Delays start at the minimum, double MaxDoublings times, then grow by what was reached, up to the maximum (job.proto, RetryConfig).
// Where both limits are set, retries go on until both are reached.
func (j JobConfig) backoffs() time.Duration {
	var sum time.Duration
	delay, step := j.MinBackoff, j.MinBackoff
	for i := range *j.RetryCount {
		sum += min(delay, j.MaxBackoff)
		if i < *j.MaxDoublings {
			delay *= 2
			step = delay
		} else {
			delay += step
		}
		delay = min(delay, j.MaxBackoff) // so that a large count cannot overflow
	}
	return max(sum, j.MaxRetryDuration)
}

// window is how long after the first attempt began a job may still be at work on one run.
func (j JobConfig) window() time.Duration {
	return j.backoffs() + time.Duration(*j.RetryCount+1)*j.AttemptDeadline
}
