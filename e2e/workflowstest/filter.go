package workflowstest

import (
	"strings"
	"unicode/utf8"
)

// restriction is one comparison of a filter, such as labels.team = "a".
type restriction struct {
	path  []string // the field, and for a map the key
	op    string   // = != < <= > >= :
	value string
	star  bool // the value is an unquoted *, which after : asks whether the field is there
}

// field makes the test of a comparison with one field.
type field[T any] func(restriction) (func(T) bool, error)

// fields are those that a filter may name.
type fields[T any] map[string]field[T]

// filter reads a filter in the language of AIP-160: comparisons joined by AND, OR (which binds tighter) and white space (AND), negated
// by NOT or -, grouped by parentheses. Values are bare words or quoted. What AIP-160 has on top, bare words to search for, functions
// and groups of values, is an error here.
func (f fields[T]) filter(src string) (func(T) bool, error) {
	p := &filterParser[T]{src: src, fields: f}
	p.space()
	if p.end() {
		return func(T) bool { return true }, nil
	}
	test, err := p.expression(0)
	if err == nil && !p.end() {
		err = p.errorf("%q does not fit here", p.src[p.at:])
	}
	return test, err
}

type filterParser[T any] struct {
	src    string
	at     int
	fields fields[T]
}

const maxFilterDepth = 50

func (p *filterParser[T]) errorf(format string, args ...any) error {
	return invalid("filter", format, args...)
}

func (p *filterParser[T]) end() bool { return p.at >= len(p.src) }

func (p *filterParser[T]) space() {
	for !p.end() && strings.ContainsRune(" \t\r\n", rune(p.src[p.at])) {
		p.at++
	}
}

// word takes a keyword or a sign, and the white space behind it. A keyword ends at white space or a parenthesis.
func (p *filterParser[T]) word(w string) bool {
	rest, ok := strings.CutPrefix(p.src[p.at:], w)
	if !ok || w[0] >= 'A' && rest != "" && !strings.ContainsRune(" \t\r\n()", rune(rest[0])) {
		return false
	}
	p.at += len(w)
	p.space()
	return true
}

func (p *filterParser[T]) expression(depth int) (func(T) bool, error) {
	if depth > maxFilterDepth {
		return nil, p.errorf("more than %d parentheses inside one another", maxFilterDepth)
	}
	all, err := p.alternatives(depth)
	for err == nil && !p.end() && p.src[p.at] != ')' {
		p.word("AND")
		var next func(T) bool
		if next, err = p.alternatives(depth); err == nil {
			before := all
			all = func(x T) bool { return before(x) && next(x) }
		}
	}
	return all, err
}

func (p *filterParser[T]) alternatives(depth int) (func(T) bool, error) {
	some, err := p.term(depth)
	for err == nil && p.word("OR") {
		var next func(T) bool
		if next, err = p.term(depth); err == nil {
			before := some
			some = func(x T) bool { return before(x) || next(x) }
		}
	}
	return some, err
}

func (p *filterParser[T]) term(depth int) (func(T) bool, error) {
	if !p.word("NOT") && !p.word("-") {
		return p.simple(depth)
	}
	test, err := p.simple(depth)
	return func(x T) bool { return !test(x) }, err
}

func (p *filterParser[T]) simple(depth int) (func(T) bool, error) {
	if !p.word("(") {
		return p.comparison()
	}
	test, err := p.expression(depth + 1)
	if err == nil && !p.word(")") {
		err = p.errorf("a parenthesis is not closed")
	}
	return test, err
}

func (p *filterParser[T]) comparison() (func(T) bool, error) {
	var r restriction
	for {
		part, err := p.part(` ()<>=!:.",'`)
		if err != nil {
			return nil, err
		}
		r.path = append(r.path, part)
		if p.end() || p.src[p.at] != '.' {
			break
		}
		p.at++
	}
	p.space()
	for _, op := range []string{"<=", ">=", "!=", "<", ">", "=", ":"} {
		if p.word(op) {
			r.op = op
			break
		}
	}
	if r.op == "" {
		return nil, p.errorf("%q is compared with nothing", strings.Join(r.path, "."))
	}
	r.star = strings.HasPrefix(p.src[p.at:], "*")
	var err error
	if r.value, err = p.part(" ()"); err != nil {
		return nil, err
	}
	p.space()
	name := camel(r.path[0])
	if f := p.fields[name]; f != nil && (len(r.path) == 1 || name == "labels" || name == "label") {
		return f(r)
	}
	return nil, p.errorf("there is no field %q", strings.Join(r.path, "."))
}

// part reads a quoted text, or a bare one up to one of the characters in stop.
func (p *filterParser[T]) part(stop string) (string, error) {
	if p.end() {
		return "", p.errorf("it ends where a field or a value is expected")
	}
	if q := p.src[p.at]; q == '"' || q == '\'' {
		return p.quoted(q)
	}
	n := strings.IndexAny(p.src[p.at:], stop+"\t\r\n")
	if n < 0 {
		n = len(p.src) - p.at
	}
	if n == 0 {
		r, _ := utf8.DecodeRuneInString(p.src[p.at:])
		return "", p.errorf("%q stands where a field or a value is expected", r)
	}
	text := p.src[p.at : p.at+n]
	p.at += n
	return text, nil
}

func (p *filterParser[T]) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == quote:
			p.at = i + 1
			return b.String(), nil
		case c == '\\' && i+1 < len(p.src):
			i++
			b.WriteByte(p.src[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorf("a quotation is not closed")
}
