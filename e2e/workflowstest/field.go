package workflowstest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wrongOp is the error of a comparison that the field does not take.
func wrongOp(r restriction) error {
	return invalid("filter", "%s does not take %s", strings.Join(r.path, "."), r.op)
}

func wrongValue(r restriction, want string) error {
	return invalid("filter", "%s: %q is no %s", strings.Join(r.path, "."), r.value, want)
}

// holds says whether an order of two values is what the operator asks for. For a single value, : means =.
func holds(order int, op string) bool {
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "!=":
		return order != 0
	}
	return order == 0
}

// textField compares as = and != do.
func textField[T any](get func(T) string) field[T] {
	return func(r restriction) (func(T) bool, error) {
		switch {
		case r.op == ":" && r.star:
			return func(x T) bool { return get(x) != "" }, nil
		case r.op == "=" || r.op == ":" || r.op == "!=":
			return func(x T) bool { return (get(x) == r.value) == (r.op != "!=") }, nil
		}
		return nil, wrongOp(r)
	}
}

// wordField is a textField whose values are known.
func wordField[T any](get func(T) string, words ...string) field[T] {
	return func(r restriction) (func(T) bool, error) {
		if !r.star && !slices.Contains(words, r.value) {
			return nil, invalid("filter", "%s: %q is none of %v", r.path[0], r.value, words)
		}
		return textField(get)(r)
	}
}

// timeField compares with an RFC 3339 time or a date, in UTC. A time that is not set yet matches nothing.
func timeField[T any](get func(T) time.Time) field[T] {
	return func(r restriction) (func(T) bool, error) {
		if r.op == ":" && r.star {
			return func(x T) bool { return !get(x).IsZero() }, nil
		}
		at, err := timeOf(r.value)
		if err != nil {
			return nil, wrongValue(r, "RFC 3339 time or date")
		}
		return func(x T) bool { return !get(x).IsZero() && holds(get(x).Compare(at), r.op) }, nil
	}
}

func timeOf(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if at, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	return at, err
}

// durationField compares with seconds, "2.5s" or "2.5". A duration below zero is not set yet and matches nothing.
func durationField[T any](get func(T) time.Duration) field[T] {
	return func(r restriction) (func(T) bool, error) {
		seconds, err := strconv.ParseFloat(strings.TrimSuffix(r.value, "s"), 64)
		if err != nil {
			return nil, wrongValue(r, "duration in seconds")
		}
		want := time.Duration(seconds * float64(time.Second))
		return func(x T) bool { return get(x) >= 0 && holds(cmp.Compare(get(x), want), r.op) }, nil
	}
}

func numberField[T any](get func(T) int64) field[T] {
	return func(r restriction) (func(T) bool, error) {
		want, err := strconv.ParseInt(r.value, 10, 64)
		if err != nil {
			return nil, wrongValue(r, "whole number")
		}
		return func(x T) bool { return holds(cmp.Compare(get(x), want), r.op) }, nil
	}
}

func boolField[T any](get func(T) bool) field[T] {
	return wordField(func(x T) string { return strconv.FormatBool(get(x)) }, "true", "false")
}

// labelField takes every spelling of a label that is plausible: labels.k = "v", labels."k":"v", labels.k:* (is there), and with the
// pair as the value labels:"k=v", labels:"k:v", or labels:k (is there). The field may be called label, too.
func labelField[T any](get func(T) map[string]string) field[T] {
	return func(r restriction) (func(T) bool, error) {
		key, value, present := "", r.value, r.op == ":" && r.star
		switch {
		case len(r.path) == 2:
			key = r.path[1]
		case len(r.path) == 1 && !r.star && (r.op == "=" || r.op == ":"):
			key, value, present = pairOf(r.value)
		default:
			return nil, invalid("filter", "%s %s: want labels.KEY = VALUE", strings.Join(r.path, "."), r.op)
		}
		switch {
		case present:
			return func(x T) bool { _, ok := get(x)[key]; return ok }, nil
		case r.op == "=" || r.op == ":" || r.op == "!=":
			return func(x T) bool {
				have, ok := get(x)[key]
				return (ok && have == value) == (r.op != "!=")
			}, nil
		}
		return nil, wrongOp(r)
	}
}

// pairOf splits k=v or k:v; alone is a key without a value.
func pairOf(text string) (key, value string, alone bool) {
	i := strings.IndexAny(text, ":=")
	if i < 0 {
		return text, "", true
	}
	return text[:i], text[i+1:], false
}

// noLabelField imitates a service that cannot filter by labels.
func noLabelField[T any](r restriction) (func(T) bool, error) {
	return nil, invalid("filter", "there is no field %q", strings.Join(r.path, "."))
}
