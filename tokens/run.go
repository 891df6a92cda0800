package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// keyVersion is the first part of everything that is hashed into a run id, but for Scope.None. It changes when the
// encoding does, so that old and new ids never meet.
const keyVersion = "runonce-key-v1"

// Scope says what a run's name is unique within (R4). Two jobs of one name that start different workflows must not share a
// run, so the target is part of the key by default; where two jobs of one name start the same target from different
// projects or regions, name those as well. The zero Scope is refused: say what the target is, or say None.
type Scope struct {
	// Target is the full resource name of what the run starts, e.g. projects/p/locations/l/workflows/w.
	Target string
	// Project and Location are those of the job, where the route, a header or a query parameter tells them. Optional.
	Project  string
	Location string
	// None leaves the scope out: RunID is then sha256(JobName + "/" + ScheduleTime), as Google's sample has it, so that a
	// fleet can move over while its records exist. It excludes the fields above.
	None bool
}

func (s Scope) check() error {
	switch {
	case s.None && (s.Target != "" || s.Project != "" || s.Location != ""):
		return errors.New("scope: None excludes Target, Project and Location")
	case !s.None && blank(s.Target):
		return errors.New("scope: Target is empty; name the resource that the run starts, or set None")
	}
	return nil
}

// Kind is the source of a run's name. Parts of different kinds never give the same id.
type Kind string

// The kinds that this package checks. Another kind is allowed (lower-case letters, digits and hyphens); it needs at least
// one part.
const (
	// Scheduler: job name, schedule time. The time is normalised, see CanonicalTime.
	Scheduler Kind = "scheduler"
	// Forced: a manual run of a Cloud Scheduler job (R5): job name, the time it carries, and whatever else tells one manual
	// run from another, if the caller has it.
	Forced Kind = "forced"
	// CloudTasks: queue name, task name (headers X-CloudTasks-QueueName, X-CloudTasks-TaskName).
	CloudTasks Kind = "cloudtasks"
	// PubSub: subscription, message id. A message that was published twice has two ids.
	PubSub Kind = "pubsub"
	// CloudEvent: source, id: together they name an event (CloudEvents 1.0, section "id").
	CloudEvent Kind = "cloudevent"
	// Requested: the caller's own Idempotency-Key, and who the caller is, if keys of several callers must not meet.
	Requested Kind = "idempotency-key"
	// Rerunning: run id, generation. See Rerun.
	Rerunning Kind = "rerun"
)

// parts is how many parts a known kind has at least and, unless zero, at most.
var parts = map[Kind][2]int{
	Scheduler: {2, 2}, Forced: {2, 0}, CloudTasks: {2, 2}, PubSub: {2, 2}, CloudEvent: {2, 2}, Requested: {1, 2}, Rerunning: {2, 2},
}

// Key is what a run is named by: where the name comes from, its parts, and the scope.
type Key struct {
	Kind  Kind
	Parts []string
	Scope Scope
}

// RunID returns the run id of the key: the SHA-256, in hex, of its parts. Each part is written with its length before it
// (a netstring, "5:daily,"), so that no two keys hash the same bytes. An empty part is an error: two deliveries that both
// lack an id must never become one run.
func (k Key) RunID() (string, error) {
	if err := k.Scope.check(); err != nil {
		return "", err
	}
	if !kindPattern.MatchString(string(k.Kind)) {
		return "", fmt.Errorf("key kind %s: want lower-case letters, digits and hyphens", quote(string(k.Kind)))
	}
	n, known := parts[k.Kind]
	if len(k.Parts) < max(n[0], 1) || known && n[1] > 0 && len(k.Parts) > n[1] {
		return "", fmt.Errorf("key of kind %s has %d parts", k.Kind, len(k.Parts))
	}
	for i, p := range k.Parts {
		if blank(p) {
			return "", fmt.Errorf("key of kind %s: part %d is empty", k.Kind, i+1)
		}
	}
	if k.Kind == Scheduler || k.Kind == Forced {
		return scheduled(k)
	}
	return k.hash(k.Parts), nil
}

func scheduled(k Key) (string, error) {
	if err := CheckJobName(k.Parts[0]); err != nil {
		return "", err
	}
	at, err := CanonicalTime(k.Parts[1])
	if err != nil {
		return "", err
	}
	if k.Kind == Scheduler && k.Scope.None {
		return hexSum([]byte(k.Parts[0] + "/" + at)), nil
	}
	return k.hash(append([]string{k.Parts[0], at}, k.Parts[2:]...)), nil
}

func (k Key) hash(parts []string) string {
	head := []string{keyVersion, string(k.Kind), k.Scope.Target, k.Scope.Project, k.Scope.Location}
	return hexSum(netstrings(append(head, parts...)...))
}

// RunID returns the id of the run that Cloud Scheduler announces by its two headers, 64 hex digits. The time is parsed
// first, so equal instants written differently are one run (R3). Errors are the caller's: answer 400 and claim nothing.
func RunID(job, scheduleTime string, s Scope) (string, error) {
	return Key{Kind: Scheduler, Parts: []string{job, scheduleTime}, Scope: s}.RunID()
}

// ForcedRunID returns the id of a manual run, which carries the time of the next scheduled one: a key of its own, so that
// the coming run is not swallowed (R5). Deliveries of a manual run keep its time, and so do two manual runs before the same
// slot: those are one run, unless a Key of kind Forced has a further part that tells them apart.
func ForcedRunID(job, scheduleTime string, s Scope) (string, error) {
	return Key{Kind: Forced, Parts: []string{job, scheduleTime}, Scope: s}.RunID()
}

// IsForced reports whether a delivery that arrives at now is a manual run: its time lies in the future by more than skew,
// the largest difference of clocks that is to be expected. Within skew it counts as the scheduled run, because a key that
// changed between two attempts of a scheduled run would run it twice. A manual run whose retries go on past the slot is
// taken for the slot's run from then on; the slot's own deliveries are then its duplicates, so there are still two runs.
func IsForced(scheduleTime string, now time.Time, skew time.Duration) (bool, error) {
	t, err := ParseTime(scheduleTime)
	if err != nil {
		return false, err
	}
	return t.Sub(now) > skew, nil
}

// Rerun returns the id under which a finished run is done again on purpose: generation 1 is the first repetition. Retries
// of that repetition keep it.
func Rerun(runID string, generation int) (string, error) {
	if generation < 1 {
		return "", fmt.Errorf("rerun of %s: generation %d, want 1 or more", quote(runID), generation)
	}
	return Key{Kind: Rerunning, Parts: []string{runID, strconv.Itoa(generation)}, Scope: Scope{None: true}}.RunID()
}

var (
	jobPattern      = regexp.MustCompile(`^[A-Za-z0-9_-]{1,500}$`)
	resourcePattern = regexp.MustCompile(`^projects/([a-z0-9.:-]{1,100})/locations/([a-z0-9-]{1,100})/jobs/([A-Za-z0-9_-]{1,500})$`)
	timePattern     = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$`)
	kindPattern     = regexp.MustCompile(`^[a-z0-9-]{1,50}$`)
)

// CheckJobName returns an error unless name is a Cloud Scheduler job id: letters, digits, hyphens and underscores, at most
// 500 (job.proto). It cannot hold a slash.
func CheckJobName(name string) error {
	if !jobPattern.MatchString(name) {
		return fmt.Errorf("job name %s: want 1 to 500 letters, digits, hyphens or underscores", quote(name))
	}
	return nil
}

// SplitJobName takes a full resource name apart, projects/P/locations/L/jobs/J. Cloud Scheduler sends only J; relays have
// been seen to send all of it. RunID refuses it: whoever accepts such a name calls this first, and has the project and
// location for the Scope.
func SplitJobName(full string) (project, location, job string, err error) {
	m := resourcePattern.FindStringSubmatch(full)
	if m == nil {
		return "", "", "", fmt.Errorf("job name %s: want projects/P/locations/L/jobs/J", quote(full))
	}
	return m[1], m[2], m[3], nil
}

// ParseTime reads an X-CloudScheduler-ScheduleTime: RFC 3339 with Z or an offset, with or without a fraction. It is
// strict where reading on would merge two instants or guess: at most nine digits of a second, no comma, no leap second.
func ParseTime(s string) (time.Time, error) {
	m := timePattern.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, fmt.Errorf("schedule time %s: want RFC 3339, like 2026-10-16T12:00:00Z", quote(s))
	}
	if len(m[1]) > len(".123456789") {
		return time.Time{}, fmt.Errorf("schedule time %s: more than nine digits of a second", quote(s))
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("schedule time %s: want RFC 3339 and a date that exists", quote(s))
	}
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, fmt.Errorf("schedule time %s: the year in UTC is out of range", quote(s))
	}
	return t, nil
}

// CanonicalTime writes a schedule time as it goes into a run id: UTC, RFC 3339, with the fraction it has and no zeros after
// it. Nothing is rounded.
func CanonicalTime(s string) (string, error) {
	t, err := ParseTime(s)
	if err != nil {
		return "", err
	}
	return t.Format(time.RFC3339Nano), nil
}

// RoundToMinute writes a schedule time rounded to the nearest minute, for RunID. It is for a job whose deliveries were seen
// to differ in the fraction, and for no other: rounding down would make 16:49:59.99 the run before.
func RoundToMinute(s string) (string, error) {
	t, err := ParseTime(s)
	if err != nil {
		return "", err
	}
	return t.Round(time.Minute).Format(time.RFC3339Nano), nil
}

// netstrings writes each part with its length in bytes before it, so that no two lists give one string.
func netstrings(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(b, ':')
		b = append(b, p...)
		b = append(b, ',')
	}
	return b
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// quote makes foreign text fit for an error message: quoted, and cut.
func quote(s string) string {
	if len(s) > 80 {
		return strconv.QuoteToASCII(s[:80]) + "..."
	}
	return strconv.QuoteToASCII(s)
}
