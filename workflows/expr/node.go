package expr

// Node is one part of an expression. Offset and End bound it in the source, in bytes: source[Offset():End()] is the part as
// written, without parentheses around it. In a tree that was not parsed, both are 0.
type Node interface {
	Offset() int
	End() int
}

type span struct{ off, end int }

// Offset implements Node.
func (s span) Offset() int { return s.off }

// End implements Node.
func (s span) End() int { return s.end }

type (
	// Literal is null, a boolean, a number or a string; Value is nil, bool, int64, float64 or string.
	Literal struct {
		span
		Value any
	}
	// Ident is a name: a variable, or the first word of a function's.
	Ident struct {
		span
		Name string
	}
	// ListLit is [a, b].
	ListLit struct {
		span
		Elems []Node
	}
	// MapLit is {"k": v}. Keys are expressions.
	MapLit struct {
		span
		Keys, Values []Node
	}
	// Member is x.name.
	Member struct {
		span
		X    Node
		Name string
	}
	// Index is x[i].
	Index struct {
		span
		X, I Node
	}
	// Call is f(args), with Func a dotted name: a standard function or a subworkflow.
	Call struct {
		span
		Func string
		Args []Node
	}
	// Unary is -x, +x or not x; Op is in lower case.
	Unary struct {
		span
		Op string
		X  Node
	}
	// Binary is x op y, with op one of + - * / // % < <= > >= == != in and or, in lower case.
	Binary struct {
		span
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

// Root is the name that n, a name with members and indexes, begins with; "" where n is something else.
func Root(n Node) string {
	for {
		switch x := n.(type) {
		case *Ident:
			return x.Name
		case *Member:
			n = x.X
		case *Index:
			n = x.X
		default:
			return ""
		}
	}
}

// Vars are the names that n reads, each once, in the order in which they stand. Names of called functions are not among
// them; of a function that is named without a call, as in http.default_retry, the first word is.
func Vars(n Node) []string {
	var out []string
	seen := map[string]bool{}
	Walk(n, func(n Node) bool {
		if id, ok := n.(*Ident); ok && !seen[id.Name] {
			seen[id.Name] = true
			out = append(out, id.Name)
		}
		return true
	})
	return out
}
