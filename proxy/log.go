package proxy

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"example.com/runonce/functions/guard"
)

// NewLogger writes JSON lines in the fields that Cloud Logging reads. project is for trace links; "" leaves them out.
func NewLogger(w io.Writer, project string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.MessageKey:
			a.Key = "message"
		case slog.LevelKey:
			a.Key = "severity"
			if a.Value.Any() == slog.LevelWarn {
				a.Value = slog.StringValue("WARNING")
			}
		case traceKey:
			if project == "" {
				return slog.Attr{}
			}
			a.Value = slog.StringValue("projects/" + project + "/traces/" + a.Value.String())
		}
		return a
	}}))
}

const traceKey = "logging.googleapis.com/trace"

var (
	traceparent  = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})`)
	cloudContext = regexp.MustCompile(`^([0-9a-f]{32})/?([0-9]*)(?:;o=([01]))?$`)
)

// trace returns the attributes that tie a line to its request's trace.
func trace(h http.Header) []any {
	if m := traceparent.FindStringSubmatch(h.Get("traceparent")); m != nil {
		return []any{traceKey, m[1], "logging.googleapis.com/spanId", m[2], "logging.googleapis.com/trace_sampled", strings.HasSuffix(m[3], "1")}
	}
	if m := cloudContext.FindStringSubmatch(h.Get("X-Cloud-Trace-Context")); m != nil {
		return []any{traceKey, m[1], "logging.googleapis.com/trace_sampled", m[3] == "1"}
	}
	return nil
}

// levelOf an answer: a refused duplicate is the proxy at work, a caller's mistake worth a look, the rest an error.
func levelOf(status int) slog.Level {
	switch {
	case status >= 500:
		return slog.LevelError
	case status == http.StatusConflict || status < 400:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// verdictOf a delivery, for log and metrics.
func verdictOf(a *answer, err error) string {
	switch {
	case errors.Is(err, guard.ErrFailed):
		return "failed"
	case err != nil:
		return problemOf(err).Code
	case a.replayed():
		return "replayed"
	case a.result.Found:
		return "adopted"
	}
	return "started"
}

// logDelivery writes one line for each delivery. Tokens, bodies and arguments never go into it.
func (s *Server) logDelivery(r *http.Request, a *answer, verdict string, status int, took time.Duration, err error) {
	level := slog.LevelInfo
	if err != nil {
		level = levelOf(status)
	}
	d := a.delivery
	attrs := append(trace(r.Header), "verdict", verdict, "status", status, "took", took.String(), "target", a.target, "caller", a.caller,
		slog.Group("logging.googleapis.com/labels", "run_id", d.runID, "job", d.name, "source", d.source, "attempt_id", a.result.AttemptID))
	if !d.slot.IsZero() {
		attrs = append(attrs, "slot", d.slot)
	}
	if d.ahead > 0 {
		attrs = append(attrs, "ahead", d.ahead.String(), "forced", d.forced)
		s.log.WarnContext(r.Context(), "a slot was claimed before its time", append(trace(r.Header), "run_id", d.runID, "job", d.name, "ahead", d.ahead.String(), "caller", a.caller)...)
	}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	s.log.Log(r.Context(), level, "delivery", attrs...)
}
