package engine

import (
	"math"
	"time"
	_ "time/tzdata" // time.format takes any zone on any machine
)

var stdTime = []function{
	std("time.format", func(c *call) (any, error) {
		seconds, err := c.number(0)
		if err != nil {
			return nil, err
		}
		name, err := c.strOr(1, "UTC")
		if err != nil {
			return nil, err
		}
		zone, err := time.LoadLocation(name)
		if err != nil || name == "Local" {
			return nil, faultf(ValueError, "time.format: unknown time zone %q", name)
		}
		if math.IsNaN(seconds) || math.Abs(seconds) > 253402300799 { // the year 9999
			return nil, faultf(ValueError, "time.format: %v seconds is out of range", seconds)
		}
		return fromSeconds(seconds).In(zone).Format(time.RFC3339Nano), nil
	}),
	std("time.parse", func(c *call) (any, error) {
		text, err := c.str(0)
		if err != nil {
			return nil, err
		}
		t, err := parseTime(text)
		if err != nil {
			return nil, err
		}
		return toSeconds(t), nil
	}),
}

// toSeconds is the language's time: seconds since 1970 as a double, with microseconds, which is what a double holds today.
func toSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func fromSeconds(s float64) time.Time { return time.UnixMicro(int64(math.Round(s * 1e6))).UTC() }

var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05Z07:00", "2006-01-02"}

// parseTime reads ISO 8601; without a zone it is UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, faultf(ValueError, "cannot parse time %q", text)
}
