package expr

import (
	"bytes"
	"context"
	"math"
)

func compileUnary(n *Unary) evalFunc {
	x := compile(n.X)
	return func(ctx context.Context, env Env) (any, error) {
		v, err := x(ctx, env)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case bool:
			if n.Op == "not" {
				return !v, nil
			}
		case int64:
			switch {
			case n.Op == "+":
				return v, nil
			case n.Op == "-" && v == math.MinInt64:
				return nil, overflow("-")
			case n.Op == "-":
				return -v, nil
			}
		case float64:
			switch n.Op {
			case "+":
				return v, nil
			case "-":
				return -v, nil
			}
		}
		return nil, typeErrorf("%s does not take %s", n.Op, typeName(v))
	}
}

func compileBinary(n *Binary) evalFunc {
	x, y := compile(n.X), compile(n.Y)
	if n.Op == "and" || n.Op == "or" {
		return compileLogic(n.Op, x, y)
	}
	apply := operation(n.Op)
	return func(ctx context.Context, env Env) (any, error) {
		a, err := x(ctx, env)
		if err != nil {
			return nil, err
		}
		b, err := y(ctx, env)
		if err != nil {
			return nil, err
		}
		return apply(a, b)
	}
}

// compileLogic makes and and or: booleans only, and the right side only where it decides.
func compileLogic(op string, x, y evalFunc) evalFunc {
	decides := op == "or"
	return func(ctx context.Context, env Env) (any, error) {
		for _, side := range [...]evalFunc{x, y} {
			v, err := side(ctx, env)
			if err != nil {
				return nil, err
			}
			b, ok := v.(bool)
			if !ok {
				return nil, typeErrorf("%s takes booleans, not %s", op, typeName(v))
			}
			if b == decides {
				return b, nil
			}
		}
		return !decides, nil
	}
}

func operation(op string) func(a, b any) (any, error) {
	switch op {
	case "==":
		return func(a, b any) (any, error) { return equal(a, b), nil }
	case "!=":
		return func(a, b any) (any, error) { return !equal(a, b), nil }
	case "in":
		return in
	case "<", "<=", ">", ">=":
		return func(a, b any) (any, error) { return compare(op, a, b) }
	case "+":
		return add
	}
	return func(a, b any) (any, error) { return arithmetic(op, a, b) }
}

// Equal reports whether two values are the same: numbers by value whatever their type, containers element by element.
func Equal(a, b any) bool { return equal(a, b) }

func equal(a, b any) bool {
	switch a := a.(type) {
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
		return false
	case float64:
		switch b := b.(type) {
		case int64:
			return a == float64(b)
		case float64:
			return a == b
		}
		return false
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []byte, []any, map[string]any:
		return false
	}
	return a == b
}

func in(a, b any) (any, error) {
	switch b := b.(type) {
	case []any:
		for _, e := range b {
			if equal(a, e) {
				return true, nil
			}
		}
		return false, nil
	case map[string]any:
		k, ok := a.(string)
		if !ok {
			return nil, typeErrorf("in: key of a map must be a string, not %s", typeName(a))
		}
		_, found := b[k]
		return found, nil
	}
	return nil, typeErrorf("in takes a list or a map on its right, not %s", typeName(b))
}

func compare(op string, a, b any) (any, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return ordered(op, x < y, x == y), nil
		}
	}
	i, aInt := a.(int64)
	j, bInt := b.(int64)
	if aInt && bInt {
		return ordered(op, i < j, i == j), nil
	}
	x, aNum := number64(a)
	y, bNum := number64(b)
	if !aNum || !bNum {
		return nil, typeErrorf("%s cannot compare %s and %s", op, typeName(a), typeName(b))
	}
	if math.IsNaN(x) || math.IsNaN(y) {
		return false, nil
	}
	return ordered(op, x < y, x == y), nil
}

func ordered(op string, less, same bool) bool {
	switch op {
	case "<":
		return less
	case "<=":
		return less || same
	case ">":
		return !less && !same
	}
	return !less
}

func number64(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func add(a, b any) (any, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return x + y, nil
		}
	}
	return arithmetic("+", a, b)
}

func overflow(op string) error {
	return &Error{"ValueError", op + ": the result does not fit into a 64-bit integer"}
}

var errZero = &Error{"ZeroDivisionError", "division by zero"}

// arithmetic computes on numbers: two integers stay one, but for /, and anything with a double becomes a double.
func arithmetic(op string, a, b any) (any, error) {
	i, aInt := a.(int64)
	j, bInt := b.(int64)
	if aInt && bInt && op != "/" {
		return integers(op, i, j)
	}
	x, aNum := number64(a)
	y, bNum := number64(b)
	if !aNum || !bNum {
		return nil, typeErrorf("%s does not take %s and %s", op, typeName(a), typeName(b))
	}
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	}
	if y == 0 {
		return nil, errZero
	}
	switch op {
	case "/":
		return x / y, nil
	case "//":
		return math.Floor(x / y), nil
	}
	return x - y*math.Floor(x/y), nil
}

func integers(op string, i, j int64) (any, error) {
	switch op {
	case "+":
		if s := i + j; (s > i) == (j > 0) {
			return s, nil
		}
	case "-":
		if s := i - j; (s < i) == (j > 0) {
			return s, nil
		}
	case "*":
		if i == 0 || j == 0 {
			return int64(0), nil
		}
		if p := i * j; p/j == i && (i != -1 || j != math.MinInt64) && (j != -1 || i != math.MinInt64) {
			return p, nil
		}
	default:
		return divided(op, i, j)
	}
	return nil, overflow(op)
}

// divided floors, so that a == b*(a // b) + a % b holds and the remainder has b's sign.
func divided(op string, i, j int64) (any, error) {
	if j == 0 {
		return nil, errZero
	}
	if i == math.MinInt64 && j == -1 {
		if op == "%" {
			return int64(0), nil
		}
		return nil, overflow(op)
	}
	q, r := i/j, i%j
	if r != 0 && (r < 0) != (j < 0) {
		q, r = q-1, r+j
	}
	if op == "//" {
		return q, nil
	}
	return r, nil
}
