package workflowstest

import (
	"maps"
	"slices"
	"strings"
)

// ordering compares two items by one field, ascending.
type ordering[T any] map[string]func(a, b T) int

// by reads order_by, a comma-separated list of fields, each with " desc" or without (AIP-132). "" is fallback.
func (o ordering[T]) by(src, fallback string) (func(a, b T) int, error) {
	if strings.TrimSpace(src) == "" {
		src = fallback
	}
	var keys []func(a, b T) int
	for part := range strings.SplitSeq(src, ",") {
		words := strings.Fields(part)
		if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1] != "asc" && words[1] != "desc" {
			return nil, invalid("order_by", "%q cannot be read", part)
		}
		compare := o[camel(words[0])]
		if compare == nil {
			return nil, invalid("order_by", "there is no field %q; there are %v", words[0], slices.Sorted(maps.Keys(o)))
		}
		if len(words) == 2 && words[1] == "desc" {
			compare = reversed(compare)
		}
		keys = append(keys, compare)
	}
	return func(a, b T) int {
		for _, compare := range keys {
			if c := compare(a, b); c != 0 {
				return c
			}
		}
		return 0
	}, nil
}

func reversed[T any](compare func(a, b T) int) func(a, b T) int {
	return func(a, b T) int { return compare(b, a) }
}

// camel is the name of a field as the REST API has it: create_time and createTime mean one field, as do executionID, which an
// older client library documents, and executionId.
func camel(field string) string {
	var b strings.Builder
	for i, part := range strings.Split(field, "_") {
		if i > 0 && part != "" {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	name := b.String()
	if before, ok := strings.CutSuffix(name, "ID"); ok {
		return before + "Id"
	}
	return name
}
