package expr

import (
	"strconv"
	"strings"
)

// Format writes n as source: one space around operators, parentheses only where they are needed, strings in double quotes.
// Parse reads it back to the same tree.
func Format(n Node) string {
	var b strings.Builder
	format(&b, n, 0)
	return b.String()
}

// Binding of what is no binary operator.
const (
	bindUnary = bindMul + 1 + iota
	bindPostfix
)

var bindings = map[string]int{
	"or": bindOr, "and": bindAnd,
	"in": bindCompare, "<": bindCompare, "<=": bindCompare, ">": bindCompare, ">=": bindCompare, "==": bindCompare, "!=": bindCompare,
	"+": bindAdd, "-": bindAdd,
	"*": bindMul, "/": bindMul, "//": bindMul, "%": bindMul,
}

func binding(n Node) int {
	switch n := n.(type) {
	case *Binary:
		return bindings[n.Op]
	case *Unary:
		return bindUnary
	case *Literal:
		if negative(n.Value) {
			return bindUnary
		}
	}
	return bindPostfix
}

func negative(v any) bool {
	switch v := v.(type) {
	case int64:
		return v < 0
	case float64:
		return v < 0 || v == 0 && strconv.FormatFloat(v, 'g', -1, 64)[0] == '-'
	}
	return false
}

// format writes n where at least min must bind, in parentheses if it binds less.
func format(b *strings.Builder, n Node, min int) {
	if binding(n) < min {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch n := n.(type) {
	case *Literal:
		formatLiteral(b, n.Value)
	case *Ident:
		b.WriteString(n.Name)
	case *ListLit:
		b.WriteByte('[')
		formatList(b, n.Elems)
		b.WriteByte(']')
	case *MapLit:
		formatMap(b, n)
	case *Member:
		format(b, n.X, bindPostfix)
		b.WriteByte('.')
		b.WriteString(n.Name)
	case *Index:
		format(b, n.X, bindPostfix)
		b.WriteByte('[')
		format(b, n.I, 0)
		b.WriteByte(']')
	case *Call:
		b.WriteString(n.Func)
		b.WriteByte('(')
		formatList(b, n.Args)
		b.WriteByte(')')
	case *Unary:
		b.WriteString(n.Op)
		if n.Op == "not" {
			b.WriteByte(' ')
		}
		format(b, n.X, bindUnary)
	case *Binary:
		own := bindings[n.Op]
		format(b, n.X, own)
		b.WriteString(" " + n.Op + " ")
		format(b, n.Y, own+1)
	}
}

func formatList(b *strings.Builder, nodes []Node) {
	for i, n := range nodes {
		if i > 0 {
			b.WriteString(", ")
		}
		format(b, n, 0)
	}
}

func formatMap(b *strings.Builder, n *MapLit) {
	b.WriteByte('{')
	for i := range n.Keys {
		if i > 0 {
			b.WriteString(", ")
		}
		format(b, n.Keys[i], 0)
		b.WriteString(": ")
		format(b, n.Values[i], 0)
	}
	b.WriteByte('}')
}

func formatLiteral(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		b.WriteString(s)
	case string:
		formatString(b, v)
	}
}

func formatString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < 0x20 {
				hex := strconv.FormatInt(int64(c), 16)
				b.WriteString(`\u0000`[:6-len(hex)] + hex)
				continue
			}
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}
