package schedulertest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that zones do not depend on the machine

	"github.com/robfig/cron/v3"
)

var pacific = mustZone("America/Los_Angeles")

func mustZone(name string) *time.Location {
	l, err := time.LoadLocation(name)
	if err != nil {
		panic("schedulertest: " + err.Error())
	}
	return l
}

// schedule tells the slots of a job. timed: they are sure to be sent as schedule time.
type schedule struct {
	cron  cron.Schedule
	timed bool
}

var (
	unixCron = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	english  = regexp.MustCompile(`^every (\d{1,5}) (minutes?|mins?|hours?)$`)
)

func parseSchedule(text, zone string) (schedule, error) {
	if zone == "" || strings.EqualFold(zone, "utc") {
		zone = "UTC"
	}
	loc, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return schedule{}, invalid("time zone %q is not in the tz database", zone)
	}
	if m := english.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most five digits
		unit := time.Minute
		if m[2][0] == 'h' {
			unit = time.Hour
		}
		if n == 0 {
			return schedule{}, invalid("schedule %q never runs", text)
		}
		return schedule{cron: every(time.Duration(n) * unit)}, nil
	}
	if strings.Contains(text, "=") { // the library would read a zone before the fields
		return schedule{}, invalid("schedule %q is malformed", text)
	}
	c, err := unixCron.Parse(text)
	if err != nil {
		return schedule{}, invalid("schedule %q is malformed: %v; of English schedules only \"every N minutes\" and \"every N hours\" are imitated", text, err)
	}
	spec, ok := c.(*cron.SpecSchedule)
	if !ok {
		return schedule{}, invalid("schedule %q is malformed", text)
	}
	spec.Location = loc
	return schedule{cron: spec, timed: true}, nil
}

// next is the first slot after t, zero if there is none within five years.
func (s schedule) next(t time.Time) time.Time { return s.cron.Next(t).UTC() }

// every has slots at whole multiples of its length since the zero time, like minutes on a dial.
type every time.Duration

func (e every) Next(t time.Time) time.Time {
	return t.Truncate(time.Duration(e)).Add(time.Duration(e))
}

// Error is an error of the API: what a client gets as status and body.
type Error struct {
	HTTP    int    // HTTP status
	Status  string // name of the google.rpc.Code
	Message string
}

func (e *Error) Error() string { return e.Status + ": " + e.Message }

func invalid(format string, args ...any) error {
	return &Error{400, "INVALID_ARGUMENT", fmt.Sprintf(format, args...)}
}
