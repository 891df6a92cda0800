package syntax

import "example.com/runonce/workflows/expr"

// target reads the left side of an assignment: a variable, and members and indexes of it.
func (p *parser) target(src string, at Pos) *expr.Expr {
	e := p.expression(src, at, -len("${"))
	if e == nil {
		return nil
	}
	if Root(e.Root()) == "" {
		p.errorf(at, "%q cannot be assigned to: write a variable, a member or an index", src)
	}
	return e
}

// Root is the variable that a target, or a member of it, begins with; "" where n is something else.
func Root(n expr.Node) string {
	for {
		switch x := n.(type) {
		case *expr.Ident:
			return x.Name
		case *expr.Member:
			n = x.X
		case *expr.Index:
			n = x.X
		default:
			return ""
		}
	}
}
