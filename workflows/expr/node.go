package expr

// Node is one part of an expression. Offset is where it begins, in bytes from the start of the source.
type Node interface {
	Offset() int
}

type at int

// Offset implements Node.
func (a at) Offset() int { return int(a) }

type (
	// Literal is null, a boolean, a number or a string.
	Literal struct {
		at
		Value any
	}
	// Ident is a name: a variable, or the first word of a function's.
	Ident struct {
		at
		Name string
	}
	// ListLit is [a, b].
	ListLit struct {
		at
		Elems []Node
	}
	// MapLit is {"k": v}. Keys are expressions.
	MapLit struct {
		at
		Keys, Values []Node
	}
	// Member is x.name.
	Member struct {
		at
		X    Node
		Name string
	}
	// Index is x[i].
	Index struct {
		at
		X, I Node
	}
	// Call is f(args), with Func a dotted name: a standard function or a subworkflow.
	Call struct {
		at
		Func string
		Args []Node
	}
	// Unary is -x, +x or not x.
	Unary struct {
		at
		Op string
		X  Node
	}
	// Binary is x op y, with op one of + - * / // % < <= > >= == != in and or.
	Binary struct {
		at
		Op   string
		X, Y Node
	}
)

// Children are the parts of n, in source order.
func Children(n Node) []Node {
	switch n := n.(type) {
	case *ListLit:
		return n.Elems
	case *MapLit:
		var out []Node
		for i := range n.Keys {
			out = append(out, n.Keys[i], n.Values[i])
		}
		return out
	case *Member:
		return []Node{n.X}
	case *Index:
		return []Node{n.X, n.I}
	case *Call:
		return n.Args
	case *Unary:
		return []Node{n.X}
	case *Binary:
		return []Node{n.X, n.Y}
	}
	return nil
}

// Walk calls visit for n and all below it, outside in, in source order. Where visit returns false it goes no deeper.
func Walk(n Node, visit func(Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, child := range Children(n) {
		Walk(child, visit)
	}
}

// Path is n as a dotted name, "a.b.c", or false where it is something else.
func Path(n Node) (string, bool) {
	switch n := n.(type) {
	case *Ident:
		return n.Name, true
	case *Member:
		if head, ok := Path(n.X); ok {
			return head + "." + n.Name, true
		}
	}
	return "", false
}
