package tokens

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may nest.
const maxDepth = 1000

// CanonicalJSON writes a JSON text in one form for all texts of the same meaning, as RFC 8785 has it: no white space, keys
// in the order of their UTF-16 code units, one way to write a string and a number. 1, 1.0 and 10e-1 are the same, "1" is not.
//
// It differs from RFC 8785 in one thing: a number keeps all its digits where the RFC rounds to a double, so that
// 9007199254740993 and 9007199254740992 stay two. What a reader could take for two things is an error: a key that is there
// twice, a broken surrogate, bytes that are not UTF-8; so is nesting beyond 1000.
func CanonicalJSON(text []byte) ([]byte, error) {
	c := canon{in: text}
	c.space()
	if err := c.value(0); err != nil {
		return nil, fmt.Errorf("JSON at byte %d: %w", c.at, err)
	}
	if c.space(); c.at != len(text) {
		return nil, fmt.Errorf("JSON at byte %d: text after the value", c.at)
	}
	return c.out, nil
}

type canon struct {
	in  []byte
	at  int
	out []byte
}

var errEnd = errors.New("the text ends early")

func (c *canon) space() {
	for c.at < len(c.in) && strings.IndexByte(" \t\r\n", c.in[c.at]) >= 0 {
		c.at++
	}
}

// peek returns the next byte, 0 at the end.
func (c *canon) peek() byte {
	if c.at < len(c.in) {
		return c.in[c.at]
	}
	return 0
}

func (c *canon) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch b := c.peek(); {
	case c.at == len(c.in):
		return errEnd
	case b == '{':
		return c.object(depth)
	case b == '[':
		return c.array(depth)
	case b == '"':
		s, err := c.str()
		if err != nil {
			return err
		}
		c.out = appendString(c.out, s)
		return nil
	case b == '-' || '0' <= b && b <= '9':
		return c.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(string(c.in[c.at:min(len(c.in), c.at+len(word))]), word) {
			c.at += len(word)
			c.out = append(c.out, word...)
			return nil
		}
	}
	return fmt.Errorf("unexpected %s", quote(string(c.in[c.at:c.at+1])))
}

func (c *canon) array(depth int) error {
	c.out = append(c.out, '[')
	for first := true; ; first = false {
		done, err := c.next(first, ']')
		if err != nil || done {
			return err
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
}

// next steps over what stands before an element or ends the list, and says whether it ended.
func (c *canon) next(first bool, end byte) (bool, error) {
	if first {
		c.at++
	}
	c.space()
	switch b := c.peek(); {
	case b == end:
		c.at++
		c.out = append(c.out, end)
		return true, nil
	case first:
		return false, nil
	case b == ',':
		c.at++
		c.space()
		c.out = append(c.out, ',')
		return false, nil
	case c.at == len(c.in):
		return false, errEnd
	default:
		return false, fmt.Errorf("want a comma or %q", end)
	}
}

type member struct {
	key   []uint16
	name  string
	value []byte
}

func (c *canon) object(depth int) error {
	start := len(c.out)
	var members []member
	for first := true; ; first = false {
		done, err := c.next(first, '}')
		if err != nil {
			return err
		}
		if done {
			break
		}
		m, err := c.member(depth)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.key, b.key) })
	c.out = append(c.out[:start], '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return fmt.Errorf("the key %s is there twice", quote(m.name))
			}
			c.out = append(c.out, ',')
		}
		c.out = append(appendString(c.out, m.name), ':')
		c.out = append(c.out, m.value...)
	}
	c.out = append(c.out, '}')
	return nil
}

func (c *canon) member(depth int) (member, error) {
	if c.peek() != '"' {
		return member{}, errors.New("want a key in quotes")
	}
	name, err := c.str()
	if err != nil {
		return member{}, err
	}
	c.space()
	if c.peek() != ':' {
		return member{}, errors.New("want a colon")
	}
	c.at++
	c.space()
	from := len(c.out)
	if err := c.value(depth + 1); err != nil {
		return member{}, err
	}
	return member{key: utf16.Encode([]rune(name)), name: name, value: slices.Clone(c.out[from:])}, nil
}

// str reads a string and returns what it means.
func (c *canon) str() (string, error) {
	var b strings.Builder
	for c.at++; c.at < len(c.in); {
		switch ch := c.in[c.at]; {
		case ch == '"':
			c.at++
			return b.String(), nil
		case ch < ' ':
			return "", errors.New("a control character in a string")
		case ch == '\\':
			r, err := c.escaped()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		default:
			r, n := utf8.DecodeRune(c.in[c.at:])
			if r == utf8.RuneError && n <= 1 {
				return "", errors.New("bytes that are not UTF-8")
			}
			b.WriteRune(r)
			c.at += n
		}
	}
	return "", errEnd
}

func (c *canon) escaped() (rune, error) {
	if c.at+1 >= len(c.in) {
		return 0, errEnd
	}
	e := c.in[c.at+1]
	if e == 'u' {
		return c.unicode()
	}
	i := strings.IndexByte(`"\/bfnrt`, e)
	if i < 0 {
		return 0, fmt.Errorf("unknown escape %s", quote(string(c.in[c.at:c.at+2])))
	}
	c.at += 2
	return rune("\"\\/\b\f\n\r\t"[i]), nil
}

// unicode reads \uXXXX, and a second one where the first is the high half of a pair.
func (c *canon) unicode() (rune, error) {
	hi, err := c.hex4()
	if err != nil || !utf16.IsSurrogate(hi) {
		return hi, err
	}
	if c.at+1 < len(c.in) && c.in[c.at] == '\\' && c.in[c.at+1] == 'u' {
		lo, err := c.hex4()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(hi, lo); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, errors.New("half of a surrogate pair")
}

func (c *canon) hex4() (rune, error) {
	if c.at+6 > len(c.in) {
		return 0, errEnd
	}
	n, err := strconv.ParseUint(string(c.in[c.at+2:c.at+6]), 16, 32)
	if err != nil {
		return 0, errors.New(`want four hex digits after \u`)
	}
	c.at += 6
	return rune(n), nil
}

// appendString writes a string as RFC 8785 section 3.2.2.2 has it.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch ch := s[i]; {
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch >= ' ':
			b = append(b, ch)
		default:
			if j := strings.IndexByte("\b\t\n\f\r", ch); j >= 0 {
				b = append(b, '\\', "btnfr"[j])
			} else {
				b = fmt.Appendf(b, `\u%04x`, ch)
			}
		}
	}
	return append(b, '"')
}
