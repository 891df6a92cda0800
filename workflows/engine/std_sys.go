package engine

import (
	"math"
	"slices"
	"time"
)

var stdSys = []function{
	std("sys.get_env", sysGetEnv),
	std("sys.log", sysLog),
	std("sys.now", func(c *call) (any, error) { return toSeconds(c.f.x.cfg.Clock.Now()), nil }),
	std("sys.sleep", func(c *call) (any, error) {
		seconds, err := c.number(0)
		if err != nil {
			return nil, err
		}
		if seconds < 0 || math.IsNaN(seconds) || seconds > longestSleep.Seconds() {
			return nil, faultf(ValueError, "sys.sleep: seconds must be from 0 to %g, not %g", longestSleep.Seconds(), seconds)
		}
		return nil, sleep(c.ctx, c.f.x.cfg.Clock, time.Duration(seconds*float64(time.Second)))
	}),
	std("sys.sleep_until", func(c *call) (any, error) {
		text, err := c.str(0)
		if err != nil {
			return nil, err
		}
		until, err := parseTime(text)
		if err != nil {
			return nil, err
		}
		d := until.Sub(c.f.x.cfg.Clock.Now())
		if d > longestSleep {
			return nil, faultf(ValueError, "sys.sleep_until: %s is more than a year away", text)
		}
		return nil, sleep(c.ctx, c.f.x.cfg.Clock, d)
	}),
}

// longestSleep is an execution's longest life.
const longestSleep = 365 * 24 * time.Hour

const executionIDName = "GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID"

func sysGetEnv(c *call) (any, error) {
	name, err := c.str(0)
	if err != nil {
		return nil, err
	}
	if value, ok := c.f.x.cfg.Env[name]; ok {
		return value, nil
	}
	if name == executionIDName {
		return c.f.x.cfg.ExecutionID, nil
	}
	if c.has(1) {
		return c.str(1)
	}
	if c.f.x.cfg.Semantics.MissingEnv == EnvKeyError {
		return nil, faultf(KeyError, "environment variable %q is not set", name)
	}
	return nil, nil
}

var severities = []string{"DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"}

// sysLog takes exactly one of data, text and json.
func sysLog(c *call) (any, error) {
	severity, err := c.strOr(1, "DEFAULT")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(severities, severity) {
		return nil, faultf(ValueError, "sys.log: unknown severity %q", severity)
	}
	given := 0
	for _, i := range []int{0, 2, 3} {
		if c.has(i) {
			given++
		}
	}
	if given > 1 {
		return nil, faultf(ValueError, "sys.log: data, text and json exclude one another")
	}
	if c.has(3) {
		if _, err := c.mapping(3); err != nil {
			return nil, err
		}
	}
	at := c.f.here()
	entry := LogEntry{Time: c.f.x.cfg.Clock.Now(), Severity: severity, Step: at.Step, Routine: at.Routine}
	if err := fillEntry(&entry, c); err != nil {
		return nil, err
	}
	if c.f.x.cfg.Log != nil {
		c.f.x.cfg.Log(entry)
	}
	return nil, nil
}

// fillEntry writes text as text, a map as JSON, and everything else as its JSON text.
func fillEntry(entry *LogEntry, c *call) error {
	value := c.args[0]
	for _, i := range []int{2, 3} {
		if c.has(i) {
			value = c.args[i]
		}
	}
	if _, err := encodeJSON(value); err != nil {
		return err
	}
	switch v := value.(type) {
	case string:
		entry.Text = v
	case map[string]any:
		if c.has(2) {
			entry.Text = jsonText(v)
			return nil
		}
		entry.JSON = v
	default:
		entry.Text = jsonText(v)
	}
	return nil
}
