package syntax

import (
	"fmt"
	"reflect"
	"strings"

	"example.com/runonce/workflows/expr"
)

// dump writes a tree, a line a node, indented by what it is in; with places where at is set.
func dump(n Node, at bool) string {
	var b strings.Builder
	d := dumper{&b, at, 0}
	Walk(n, d.visit)
	return b.String()
}

type dumper struct {
	b     *strings.Builder
	at    bool
	depth int
}

// visit walks what is below itself, so that it knows the depth.
func (d dumper) visit(n Node) bool {
	name := strings.ToLower(reflect.TypeOf(n).Elem().Name())
	fmt.Fprintf(d.b, "%s%s%s", strings.Repeat("  ", d.depth), name, words(n))
	if d.at {
		fmt.Fprintf(d.b, " @%d:%d", n.At().Line, n.At().Col)
	}
	d.b.WriteByte('\n')
	below := dumper{d.b, d.at, d.depth + 1}
	first := true
	Walk(n, func(m Node) bool {
		if first {
			first = false
			return true
		}
		return below.visit(m)
	})
	return false
}

func words(n Node) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch n := n.(type) {
	case *Routine:
		add("%s", n.Name)
	case *Param:
		add("%s", n.Name)
	case *Step:
		add("%s", n.Name)
	case *Jump:
		add("%s", n.Target)
	case *Set:
		add("%s", n.Target.Source())
	case *Call:
		add("%s -> %s", n.Func, n.Result)
	case *For:
		add("%s %s in=%t range=%t", n.Value, n.Index, n.In != nil, n.Range != nil)
	case *Parallel:
		add("%v", n.Shared)
	case *Branch:
		add("%s", n.Name)
	case *Except:
		add("%s", n.As)
	case *Field:
		add("%q", n.Key)
		if n.KeyExpr != nil {
			add("= ${%s}", expr.Format(n.KeyExpr.Root()))
		}
	case *Value:
		switch n.Kind {
		case Expression:
			add("${%s}", n.Expr.Source())
		case Literal:
			add("%T %v", n.Lit, n.Lit)
		case List:
			add("list of %d", len(n.List))
		case Map:
			add("map of %d", len(n.Map))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " " + strings.Join(out, " ")
}
