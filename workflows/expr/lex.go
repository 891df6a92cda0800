package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
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
	kind     kind
	text     string // as written; of a string, its value
	value    any    // of a number
	off, end int
}

// minInt is the value of the number 9223372036854775808, which only a minus before it makes a number.
type minInt struct{}

// describe is the token for an error message.
func (t token) describe() string {
	if t.kind == end {
		return "end of the expression"
	}
	return strconv.Quote(t.text)
}

// lex splits src into tokens, the last of them end.
func lex(src string) ([]token, error) {
	out := make([]token, 0, 2+len(src)/4)
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRuneInString(src[i:])
		var t token
		var err error
		switch {
		case c == utf8.RuneError && size <= 1:
			return nil, &SyntaxError{i, "the expression is not UTF-8"}
		case unicode.IsSpace(c):
			i += size
			continue
		case c == '_' || unicode.IsLetter(c):
			t = lexName(src, i)
		case digit(src, i) || c == '.' && digit(src, i+1):
			t, err = lexNumber(src, i)
		case c == '"' || c == '\'':
			t, err = lexString(src, i)
		default:
			op := operator(src[i:])
			if op == "" {
				return nil, &SyntaxError{i, fmt.Sprintf("unexpected character %q", c)}
			}
			t = token{kind: punct, text: op, off: i, end: i + len(op)}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		i = t.end
	}
	return append(out, token{kind: end, off: len(src), end: len(src)}), nil
}

// operator is the operator or bracket that s begins with; "": none.
func operator(s string) string {
	switch {
	case len(s) > 1 && s[1] == '=' && strings.IndexByte("<>=!", s[0]) >= 0, strings.HasPrefix(s, "//"):
		return s[:2]
	case strings.IndexByte("+-*/%<>()[]{},:.", s[0]) >= 0:
		return s[:1]
	}
	return ""
}

func digit(src string, i int) bool { return i < len(src) && src[i] >= '0' && src[i] <= '9' }

func lexName(src string, i int) token {
	n := i
	for n < len(src) {
		c, size := utf8.DecodeRuneInString(src[n:])
		if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			break
		}
		n += size
	}
	return token{kind: name, text: src[i:n], off: i, end: n}
}

func lexNumber(src string, i int) (token, error) {
	n, whole := numberEnd(src, i)
	t := token{kind: number, text: src[i:n], off: i, end: n}
	if c, _ := utf8.DecodeRuneInString(src[n:]); n < len(src) && (c == '_' || unicode.IsLetter(c)) {
		return t, &SyntaxError{n, fmt.Sprintf("unexpected %q after the number %s", c, t.text)}
	}
	var err error
	if whole {
		t.value, err = strconv.ParseInt(t.text, 10, 64)
		if err != nil && strings.TrimLeft(t.text, "0") == "9223372036854775808" {
			t.value, err = minInt{}, nil
		}
	} else {
		t.value, err = strconv.ParseFloat(t.text, 64)
	}
	if err != nil {
		return t, &SyntaxError{i, fmt.Sprintf("number %s is out of range", t.text)}
	}
	return t, nil
}

// numberEnd is the offset behind the number at i, and whether it is an integer.
func numberEnd(src string, i int) (end int, whole bool) {
	digits := func(n int) int {
		for digit(src, n) {
			n++
		}
		return n
	}
	n, whole := digits(i), true
	if n < len(src) && src[n] == '.' && digit(src, n+1) {
		n, whole = digits(n+1), false
	}
	if n < len(src) && (src[n] == 'e' || src[n] == 'E') {
		m := n + 1
		if m < len(src) && (src[m] == '+' || src[m] == '-') {
			m++
		}
		if digit(src, m) {
			n, whole = digits(m), false
		}
	}
	return n, whole
}

// lexString reads a string in either kind of quotation marks.
func lexString(src string, i int) (token, error) {
	quote := src[i]
	rest := src[i+1:]
	if n := strings.IndexByte(rest, quote); n >= 0 && strings.IndexByte(rest[:n], '\\') < 0 {
		t := token{kind: text, text: rest[:n], off: i, end: i + n + 2}
		if bad := invalid(t.text); bad >= 0 {
			return t, &SyntaxError{i + 1 + bad, "the expression is not UTF-8"}
		}
		return t, nil
	}
	var b strings.Builder
	for n := i + 1; n < len(src); {
		c, size := utf8.DecodeRuneInString(src[n:])
		switch {
		case c == rune(quote):
			return token{kind: text, text: b.String(), off: i, end: n + 1}, nil
		case c == utf8.RuneError && size <= 1:
			return token{}, &SyntaxError{n, "the expression is not UTF-8"}
		case c == '\\':
			next, err := lexEscape(&b, src, n)
			if err != nil {
				return token{}, err
			}
			n = next
		default:
			b.WriteRune(c)
			n += size
		}
	}
	return token{}, &SyntaxError{i, "the string is not closed"}
}

// invalid is where s stops being UTF-8; -1: nowhere.
func invalid(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

var escapes = map[byte]string{'"': `"`, '\'': "'", '\\': `\`, '/': "/", 'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", '$': "$"}

// lexEscape reads the escape at src[i] into b and returns the offset behind it. An escape that means nothing stays as it is
// written: regular expressions are full of them.
func lexEscape(b *strings.Builder, src string, i int) (int, error) {
	if i+1 == len(src) {
		return i + 1, nil // the string is not closed
	}
	c := src[i+1]
	if c == 'u' {
		v, ok := hex4(src, i+2)
		if !ok {
			return 0, &SyntaxError{i, `\u wants four hex digits`}
		}
		if low, ok := hex4(src, i+8); utf16.IsSurrogate(v) && ok && strings.HasPrefix(src[i+6:], `\u`) {
			if both := utf16.DecodeRune(v, low); both != utf8.RuneError {
				b.WriteRune(both)
				return i + 12, nil
			}
		}
		b.WriteRune(v)
		return i + 6, nil
	}
	if s, ok := escapes[c]; ok {
		b.WriteString(s)
		return i + 2, nil
	}
	b.WriteByte('\\')
	return i + 1, nil
}

func hex4(src string, i int) (rune, bool) {
	if i+4 > len(src) {
		return 0, false
	}
	v, err := strconv.ParseUint(src[i:i+4], 16, 16)
	return rune(v), err == nil
}
