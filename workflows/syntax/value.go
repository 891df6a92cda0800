package syntax

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"example.com/runonce/workflows/expr"
)

// value reads any YAML value. A scalar that is ${…} as a whole is an expression; text around it makes it a plain string.
func (p *parser) value(n *yaml.Node) *Value {
	n = resolve(n)
	v := &Value{Pos: pos(n)}
	if p.depth++; p.depth > maxNesting {
		p.errorf(v.Pos, "the value is nested too deeply")
		p.depth--
		return v
	}
	defer func() { p.depth-- }()
	switch n.Kind {
	case yaml.SequenceNode:
		v.Kind, v.List = List, make([]*Value, len(n.Content))
		for i, e := range n.Content {
			v.List[i] = p.value(e)
		}
	case yaml.MappingNode:
		v.Kind, v.Map = Map, p.valueFields(n)
	default:
		p.scalar(n, v)
	}
	return v
}

func (p *parser) valueFields(n *yaml.Node) []*Field {
	out := []*Field{}
	for _, f := range p.fields(n) {
		entry := &Field{Pos: f.pos, Key: f.key, Value: p.value(f.value)}
		if src, ok := inner(f.key); ok {
			entry.KeyExpr = p.expression(src, f.pos, 0)
		}
		out = append(out, entry)
	}
	return out
}

// inner is the source of an expression, without ${ and }.
func inner(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "${") || !strings.HasSuffix(s, "}") {
		return "", false
	}
	return s[2 : len(s)-1], true
}

func (p *parser) scalar(n *yaml.Node, v *Value) {
	if src, ok := inner(n.Value); ok && n.ShortTag() == "!!str" {
		quote := 0
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			quote = 1
		}
		v.Kind, v.Expr = Expression, p.expression(src, v.Pos, quote)
		return
	}
	v.Lit = p.literal(n)
}

func (p *parser) literal(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b
		}
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return i
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) { // beyond 64 bits
			return f
		}
		p.errorf(pos(n), "number %s is out of range", n.Value)
		return nil
	case "!!float":
		var f float64
		if n.Decode(&f) == nil {
			return f
		}
	case "!!binary":
		p.errorf(pos(n), "binary values are not part of the language")
		return nil
	}
	return n.Value
}

// expression compiles what stands between ${ and }. quote is 1 behind a quotation mark.
func (p *parser) expression(src string, at Pos, quote int) *expr.Expr {
	if n := utf8.RuneCountInString(src); n > maxExpression {
		p.errorf(at, "the expression has %d characters; the limit is %d", n, maxExpression)
		return nil
	}
	e, err := expr.Parse(src)
	if err != nil {
		if se, ok := err.(*expr.SyntaxError); ok && !strings.Contains(src, "\n") {
			at.Col += quote + len("${") + utf8.RuneCountInString(src[:se.Offset])
		}
		p.errorf(at, "parse error in expression %s: %s", strconv.Quote("${"+src+"}"), err)
		return nil
	}
	return e
}
