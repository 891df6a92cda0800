// Package schedulertest imitates Cloud Scheduler: jobs with HTTP and App Engine targets, unix-cron schedules with time zones,
// deliveries with the real headers, tokens, attempt deadlines, retries, forced runs, duplicates on demand, and as much of the
// REST API as gcloud scheduler jobs and Google's Go client need. It sends real HTTP requests, to loopback targets in tests.
//
// Time is the Clock's: the real one, one moved by hand, or a Virtual, on which days of schedules pass as fast as the target
// answers. Fire and Deliver send one run at once, whatever the schedule says.
//
// Where it differs from the real service, and what is not known about that:
//   - An attempt that outlives its deadline is left running at the target, its answer ignored; that is the case which makes
//     duplicates. The documentation says that the request is cancelled, and Config.CancelAtDeadline does so; on Cloud Run the
//     handler goes on either way.
//   - Whether retries stop at the next slot is told in two ways by the documentation. Here they go on, and of the slots that
//     passed meanwhile the last one is delivered late. Config.StopAtNextSlot and Config.SkipMissed are the other ways.
//   - How the schedule time is written is up to Config.Render; the service has changed it. It is the same for all attempts of
//     a run, unless Render says otherwise. "every N minutes" and "every N hours" are the only English schedules, and carry no
//     schedule time, which is the worst that the service is documented to do.
//   - A forced run has the next slot's time (none with Config.ForcedWithoutTime), is retried like any, and may be made of a
//     paused job, about which the documentation is silent.
//   - An App Engine target is an address that the Config names. Of App Engine's own headers none is sent. An answer of 503 is
//     repeated outside of the retry count, ten times at most, where the real one has no known limit.
//   - A schedule follows robfig/cron: local times that a change of the clock skips are skipped, and Sunday is 0, not 7.
//   - Pub/Sub targets are refused. OAuth tokens are sent, but nobody checks who may act as which account.
//   - Limits of sizes are not checked, but for what a job's fields say. Page tokens are job names.
package schedulertest
