package syntax

import (
	"strings"

	"example.com/runonce/workflows/expr"
)

func (c *checker) value(in *scope, v *Value) {
	switch v.Kind {
	case Expression:
		c.expr(in, v.Pos, v.Expr.Root())
	case List:
		for _, e := range v.List {
			c.value(in, e)
		}
	case Map:
		for _, f := range v.Map {
			c.field(in, f)
		}
	}
}

func (c *checker) field(in *scope, f *Field) {
	if f.KeyExpr != nil {
		c.expr(in, f.Pos, f.KeyExpr.Root())
	}
	c.value(in, f.Value)
}

// expr checks the names in an expression.
func (c *checker) expr(in *scope, at Pos, n expr.Node) {
	switch x := n.(type) {
	case *expr.Call:
		c.exprCall(at, x)
	case *expr.Ident, *expr.Member:
		if path, ok := expr.Path(x); ok {
			c.name(in, at, path)
			return
		}
	}
	for _, child := range expr.Children(n) {
		c.expr(in, at, child)
	}
}

// name checks a variable with members, or a function that is named without a call.
func (c *checker) name(in *scope, at Pos, path string) {
	root, _, _ := strings.Cut(path, ".")
	if in.has(root) {
		return
	}
	if _, std := Functions[path]; std || Values[path] || c.subs[path] != nil {
		return
	}
	c.errorf(at, "symbol '%s' is neither a variable nor a sub-workflow name", root)
}

func (c *checker) exprCall(at Pos, x *expr.Call) {
	if strings.HasPrefix(x.Func, "googleapis.") {
		return // an official sample calls one so
	}
	if f := Functions[x.Func]; f != nil && f.Blocking {
		c.errorf(at, "%s is a blocking call and cannot be used in an expression: make it a step of its own with call", x.Func)
		return
	}
	params, need, ok := c.signature(x.Func)
	if !ok {
		c.errorf(at, "symbol '%s' is neither a function of the standard library nor a sub-workflow name", x.Func)
		return
	}
	switch {
	case len(x.Args) > len(params):
		c.errorf(at, "%s takes %d arguments, not %d", x.Func, len(params), len(x.Args))
	case len(x.Args) < len(need):
		c.errorf(at, "%s lacks the argument %q", x.Func, need[len(x.Args)])
	}
}

// indexes checks what the brackets of an assignment's target name.
func (c *checker) indexes(in *scope, at Pos, n expr.Node) {
	switch x := n.(type) {
	case *expr.Member:
		c.indexes(in, at, x.X)
	case *expr.Index:
		c.indexes(in, at, x.X)
		c.expr(in, at, x.I)
	}
}
