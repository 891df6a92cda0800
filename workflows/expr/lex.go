package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says where an expression cannot be read.
type SyntaxError struct {
	Offset  int // in bytes from the start of the source
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

type kind int

const (
	end kind = iota
	name
	number
	text
	punct // operators and brackets
)

type token struct {
	kind  kind
	text  string // as written; of a string, its value
	value any    // of a number
	off   int
}

// describe is the token for an error message.
func (t token) describe() string {
	if t.kind == end {
		return "the end of the expression"
	}
	return strconv.Quote(t.text)
}

// lex splits src into tokens, the last of them end.
func lex(src string) ([]token, error) {
	var out []token
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRuneInString(src[i:])
		switch {
		case c == utf8.RuneError && size <= 1:
			return nil, &SyntaxError{i, "the expression is not UTF-8"}
		case unicode.IsSpace(c):
			i += size
		case c == '_' || unicode.IsLetter(c):
			n := i + size
			for n < len(src) {
				c, size := utf8.DecodeRuneInString(src[n:])
				if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
					break
				}
				n += size
			}
			out = append(out, token{kind: name, text: src[i:n], off: i})
			i = n
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(src) && digit(src[i+1]):
			t, err := lexNumber(src, i)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			i += len(t.text)
		case c == '"' || c == '\'':
			t, n, err := lexString(src, i)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			i = n
		default:
			op := operator(src[i:])
			if op == "" {
				return nil, &SyntaxError{i, fmt.Sprintf("unexpected character %q", c)}
			}
			out = append(out, token{kind: punct, text: op, off: i})
			i += len(op)
		}
	}
	return append(out, token{kind: end, off: len(src)}), nil
}

var operators = []string{"//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", "."}

func operator(s string) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func lexNumber(src string, i int) (token, error) {
	n := i
	digits := func() {
		for n < len(src) && digit(src[n]) {
			n++
		}
	}
	digits()
	whole := true
	if n < len(src) && src[n] == '.' && n+1 < len(src) && digit(src[n+1]) {
		whole = false
		n++
		digits()
	}
	if n < len(src) && (src[n] == 'e' || src[n] == 'E') {
		m := n
		n++
		if n < len(src) && (src[n] == '+' || src[n] == '-') {
			n++
		}
		if n < len(src) && digit(src[n]) {
			whole = false
			digits()
		} else {
			n = m
		}
	}
	t := token{kind: number, text: src[i:n], off: i}
	if n < len(src) && (src[n] == '_' || unicode.IsLetter(rune(src[n]))) {
		return t, &SyntaxError{n, fmt.Sprintf("unexpected %q after the number %s", src[n], t.text)}
	}
	var err error
	if whole {
		t.value, err = strconv.ParseInt(t.text, 10, 64)
	} else {
		t.value, err = strconv.ParseFloat(t.text, 64)
	}
	if err != nil {
		return t, &SyntaxError{i, fmt.Sprintf("number %s is out of range", t.text)}
	}
	return t, nil
}

var escapes = map[byte]string{'"': `"`, '\'': "'", '\\': `\`, '/': "/", 'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", '$': "$"}

// lexString reads a quoted string. It returns the offset behind it.
func lexString(src string, i int) (token, int, error) {
	quote := src[i]
	var b strings.Builder
	for n := i + 1; n < len(src); n++ {
		switch c := src[n]; c {
		case quote:
			return token{kind: text, text: b.String(), off: i}, n + 1, nil
		case '\\':
			n++
			if n == len(src) {
				break
			}
			if src[n] == 'u' && n+4 < len(src) {
				v, err := strconv.ParseUint(src[n+1:n+5], 16, 16)
				if err != nil {
					return token{}, 0, &SyntaxError{n, "\\u wants four hex digits"}
				}
				b.WriteRune(rune(v))
				n += 4
				continue
			}
			s, ok := escapes[src[n]]
			if !ok {
				s = src[n-1 : n+1] // as written: regular expressions are full of them
			}
			b.WriteString(s)
		default:
			b.WriteByte(c)
		}
	}
	return token{}, 0, &SyntaxError{i, "the string is not closed"}
}
