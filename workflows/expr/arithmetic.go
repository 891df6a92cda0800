package expr

import "math"

func overflow(op string) error {
	return &Error{"ValueError", op + ": the result does not fit into a 64-bit integer"}
}

var errZero = &Error{"ZeroDivisionError", "division by zero"}

func number64(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// arithmetic computes on numbers: two integers stay one, and anything with a double becomes a double.
func arithmetic(op string, ints func(i, j int64) (int64, error), doubles func(x, y float64) float64) operation {
	divides := op == "//" || op == "%"
	return func(a, b any) (any, error) {
		if i, ok := a.(int64); ok {
			if j, ok := b.(int64); ok {
				if divides && j == 0 {
					return nil, errZero
				}
				n, err := ints(i, j)
				if err != nil {
					return nil, err
				}
				return n, nil
			}
		}
		x, aNum := number64(a)
		y, bNum := number64(b)
		if !aNum || !bNum {
			return nil, mismatch(op, a, b)
		}
		if divides && y == 0 {
			return nil, errZero
		}
		return doubles(x, y), nil
	}
}

func mismatch(op string, a, b any) error {
	return typeErrorf("%s does not take %s and %s", op, typeName(a), typeName(b))
}

var addNumbers = arithmetic("+", addInts, func(x, y float64) float64 { return x + y })

// add joins two strings or adds two numbers, and never mixes them.
func add(a, b any) (any, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return x + y, nil
		}
		return nil, mismatch("+", a, b)
	}
	return addNumbers(a, b)
}

// divide always gives a double.
func divide(a, b any) (any, error) {
	x, aNum := number64(a)
	y, bNum := number64(b)
	switch {
	case !aNum || !bNum:
		return nil, mismatch("/", a, b)
	case y == 0:
		return nil, errZero
	}
	return x / y, nil
}

func addInts(i, j int64) (int64, error) {
	if s := i + j; (s > i) == (j > 0) {
		return s, nil
	}
	return 0, overflow("+")
}

func subtractInts(i, j int64) (int64, error) {
	if s := i - j; (s < i) == (j > 0) {
		return s, nil
	}
	return 0, overflow("-")
}

func multiplyInts(i, j int64) (int64, error) {
	if i == 0 || j == 0 {
		return 0, nil
	}
	if (i == -1 && j == math.MinInt64) || (j == -1 && i == math.MinInt64) {
		return 0, overflow("*")
	}
	if p := i * j; p/j == i {
		return p, nil
	}
	return 0, overflow("*")
}

// floorInts rounds down, so that i == j*(i // j) + i % j holds and the remainder has the sign of j.
func floorInts(i, j int64) (int64, error) {
	if i == math.MinInt64 && j == -1 {
		return 0, overflow("//")
	}
	q := i / j
	if i%j != 0 && (i < 0) != (j < 0) {
		q--
	}
	return q, nil
}

func moduloInts(i, j int64) (int64, error) {
	if j == -1 {
		return 0, nil // where Go's % is not defined for the smallest integer
	}
	r := i % j
	if r != 0 && (r < 0) != (j < 0) {
		r += j
	}
	return r, nil
}

// modulo is the remainder with the sign of y.
func modulo(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}
