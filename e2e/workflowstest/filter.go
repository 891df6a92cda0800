package workflowstest

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// term is one comparison of a filter.
var term = regexp.MustCompile(`^\s*([A-Za-z]+)(?:\.(?:"([^"]+)"|([\p{L}\p{N}_-]+)))?\s*(=|!=|<=|>=|<|>|:)\s*(?:"([^"]*)"|(\S+))\s*$`)

var and = regexp.MustCompile(`\s+AND\s+`)

// filterOf reads a list filter: comparisons joined by AND, over executionId, state, workflowRevisionId, createTime, startTime,
// endTime and labels. For labels it takes every spelling that is plausible: labels.k="v", labels."k":"v", label.k="v".
func filterOf(filter string, withLabels bool) (func(*execution) bool, error) {
	var tests []func(*execution) bool
	if strings.TrimSpace(filter) != "" {
		for _, part := range and.Split(filter, -1) {
			m := term.FindStringSubmatch(part)
			if m == nil {
				return nil, fmt.Errorf("%q cannot be read", part)
			}
			test, err := comparison(m[1], m[2]+m[3], m[4], m[5]+m[6], withLabels)
			if err != nil {
				return nil, err
			}
			tests = append(tests, test)
		}
	}
	return func(e *execution) bool {
		for _, t := range tests {
			if !t(e) {
				return false
			}
		}
		return true
	}, nil
}

func comparison(field, key, op, value string, withLabels bool) (func(*execution) bool, error) {
	text := func(get func(*execution) string) (func(*execution) bool, error) {
		switch op {
		case "=", ":":
			return func(e *execution) bool { return get(e) == value }, nil
		case "!=":
			return func(e *execution) bool { return get(e) != value }, nil
		}
		return nil, fmt.Errorf("%s does not take %s", field, op)
	}
	switch {
	case (field == "labels" || field == "label") && key != "" && withLabels:
		return text(func(e *execution) string { return e.labels[key] })
	case key != "":
	case field == "executionId":
		return text(func(e *execution) string { return e.name[strings.LastIndexByte(e.name, '/')+1:] })
	case field == "state":
		return text(func(e *execution) string { return e.state.String() })
	case field == "workflowRevisionId":
		return text(func(e *execution) string { return e.of.revision })
	}
	if get := times[field]; get != nil && key == "" {
		at, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no RFC 3339 time", field, value)
		}
		return func(e *execution) bool { return holds(get(e).Compare(at), op) }, nil
	}
	return nil, fmt.Errorf("there is no field %q", strings.TrimSuffix(field+"."+key, "."))
}

var times = map[string]func(*execution) time.Time{
	"createTime": func(e *execution) time.Time { return e.created },
	"startTime":  func(e *execution) time.Time { return e.started },
	"endTime":    func(e *execution) time.Time { return e.ended },
}

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

// orderOf reads order_by: one field, with desc or without. The newest come first where it says nothing.
func orderOf(by string) (func(a, b *execution) int, error) {
	words := strings.Fields(by)
	if len(words) == 0 {
		words = []string{"createTime", "desc"}
	}
	sign := 1
	switch {
	case len(words) == 2 && words[1] == "desc":
		sign = -1
	case len(words) > 2 || len(words) == 2 && words[1] != "asc":
		return nil, fmt.Errorf("%q cannot be read", by)
	}
	var compare func(a, b *execution) int
	switch get := times[words[0]]; {
	case get != nil:
		compare = func(a, b *execution) int { return cmp.Or(get(a).Compare(get(b)), cmp.Compare(a.serial, b.serial)) }
	case words[0] == "state":
		compare = func(a, b *execution) int { return cmp.Compare(a.state.String(), b.state.String()) }
	case words[0] == "executionId":
		compare = func(a, b *execution) int { return cmp.Compare(a.name, b.name) }
	default:
		return nil, fmt.Errorf("there is no field %q", words[0])
	}
	return func(a, b *execution) int { return sign * compare(a, b) }, nil
}
