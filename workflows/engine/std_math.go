package engine

import "math"

var stdMath = []function{
	std("math.abs", func(c *call) (any, error) {
		if n, ok := c.args[0].(int64); ok {
			if n == math.MinInt64 {
				return nil, faultf(ValueError, "math.abs: integer overflow")
			}
			return max(n, -n), nil
		}
		f, err := c.number(0)
		return math.Abs(f), err
	}),
	std("math.floor", func(c *call) (any, error) {
		if n, ok := c.args[0].(int64); ok {
			return n, nil
		}
		f, err := c.number(0)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(f) || math.Abs(f) >= math.MaxInt64 {
			return nil, faultf(ValueError, "math.floor: %v is out of range", f)
		}
		return int64(math.Floor(f)), nil
	}),
	std("math.max", func(c *call) (any, error) { return pick(c, func(x, y float64) bool { return x >= y }) }),
	std("math.min", func(c *call) (any, error) { return pick(c, func(x, y float64) bool { return x <= y }) }),
}

// pick returns one of the two arguments as it is: an integer stays an integer.
func pick(c *call, first func(x, y float64) bool) (any, error) {
	a, aInt := c.args[0].(int64)
	b, bInt := c.args[1].(int64)
	if aInt && bInt && a != b { // compared as integers: a double has not enough digits
		if first(1, 0) == (a > b) {
			return a, nil
		}
		return b, nil
	}
	x, err := c.number(0)
	if err != nil {
		return nil, err
	}
	y, err := c.number(1)
	if err != nil {
		return nil, err
	}
	if first(x, y) {
		return c.args[0], nil
	}
	return c.args[1], nil
}
