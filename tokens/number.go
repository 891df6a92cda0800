package tokens

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxExponent bounds the exponent of a number, so that no text of a few bytes means one that cannot be handled.
const maxExponent = 1 << 30

// number reads a number and writes it as ECMAScript writes one, with all its digits.
func (c *canon) number() error {
	start := c.at
	negative := c.peek() == '-'
	if negative {
		c.at++
	}
	whole := c.digits()
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return fmt.Errorf("malformed number %s", quote(string(c.in[start:c.at])))
	}
	var fraction string
	if c.peek() == '.' {
		c.at++
		if fraction = c.digits(); fraction == "" {
			return errors.New("want a digit after the point")
		}
	}
	exp, err := c.exponent()
	if err != nil {
		return err
	}
	c.out = appendNumber(c.out, negative, whole, fraction, exp)
	return nil
}

func (c *canon) digits() string {
	start := c.at
	for '0' <= c.peek() && c.peek() <= '9' {
		c.at++
	}
	return string(c.in[start:c.at])
}

func (c *canon) exponent() (int, error) {
	if c.peek() != 'e' && c.peek() != 'E' {
		return 0, nil
	}
	c.at++
	sign := ""
	if c.peek() == '+' || c.peek() == '-' {
		sign = string(c.peek())
		c.at++
	}
	d := c.digits()
	if d == "" {
		return 0, errors.New("want a digit in the exponent")
	}
	n, err := strconv.Atoi(sign + d)
	if err != nil || n > maxExponent || n < -maxExponent {
		return 0, fmt.Errorf("exponent %s out of range", quote(sign+d))
	}
	return n, nil
}

// appendNumber writes whole.fraction times ten to the power of exp: plainly if the point falls within 21 places before or 6
// behind, else with an exponent (ECMA-262, Number::toString).
func appendNumber(b []byte, negative bool, whole, fraction string, exp int) []byte {
	all := strings.TrimLeft(whole+fraction, "0")
	point := len(all) - len(fraction) + exp // how many of the digits stand before the point
	d := strings.TrimRight(all, "0")
	if d == "" {
		return append(b, '0') // and so is -0, as in RFC 8785
	}
	if negative {
		b = append(b, '-')
	}
	switch {
	case len(d) <= point && point <= 21:
		return append(append(b, d...), strings.Repeat("0", point-len(d))...)
	case 0 < point && point <= 21:
		return append(append(append(b, d[:point]...), '.'), d[point:]...)
	case -6 < point && point <= 0:
		return append(append(append(b, "0."...), strings.Repeat("0", -point)...), d...)
	}
	b = append(b, d[0])
	if len(d) > 1 {
		b = append(append(b, '.'), d[1:]...)
	}
	return fmt.Appendf(b, "e%+d", point-1)
}
