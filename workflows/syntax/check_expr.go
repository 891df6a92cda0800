package syntax

import (
	"slices"
	"strings"

	"example.com/runonce/workflows/expr"
)

// place turns a byte of an expression into a place of the source, where there is an error.
type place func(off int) Pos

func (c *checker) values(in *scope, values ...*Value) {
	for _, v := range values {
		if v != nil {
			c.value(in, v)
		}
	}
}

func (c *checker) value(in *scope, v *Value) {
	switch v.Kind {
	case Expression:
		if v.Expr != nil {
			c.expression(in, v.Pos, v.Expr)
		}
	case List:
		for _, e := range v.List {
			c.value(in, e)
		}
	case Map:
		c.fields(in, v.Map)
	}
}

func (c *checker) fields(in *scope, fields []*Field) {
	for _, f := range fields {
		if f.KeyExpr != nil {
			c.expression(in, f.Pos, f.KeyExpr)
		}
		c.value(in, f.Value)
	}
}

func (c *checker) expression(in *scope, at Pos, e *expr.Expr) {
	c.expr(in, e.Root(), func(off int) Pos { return c.text.inExpression(at, e.Source(), off) })
}

// index checks the i-th bracket of an assignment's target.
func (c *checker) index(in *scope, s *Set, i int) {
	_, path, _ := s.Target.Target()
	c.expr(in, path[i].Root(), func(off int) Pos { return c.text.inKey(s.Pos, s.Target.Source(), off) })
}

// expr checks the names in an expression.
func (c *checker) expr(in *scope, n expr.Node, at place) {
	switch x := n.(type) {
	case *expr.Call:
		c.exprCall(x, at)
	case *expr.Ident, *expr.Member:
		if path, ok := expr.Path(x); ok {
			c.name(in, x, path, at)
			return
		}
	}
	for _, child := range expr.Children(n) {
		c.expr(in, child, at)
	}
}

// name checks a variable with members, or a function that is named without a call.
func (c *checker) name(in *scope, n expr.Node, path string, at place) {
	root, _, _ := strings.Cut(path, ".")
	if in.has(root) || Functions[path] != nil || Values[path] || Connector(path) || c.subs[path] != nil {
		return
	}
	if !c.lossy[c.routine] && !c.lossy[nil] {
		c.fault(at(n.Offset()), "symbol '%s' is neither a variable nor a sub-workflow name", root)
	}
}

func (c *checker) exprCall(x *expr.Call, at place) {
	if Connector(x.Func) {
		return // an official sample calls one so
	}
	if f := Functions[x.Func]; f != nil && f.Blocking && c.subs[x.Func] == nil {
		c.fault(at(x.Offset()), "%s is a blocking call and cannot be used in an expression: make it a step of its own with call", x.Func)
		return
	}
	s, ok := c.signature(x.Func)
	switch {
	case !ok:
		if !c.lossy[nil] {
			c.fault(at(x.Offset()), "symbol '%s' is neither a function of the standard library nor a sub-workflow name", x.Func)
		}
	case len(x.Args) > len(s.params) && !s.lossy:
		c.fault(at(x.Args[len(s.params)].Offset()), "%s takes %s, not %d", x.Func, count(len(s.params), "argument"), len(x.Args))
	case len(x.Args) < len(s.params) && s.need[s.params[len(x.Args)]]:
		c.fault(at(x.Offset()), "call of %s lacks the argument %q", x.Func, s.params[len(x.Args)])
	}
}

// call checks that the function is there and that its arguments fit.
func (c *checker) call(in *scope, s *Call) {
	c.fields(in, s.Args)
	if s.Result != "" {
		c.write(in, s.ResultPos, s.Result)
	}
	if Connector(s.Func) || s.Func == "" {
		return
	}
	known, ok := c.signature(s.Func)
	if !ok {
		if !c.lossy[nil] {
			c.fault(s.FuncPos, "call names '%s', which is neither a function of the standard library nor a sub-workflow name", s.Func)
		}
		return
	}
	given := map[string]bool{}
	for _, f := range s.Args {
		if f.KeyExpr != nil {
			return // not known before it runs
		}
		given[f.Key] = true
		if !slices.Contains(known.params, f.Key) && !known.lossy {
			c.fault(f.Pos, "%s has no parameter %q; it has %s", s.Func, f.Key, list(known.params))
		}
	}
	for _, name := range known.params {
		if known.need[name] && !given[name] {
			c.fault(s.FuncPos, "call of %s lacks the argument %q", s.Func, name)
		}
	}
}

// signature is what a function takes, in order, and what of that must be passed.
type signature struct {
	params []string
	need   map[string]bool
	lossy  bool // there may be more
}

// signature finds a subworkflow or a standard function.
func (c *checker) signature(name string) (signature, bool) {
	if r, ok := c.subs[name]; ok {
		s := signature{need: map[string]bool{}, lossy: c.lossy[r]}
		for _, p := range r.Params {
			s.params = append(s.params, p.Name)
			s.need[p.Name] = p.Default == nil
		}
		return s, true
	}
	f, ok := Functions[name]
	if !ok {
		return signature{}, false
	}
	return signature{params: f.Params, need: f.needed}, true
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
