package engine

import (
	"context"

	"example.com/runonce/workflows/syntax"
)

// function is a callable value: a standard function, or a subworkflow by name.
type function struct {
	name    string
	params  []string // in order
	need    int      // how many of them must be passed
	call    func(c *call) (any, error)
	routine *routine // set for a subworkflow
}

// call is one call of a standard function: its arguments in the order of params, nil where none was passed.
type call struct {
	ctx  context.Context
	f    *frame
	fn   *function
	args []any
}

// library has every standard function, by name; the std_<module>.go files fill it.
var library = collect(
	stdHelpers, stdBase64, stdEvents, stdExperimental, stdGKE, stdHash, stdHTTP, stdJSON, stdList, stdMap, stdMath, stdRetry, stdSys, stdText,
	stdTime, stdUUID,
)

// namedValues are what stands for a name that is no function: policies and the default backoff.
var namedValues = map[string]any{
	"http.default_retry":                &policy{library["http.default_retry_predicate"], defaultRetries, defaultBackoff},
	"http.default_retry_non_idempotent": &policy{library["http.default_retry_predicate_non_idempotent"], defaultRetries, defaultBackoff},
	"retry.default_backoff": map[string]any{
		"initial_delay": defaultBackoff.initial, "max_delay": defaultBackoff.limit, "multiplier": defaultBackoff.multiplier,
	},
	"retry.default_backoff.initial_delay": defaultBackoff.initial,
	"retry.default_backoff.max_delay":     defaultBackoff.limit,
	"retry.default_backoff.multiplier":    defaultBackoff.multiplier,
}

func collect(modules ...[]function) map[string]*function {
	all := map[string]*function{}
	for _, m := range modules {
		for i := range m {
			all[m[i].name] = &m[i]
		}
	}
	return all
}

// std makes a standard function of the parameters that syntax.Functions gives it.
func std(name string, do func(c *call) (any, error)) function {
	f := function{name: name, call: do}
	if known := syntax.Functions[name]; known != nil {
		f.params, f.need = known.Params, known.Need
	}
	return f
}

func (f *frame) callStd(fn *function, args []any) (any, error) {
	for i := 0; i < fn.need; i++ {
		if i >= len(args) {
			return nil, faultf(TypeError, "%s: missing argument %q", fn.name, fn.params[i])
		}
	}
	full := args
	if len(full) < len(fn.params) {
		full = make([]any, len(fn.params))
		copy(full, args)
	}
	value, err := fn.call(&call{ctx: f.ctx, f: f, fn: fn, args: full})
	if s, ok := value.(string); ok && err == nil {
		return f.x.bounded(s)
	}
	return value, err
}

// bounded refuses a string over the limit.
func (x *execution) bounded(s string) (any, error) {
	if n := x.cfg.Limits.String; n > 0 && int64(len(s)) > n {
		return nil, faultf(ResourceLimitError, "string exceeds %d bytes", n)
	}
	return s, nil
}

// callFunction calls a function value with positional arguments.
func (f *frame) callFunction(fn *function, args []any) (any, error) {
	if fn.routine != nil {
		return f.callRoutine(fn.routine, args, nil)
	}
	return f.callStd(fn, args)
}

// wrong is the TypeError for argument i.
func (c *call) wrong(i int, want string) error {
	return faultf(TypeError, "%s: argument %q must be %s, not %s", c.fn.name, c.fn.params[i], want, typeName(c.args[i]))
}

func (c *call) has(i int) bool { return c.args[i] != nil }

func (c *call) str(i int) (string, error) {
	s, ok := c.args[i].(string)
	if !ok {
		return "", c.wrong(i, "a string")
	}
	return s, nil
}

func (c *call) strOr(i int, fallback string) (string, error) {
	if !c.has(i) {
		return fallback, nil
	}
	return c.str(i)
}

func (c *call) integer(i int) (int64, error) {
	n, ok := c.args[i].(int64)
	if !ok {
		return 0, c.wrong(i, "an integer")
	}
	return n, nil
}

func (c *call) number(i int) (float64, error) {
	n, ok := asFloat(c.args[i])
	if !ok {
		return 0, c.wrong(i, "a number")
	}
	return n, nil
}

func (c *call) bytes(i int) ([]byte, error) {
	b, ok := c.args[i].([]byte)
	if !ok {
		return nil, c.wrong(i, "bytes")
	}
	return b, nil
}

func (c *call) boolOr(i int, fallback bool) (bool, error) {
	if !c.has(i) {
		return fallback, nil
	}
	b, ok := c.args[i].(bool)
	if !ok {
		return false, c.wrong(i, "a boolean")
	}
	return b, nil
}

func (c *call) list(i int) ([]any, error) {
	l, ok := c.args[i].([]any)
	if !ok {
		return nil, c.wrong(i, "a list")
	}
	return l, nil
}

func (c *call) mapping(i int) (map[string]any, error) {
	m, ok := c.args[i].(map[string]any)
	if !ok {
		return nil, c.wrong(i, "a map")
	}
	return m, nil
}
