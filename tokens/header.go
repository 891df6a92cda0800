package tokens

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Header is the field that carries a token (IETF draft "The Idempotency-Key HTTP Header Field").
const Header = "Idempotency-Key"

// The fields by which Cloud Scheduler names a delivery.
const (
	JobNameHeader      = "X-CloudScheduler-JobName"
	ScheduleTimeHeader = "X-CloudScheduler-ScheduleTime"
)

// ErrNoToken: there is no token, or it is empty.
var ErrNoToken = errors.New("no token")

// FromHeader returns the token of a request. The value may be bare, as most clients send it, or a quoted string as the
// draft has it (RFC 8941, section 3.3.3); both give the same token. There must be exactly one value of 1 to MaxLen visible
// ASCII characters; a bare one has no comma, which is how two values are joined, and no quote. Answer an error with 400;
// errors.Is(err, ErrNoToken) tells a missing one.
func FromHeader(h http.Header) (string, error) {
	v, err := single(h, Header)
	if err != nil {
		return "", err
	}
	if v == "" {
		return "", fmt.Errorf("%w: the header %s is missing or empty", ErrNoToken, Header)
	}
	if strings.HasPrefix(v, `"`) {
		if v, err = unquote(v); err != nil {
			return "", err
		}
	} else if strings.ContainsAny(v, `,"`) {
		return "", fmt.Errorf("%s %s: a comma or a quote in a bare value; send one value, quoted", Header, quote(v))
	}
	if err := Check(v); err != nil {
		return "", err
	}
	return v, nil
}

// SetHeader sets the token, replacing what is there. It is written bare, as workflows and most services have it, and
// quoted only where it holds a comma or a quote; FromHeader gives back the same token.
func SetHeader(h http.Header, token string) {
	for k := range h {
		if strings.EqualFold(k, Header) {
			delete(h, k)
		}
	}
	if strings.ContainsAny(token, `,"`) {
		token = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(token) + `"`
	}
	h.Set(Header, token)
}

// FromScheduler returns the two fields by which Cloud Scheduler names a delivery, whatever their case (R1). One that is
// missing, empty or there twice is an error that says which (R2); RunID checks their form.
func FromScheduler(h http.Header) (job, scheduleTime string, err error) {
	if job, err = single(h, JobNameHeader); err != nil {
		return "", "", err
	}
	if scheduleTime, err = single(h, ScheduleTimeHeader); err != nil {
		return "", "", err
	}
	switch {
	case job == "" && scheduleTime == "":
		return "", "", errors.New("the headers " + JobNameHeader + " and " + ScheduleTimeHeader + " are missing; is the caller Cloud Scheduler?")
	case job == "":
		return "", "", errors.New("the header " + JobNameHeader + " is missing")
	case scheduleTime == "":
		return "", "", errors.New("the header " + ScheduleTimeHeader + " is missing; only a unix-cron schedule (*/5 * * * *) is sure to send it, " +
			"\"every 5 minutes\" is not, and a manual run may lack it")
	}
	return job, scheduleTime, nil
}

// single returns the one value of a field, "" if it is not there.
func single(h http.Header, name string) (string, error) {
	var values []string
	for k, v := range h {
		if strings.EqualFold(k, name) {
			values = append(values, v...)
		}
	}
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return strings.Trim(values[0], " \t"), nil
	}
	return "", fmt.Errorf("the header %s is there %d times, want once", name, len(values))
}

// unquote reads an RFC 8941 string: in quotes, a backslash only before a quote or a backslash, and nothing after it.
func unquote(s string) (string, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			if i != len(s)-1 {
				return "", fmt.Errorf("%s %s: text after the quoted string", Header, quote(s))
			}
			return b.String(), nil
		case '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", fmt.Errorf(`%s %s: a backslash that escapes nothing`, Header, quote(s))
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("%s %s: the quoted string does not end", Header, quote(s))
}
