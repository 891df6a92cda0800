package engine

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

var stdHelpers = []function{
	std("default", func(c *call) (any, error) {
		if c.has(0) {
			return c.args[0], nil
		}
		return c.args[1], nil
	}),
	std("if", helperIf),
	std("double", helperDouble),
	std("int", helperInt),
	std("string", helperString),
	std("keys", func(c *call) (any, error) {
		m, err := c.mapping(0)
		return stringsToList(sortedKeys(m)), err
	}),
	std("len", helperLen),
	std("get_type", func(c *call) (any, error) { return typeName(c.args[0]), nil }),
}

func helperIf(c *call) (any, error) {
	holds, ok := c.args[0].(bool)
	if !ok {
		return nil, c.wrong(0, "a boolean")
	}
	if holds {
		return c.args[1], nil
	}
	return c.args[2], nil
}

func helperDouble(c *call) (any, error) {
	if s, ok := c.args[0].(string); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, faultf(ValueError, "could not convert string to double: %q", s)
		}
		return f, nil
	}
	if f, ok := asFloat(c.args[0]); ok {
		return f, nil
	}
	return nil, unsupported("double", c.args[0], "number or string")
}

func helperInt(c *call) (any, error) {
	switch v := c.args[0].(type) {
	case int64:
		return v, nil
	case float64:
		if math.IsNaN(v) || v >= math.MaxInt64 || v <= math.MinInt64 {
			return nil, faultf(ValueError, "could not convert double to int: %v", v)
		}
		return int64(v), nil
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, faultf(ValueError, "could not convert string to int: %q", v)
		}
		return n, nil
	}
	return nil, unsupported("int", c.args[0], "number or string")
}

func helperString(c *call) (any, error) {
	if s, ok := scalarText(c.args[0]); ok {
		return s, nil
	}
	return nil, unsupported("string", c.args[0], "number, string, or boolean")
}

// unsupported has the wording of a public capture, which names the types as Python does.
func unsupported(name string, v any, want string) error {
	python := map[string]string{"map": "dict", "integer": "int", "double": "float", "string": "str", "boolean": "bool", "null": "NoneType"}
	kind := typeName(v)
	if p, ok := python[kind]; ok {
		kind = p
	}
	return faultf(TypeError, "unsupported operand type for %s(): '%s' (expecting %s)", name, kind, want)
}

func helperLen(c *call) (any, error) {
	switch v := c.args[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return nil, c.wrong(0, "a list, a map or a string")
}
