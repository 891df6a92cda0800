package expr

// Target takes e apart as the left side of an assignment: `m.a["b"]` is the variable m and the path "a", "b". The parts of
// the path are expressions, those of members constant ones. ok is false where e cannot be assigned to.
func (e *Expr) Target() (name string, path []*Expr, ok bool) {
	for n := e.root; ; {
		switch x := n.(type) {
		case *Ident:
			for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
				path[i], path[j] = path[j], path[i]
			}
			return x.Name, path, true
		case *Member:
			path = append(path, Compile(&Literal{x.span, x.Name}))
			n = x.X
		case *Index:
			path = append(path, Compile(x.I))
			n = x.X
		default:
			return "", nil, false
		}
	}
}

// Constant is the value of an expression that is a literal, and false for any other.
func (e *Expr) Constant() (any, bool) {
	if lit, ok := e.root.(*Literal); ok {
		return lit.Value, true
	}
	return nil, false
}
