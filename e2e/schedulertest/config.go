package schedulertest

import (
	"context"
	"net/http"
	"time"
)

// Config of a Server. The zero value works.
type Config struct {
	// Clock is what schedules, back-offs and deadlines go by. nil: the real one.
	Clock Clock
	// Transport sends the requests. nil: one of its own that uses no proxy. HandlerTransport calls a handler in-process.
	Transport http.RoundTripper
	// IDToken makes the token of an attempt for a job with OIDC: a fresh one each time. nil: such jobs are refused.
	IDToken func(ctx context.Context, email, audience string) (string, error)
	// AccessToken makes the token of an attempt for a job with OAuth. nil: such jobs are refused.
	AccessToken func(ctx context.Context, email, scope string) (string, error)
	// AppEngine is the address that stands for the project's App Engine application. "": such jobs are refused.
	AppEngine string
	// Project and Location are those of a job whose name is short. "": runonce-test and europe-west1.
	Project, Location string

	// Render writes a slot as X-CloudScheduler-ScheduleTime; attempt counts from 1. nil: UTC.
	Render func(slot time.Time, attempt int) string
	// LowerCase sends header names in lower case, as HTTP/2 does; else they are as documented.
	LowerCase bool
	// Duplicates is how many more copies of an attempt are sent, all at once; the first one's answer counts. nil: none.
	Duplicates func(job string, slot time.Time, attempt int) int
	// ForcedWithoutTime leaves the schedule time out of forced runs.
	ForcedWithoutTime bool
	// CancelAtDeadline cancels the request of an attempt whose deadline has passed; else it goes on at the target.
	CancelAtDeadline bool
	// StopAtNextSlot gives up retries that would start at the next slot or later.
	StopAtNextSlot bool
	// SkipMissed drops all slots that passed while a run was going on; else the last of them is delivered late.
	SkipMissed bool
	// Short accepts attempt deadlines below the service's 15 seconds, for tests on the real clock.
	Short bool

	// OnAttempt is told of every attempt as it ends, also of late answers. It must be safe for concurrent use.
	OnAttempt func(Attempt)
}

// UTC renders a slot as documented: 2026-10-16T12:00:00Z.
func UTC(slot time.Time, _ int) string { return slot.UTC().Format(time.RFC3339Nano) }

// Pacific renders a slot with the offset that is seen most: 2026-10-16T05:00:00-07:00.
func Pacific(slot time.Time, _ int) string { return slot.In(pacific).Format(time.RFC3339Nano) }

// Micros renders a slot as the service does since October 2025, with microseconds of its own and the Pacific offset:
// 2026-10-16T05:00:00.510855-07:00. They are the same for all attempts of a slot.
func Micros(slot time.Time, _ int) string {
	fraction := time.Duration(1+uint64(slot.UnixMicro())*2654435761%999_999) * time.Microsecond
	return slot.Truncate(time.Second).Add(fraction).In(pacific).Format("2006-01-02T15:04:05.000000Z07:00")
}

// HandlerTransport answers requests by calling h, without a network, so that tests can run in a synctest bubble.
func HandlerTransport(h http.Handler) http.RoundTripper { return handlerTransport{h} }
