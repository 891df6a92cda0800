package expr

import (
	"fmt"
	"math"
	"strings"
)

// maxDepth bounds nesting, so that no source can exhaust the stack. The service allows 400 characters, so it never shows.
const maxDepth = 200

// Parse compiles an expression. src is without ${ and }. The error is a *SyntaxError.
func Parse(src string) (*Expr, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	root, err := p.expression(0)
	if err == nil && p.peek().kind != end {
		err = p.unexpected("an operator")
	}
	if err != nil {
		return nil, err
	}
	return &Expr{src: src, root: root, eval: compile(root)}, nil
}

// Compile makes an expression of a tree, as tools build or cut one. Its Source is what Format writes.
func Compile(n Node) *Expr { return &Expr{src: Format(n), root: n, eval: compile(n)} }

type parser struct {
	tokens []token
	i      int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.i] }

// end is where the token before this one ends.
func (p *parser) end() int { return p.tokens[p.i-1].end }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != end {
		p.i++
	}
	return t
}

func (p *parser) unexpected(want string) error {
	t := p.peek()
	return &SyntaxError{t.off, fmt.Sprintf("unexpected %s, want %s", t.describe(), want)}
}

// accept takes the next token if it is this operator or bracket.
func (p *parser) accept(op string) bool {
	if t := p.peek(); t.kind == punct && t.text == op {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(op string) error {
	if !p.accept(op) {
		return p.unexpected(fmt.Sprintf("%q", op))
	}
	return nil
}

// Binding, from the loosest. All comparisons and in share one level; not is tighter than they are.
const (
	bindOr = iota + 1
	bindAnd
	bindCompare
	bindAdd
	bindMul
)

// binary is the operator at the front and how tightly it binds; 0: none.
func (p *parser) binary() (op string, bind int) {
	t := p.peek()
	switch t.kind {
	case name:
		switch word := keyword(t.text); word {
		case "or":
			return word, bindOr
		case "and":
			return word, bindAnd
		case "in":
			return word, bindCompare
		}
	case punct:
		switch t.text {
		case "<", "<=", ">", ">=", "==", "!=":
			return t.text, bindCompare
		case "+", "-":
			return t.text, bindAdd
		case "*", "/", "//", "%":
			return t.text, bindMul
		}
	}
	return "", 0
}

// keyword is a word operator in lower case; they are written all lower or all upper. "": an ordinary name.
func keyword(s string) string {
	switch s {
	case "and", "or", "not", "in":
		return s
	case "AND", "OR", "NOT", "IN":
		return strings.ToLower(s)
	}
	return ""
}

// expression parses operators that bind tighter than min.
func (p *parser) expression(min int) (Node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &SyntaxError{p.peek().off, "the expression is nested too deeply"}
	}
	defer func() { p.depth-- }()
	start := p.peek().off
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		op, bind := p.binary()
		if bind <= min {
			return x, nil
		}
		p.next()
		y, err := p.expression(bind)
		if err != nil {
			return nil, err
		}
		x = &Binary{span{start, p.end()}, op, x, y}
	}
}

func (p *parser) unary() (Node, error) {
	t := p.peek()
	op := ""
	switch {
	case t.kind == punct && (t.text == "-" || t.text == "+"):
		op = t.text
	case t.kind == name && keyword(t.text) == "not":
		op = "not"
	default:
		return p.postfix()
	}
	p.next()
	if p.depth++; p.depth > maxDepth {
		return nil, &SyntaxError{t.off, "the expression is nested too deeply"}
	}
	defer func() { p.depth-- }()
	if n := p.peek(); op == "-" && n.value == (minInt{}) {
		p.next()
		return &Literal{span{t.off, n.end}, int64(math.MinInt64)}, nil
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	at := span{t.off, p.end()}
	if lit, ok := x.(*Literal); ok && op == "-" { // a negative number is a literal
		switch v := lit.Value.(type) {
		case int64:
			if v != math.MinInt64 {
				return &Literal{at, -v}, nil
			}
		case float64:
			return &Literal{at, -v}, nil
		}
	}
	return &Unary{at, op, x}, nil
}

// postfix parses members, indexes and calls.
func (p *parser) postfix() (Node, error) {
	start := p.peek()
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	for named := start.kind == name; ; {
		t := p.peek()
		switch {
		case p.accept("."):
			n := p.peek()
			if n.kind != name {
				return nil, p.unexpected("a name after the dot")
			}
			p.next()
			x = &Member{span{start.off, n.end}, x, n.text}
		case p.accept("["):
			i, err := p.expression(0)
			if err != nil {
				return nil, err
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			x, named = &Index{span{start.off, p.end()}, x, i}, false
		case t.kind == punct && t.text == "(":
			path, ok := Path(x)
			if !ok || !named {
				return nil, p.unexpected("an operator: only a name can be called")
			}
			p.next()
			args, err := p.list(")")
			if err != nil {
				return nil, err
			}
			x, named = &Call{span{start.off, p.end()}, path, args}, false
		default:
			return x, nil
		}
	}
}

func (p *parser) primary() (Node, error) {
	t := p.peek()
	at := span{t.off, t.end}
	switch {
	case t.kind == number && t.value == (minInt{}):
		return nil, &SyntaxError{t.off, fmt.Sprintf("number %s is out of range", t.text)}
	case t.kind == number:
		p.next()
		return &Literal{at, t.value}, nil
	case t.kind == text:
		p.next()
		return &Literal{at, t.text}, nil
	case t.kind == name && (keyword(t.text) == "" || t.text == "IN"): // an operator only where one can stand
		p.next()
		switch t.text {
		case "true", "True", "TRUE":
			return &Literal{at, true}, nil
		case "false", "False", "FALSE":
			return &Literal{at, false}, nil
		case "null", "Null", "NULL":
			return &Literal{at, nil}, nil
		}
		return &Ident{at, t.text}, nil
	case p.accept("("):
		x, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		return x, p.expect(")")
	case p.accept("["):
		elems, err := p.list("]")
		return &ListLit{span{t.off, p.end()}, elems}, err
	case p.accept("{"):
		return p.mapLit(t.off)
	}
	return nil, p.unexpected("a value")
}

// list parses comma-separated expressions up to the closing bracket.
func (p *parser) list(closing string) ([]Node, error) {
	var out []Node
	for !p.accept(closing) {
		if len(out) > 0 {
			if err := p.expect(","); err != nil {
				return nil, p.unexpected(fmt.Sprintf(`"," or %q`, closing))
			}
		}
		x, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (p *parser) mapLit(off int) (Node, error) {
	m := &MapLit{}
	for !p.accept("}") {
		if len(m.Keys) > 0 {
			if err := p.expect(","); err != nil {
				return nil, p.unexpected(`"," or "}"`)
			}
		}
		k, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		m.Keys, m.Values = append(m.Keys, k), append(m.Values, v)
	}
	m.span = span{off, p.end()}
	return m, nil
}
