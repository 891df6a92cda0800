package proxy

import (
	"time"

	"example.com/runonce/tokens"
)

func schedulerPresent(r request) bool {
	return len(r.header.Values(tokens.JobNameHeader)) > 0 || len(r.header.Values(tokens.ScheduleTimeHeader)) > 0
}

// readScheduler reads a delivery of Cloud Scheduler: the run is the job's name and the slot (R1, R2, R3). A target of type App Engine sends the
// same fields (R6); its X-AppEngine-* fields are believed by nobody, since outside App Engine anyone can send them.
func readScheduler(cfg Config, r request) (delivery, error) {
	job, at, err := tokens.FromScheduler(r.header)
	if err != nil {
		return delivery{}, badRequest("missing-header", "%s; a target of type HTTP or App Engine sends both, and only a unix-cron schedule is sure to send the time", err).because(err)
	}
	if cfg.Round == "minute" {
		if at, err = tokens.RoundToMinute(at); err != nil {
			return delivery{}, badRequest("bad-time", "%s: %s", tokens.ScheduleTimeHeader, err)
		}
	}
	slot, err := tokens.ParseTime(at)
	if err != nil {
		return delivery{}, badRequest("bad-time", "%s: %s", tokens.ScheduleTimeHeader, err)
	}
	if err := plausible(cfg, slot, r.now); err != nil {
		return delivery{}, err
	}
	scope, err := scopeOf(cfg, r)
	if err != nil {
		return delivery{}, err
	}
	d := delivery{source: sourceScheduler, name: job, slot: slot, body: r.body}
	future, err := tokens.IsForced(at, r.now, cfg.ForcedSkew)
	if err != nil {
		return delivery{}, badRequest("bad-time", "%s: %s", tokens.ScheduleTimeHeader, err)
	}
	name := tokens.RunID
	if future {
		d.ahead = slot.Sub(r.now)
		if d.forced = cfg.Forced == "own"; d.forced {
			name = tokens.ForcedRunID
		}
	}
	d.runID, err = name(job, at, scope)
	if err != nil {
		return delivery{}, badRequest("bad-name", "%s", err)
	}
	return d, nil
}

// plausible refuses a slot that no job would still deliver, or not yet (threats A7, A8).
func plausible(cfg Config, slot, now time.Time) error {
	switch {
	case now.Sub(slot) > cfg.MaxPast:
		return badRequest("slot-too-old", "the slot %s is more than %v ago, and its record may be gone; start it on purpose with runs trigger", slot.Format(time.RFC3339), cfg.MaxPast)
	case slot.Sub(now) > cfg.MaxFuture:
		return badRequest("slot-too-far", "the slot %s is more than %v ahead; no job announces such a run", slot.Format(time.RFC3339), cfg.MaxFuture)
	}
	return nil
}
