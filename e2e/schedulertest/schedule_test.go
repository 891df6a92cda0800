package schedulertest

import (
	"testing"
	"time"
)

// R3: slots are instants, whatever the zone does.
func TestSchedule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schedule, zone, from string
		want                       []string // UTC
	}{
		{"hourly", "0 * * * *", "", "2026-10-16T12:00:00Z", []string{"2026-10-16T13:00:00Z", "2026-10-16T14:00:00Z"}},
		{"every 15", "*/15 * * * *", "utc", "2026-10-16T12:59:59.9Z", []string{"2026-10-16T13:00:00Z", "2026-10-16T13:15:00Z"}},
		{"a zone", "0 9 * * *", "Europe/Berlin", "2026-10-16T12:00:00Z", []string{"2026-10-17T07:00:00Z"}},
		{"weekdays", "0 9 * * MON-FRI", "", "2026-10-16T12:00:00Z", []string{"2026-10-19T09:00:00Z"}},
		{"day of month or of week", "0 0 1 * 0", "", "2026-10-16T12:00:00Z", []string{"2026-10-18T00:00:00Z", "2026-10-25T00:00:00Z", "2026-11-01T00:00:00Z"}},
		{"a leap day", "0 0 29 2 *", "", "2026-10-16T12:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"autumn: the hour that comes twice", "30 1 * * *", "America/Los_Angeles", "2026-10-31T12:00:00Z", []string{"2026-11-01T08:30:00Z", "2026-11-01T09:30:00Z", "2026-11-02T09:30:00Z"}},
		{"spring: the hour that is missing", "30 2 * * *", "America/Los_Angeles", "2026-03-07T12:00:00Z", []string{"2026-03-09T09:30:00Z"}},
		{"English minutes", "every 5 minutes", "", "2026-10-16T12:01:00Z", []string{"2026-10-16T12:05:00Z", "2026-10-16T12:10:00Z"}},
		{"English hours", "every 2 hours", "", "2026-10-16T12:00:00Z", []string{"2026-10-16T14:00:00Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := parseSchedule(tt.schedule, tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339Nano, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				if at = s.next(at); at.Format(time.RFC3339Nano) != want {
					t.Fatalf("slot %d is %s, want %s", i+1, at.Format(time.RFC3339Nano), want)
				}
			}
			if s.timed != (tt.schedule[0] != 'e') {
				t.Errorf("timed: %t", s.timed)
			}
		})
	}
	never, err := parseSchedule("0 0 30 2 *", "")
	if err != nil || !never.next(noon).IsZero() {
		t.Errorf("30 February: %v, %v", never.next(noon), err)
	}
}

// R3: how a slot is written; the same instant up to the fraction that the service adds.
func TestRender(t *testing.T) {
	t.Parallel()
	if got, want := UTC(noon, 1), "2026-10-16T12:00:00Z"; got != want {
		t.Errorf("UTC: %s, want %s", got, want)
	}
	if got, want := Pacific(noon, 1), "2026-10-16T05:00:00-07:00"; got != want {
		t.Errorf("Pacific: %s, want %s", got, want)
	}
	first, again, other := Micros(noon, 1), Micros(noon, 2), Micros(noon.Add(time.Hour), 1)
	at, err := time.Parse("2006-01-02T15:04:05.000000-07:00", first)
	if fraction := at.Sub(noon); err != nil || first != again || fraction < time.Microsecond || fraction >= time.Second {
		t.Errorf("Micros: %s, then %s, %s after the slot, %v", first, again, fraction, err)
	}
	if first[19:26] == other[19:26] {
		t.Errorf("Micros of two slots: %s and %s", first, other)
	}
}
