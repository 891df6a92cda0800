package expr

import (
	"bytes"
	"cmp"
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
	apply := operations[n.Op]
	if lit, ok := n.Y.(*Literal); ok { // the most frequent: m.code == 409, i + 1
		b := lit.Value
		return func(ctx context.Context, env Env) (any, error) {
			a, err := x(ctx, env)
			if err != nil {
				return nil, err
			}
			return apply(a, b)
		}
	}
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

type operation func(a, b any) (any, error)

var operations = map[string]operation{
	"==": func(a, b any) (any, error) { return equal(a, b), nil },
	"!=": func(a, b any) (any, error) { return !equal(a, b), nil },
	"in": in,
	"<":  compare("<", func(c int) bool { return c < 0 }),
	"<=": compare("<=", func(c int) bool { return c <= 0 }),
	">":  compare(">", func(c int) bool { return c > 0 }),
	">=": compare(">=", func(c int) bool { return c >= 0 }),
	"+":  add,
	"-":  arithmetic("-", subtractInts, func(x, y float64) float64 { return x - y }),
	"*":  arithmetic("*", multiplyInts, func(x, y float64) float64 { return x * y }),
	"//": arithmetic("//", floorInts, func(x, y float64) float64 { return math.Round((x - modulo(x, y)) / y) }),
	"%":  arithmetic("%", moduloInts, modulo),
	"/":  divide,
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
			return compareMixed(a, b) == 0
		}
		return false
	case float64:
		switch b := b.(type) {
		case int64:
			return compareMixed(b, a) == 0
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

// unordered is what comparing with NaN gives: neither less nor equal nor more.
const unordered = 2

func compare(op string, holds func(c int) bool) operation {
	return func(a, b any) (any, error) {
		c, ok := order(a, b)
		if !ok {
			return nil, typeErrorf("%s cannot compare %s and %s", op, typeName(a), typeName(b))
		}
		return c != unordered && holds(c), nil
	}
}

// order compares numbers with numbers and strings with strings.
func order(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case float64:
			return compareMixed(a, b), true
		}
	case float64:
		switch b := b.(type) {
		case int64:
			if c = compareMixed(b, a); c != unordered {
				c = -c
			}
			return c, true
		case float64:
			if a != a || b != b {
				return unordered, true
			}
			return cmp.Compare(a, b), true
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), true
		}
	}
	return 0, false
}

// compareMixed compares by value, also where a double cannot tell integers apart.
func compareMixed(i int64, f float64) int {
	switch {
	case f != f:
		return unordered
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(0, f-whole)
}
