package syntax

import (
	"math"
	"regexp"
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
	if !p.enter(v.Pos) {
		return v
	}
	defer p.leave()
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
	fields := p.fields(n)
	out := make([]*Field, len(fields))
	for i, f := range fields {
		out[i] = &Field{Pos: f.pos, Key: f.key, Value: p.value(f.value)}
		if src, ok := inner(f.key); ok {
			out[i].KeyExpr = p.expression(src, f.pos)
		}
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
	if n.Tag == "!!str" {
		if src, ok := inner(n.Value); ok {
			v.Kind, v.Expr = Expression, p.expression(src, v.Pos)
			return
		}
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
		return p.integer(n)
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
		var f float64
		if n.Decode(&f) == nil {
			return f
		}
	case "!!binary":
		p.report(pos(n), "binary values are not part of the language")
		return nil
	}
	return n.Value
}

func (p *parser) integer(n *yaml.Node) any {
	if n.Value != "" && n.Value[0] != '0' || n.Value == "0" { // not one of YAML's other bases
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i
		}
	}
	var i int64
	if n.Decode(&i) == nil {
		return i
	}
	var f float64
	if n.Decode(&f) == nil && !math.IsInf(f, 0) { // beyond 64 bits
		return f
	}
	p.report(pos(n), "number %s is out of range", n.Value)
	return nil
}

// expression compiles what stands between ${ and } in the scalar at a place; nil after an error.
func (p *parser) expression(src string, at Pos) *expr.Expr {
	e, off, message := compile(src, "${"+src+"}")
	if message != "" {
		p.report(p.text.inExpression(at, src, off), "%s", message)
	}
	return e
}

// target reads the left side of an assignment: a variable, and members and indexes of it. Of one that cannot be read it is the
// variable that it begins with, so that its name is known; nil where there is none.
func (p *parser) target(src string, at Pos) *expr.Expr {
	if bare, ok := inner(src); ok {
		p.errorf(at, "the target of an assignment is written without ${}: %s", bare)
		return nil
	}
	e, off, message := compile(src, src)
	if message == "" {
		if _, _, ok := e.Target(); ok {
			return e
		}
		message = strconv.Quote(src) + " cannot be assigned to: write a variable, a member or an index"
	}
	if name := leadingName.FindString(src); name != "" {
		p.report(p.text.inKey(at, src, off), "%s", message)
		return expr.Compile(&expr.Ident{Name: name})
	}
	p.errorf(at, "%s", message)
	return nil
}

var leadingName = regexp.MustCompile(`^[\pL_][\pL\pN_]*`)

// compile parses an expression, or says what is wrong with it and at which of its bytes.
func compile(src, written string) (e *expr.Expr, off int, message string) {
	if n := utf8.RuneCountInString(src); n > maxExpression {
		return nil, 0, "the expression has " + strconv.Itoa(n) + " characters; the limit is " + strconv.Itoa(maxExpression)
	}
	e, err := expr.Parse(src)
	if err != nil {
		if se, ok := err.(*expr.SyntaxError); ok {
			off = se.Offset
		}
		return nil, off, "parse error in expression " + strconv.Quote(written) + ": " + err.Error()
	}
	return e, 0, ""
}
