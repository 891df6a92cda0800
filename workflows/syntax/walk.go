package syntax

// Node is a part of the tree: *Workflow, *Routine, *Param, *Step, *Jump, a Stmt, *Set, *Case, *Branch, *Retry, *Except, *Field or
// *Value. Expressions have nodes of their own, in package expr.
type Node interface {
	// At is where the node begins.
	At() Pos
}

// At implements Node.
func (*Workflow) At() Pos   { return Pos{1, 1} }
func (n *Routine) At() Pos  { return n.Pos } // At implements Node.
func (n *Param) At() Pos    { return n.Pos } // At implements Node.
func (n *Step) At() Pos     { return n.Pos } // At implements Node.
func (n *Jump) At() Pos     { return n.Pos } // At implements Node.
func (n *Assign) At() Pos   { return n.Pos } // At implements Node.
func (n *Set) At() Pos      { return n.Pos } // At implements Node.
func (n *Call) At() Pos     { return n.Pos } // At implements Node.
func (n *Switch) At() Pos   { return n.Pos } // At implements Node.
func (n *Case) At() Pos     { return n.Pos } // At implements Node.
func (n *For) At() Pos      { return n.Pos } // At implements Node.
func (n *Parallel) At() Pos { return n.Pos } // At implements Node.
func (n *Branch) At() Pos   { return n.Pos } // At implements Node.
func (n *Try) At() Pos      { return n.Pos } // At implements Node.
func (n *Retry) At() Pos    { return n.Pos } // At implements Node.
func (n *Except) At() Pos   { return n.Pos } // At implements Node.
func (n *Raise) At() Pos    { return n.Pos } // At implements Node.
func (n *Return) At() Pos   { return n.Pos } // At implements Node.
func (n *Block) At() Pos    { return n.Pos } // At implements Node.
func (n *Field) At() Pos    { return n.Pos } // At implements Node.
func (n *Value) At() Pos    { return n.Pos } // At implements Node.

// Walk calls visit for n and all below it, outside in, in the order in which they run or stand in the source. Where visit
// returns false it goes no deeper.
func Walk(n Node, visit func(Node) bool) {
	if !visit(n) {
		return
	}
	w := walker{visit}
	switch n := n.(type) {
	case *Workflow:
		for _, r := range n.Routines {
			Walk(r, visit)
		}
	case *Routine:
		for _, p := range n.Params {
			Walk(p, visit)
		}
		w.steps(n.Steps)
	case *Param:
		w.values(n.Default)
	case *Step:
		if n.Body != nil {
			Walk(n.Body.(Node), visit)
		}
		if n.Next != nil {
			Walk(n.Next, visit)
		}
	case *Set:
		w.values(n.Value)
	case *Case:
		w.values(n.Cond)
		Walk(n.Step, visit)
	case *Branch:
		w.steps(n.Steps)
	case *Retry:
		w.values(n.Policy, n.Predicate, n.MaxRetries, n.Backoff, n.InitialDelay, n.MaxDelay, n.Multiplier)
	case *Except:
		w.steps(n.Steps)
	case *Field:
		w.values(n.Value)
	case *Value:
		w.values(n.List...)
		w.fields(n.Map)
	case Stmt:
		w.stmt(n)
	}
}

type walker struct{ visit func(Node) bool }

func (w walker) stmt(s Stmt) {
	switch s := s.(type) {
	case *Assign:
		for _, set := range s.Sets {
			Walk(set, w.visit)
		}
	case *Call:
		w.fields(s.Args)
	case *Switch:
		for _, c := range s.Cases {
			Walk(c, w.visit)
		}
	case *For:
		w.values(s.In, s.Range)
		w.steps(s.Steps)
	case *Parallel:
		w.values(s.Concurrency)
		for _, b := range s.Branches {
			Walk(b, w.visit)
		}
		if s.For != nil {
			Walk(s.For, w.visit)
		}
	case *Try:
		w.steps(s.Body)
		if s.Retry != nil {
			Walk(s.Retry, w.visit)
		}
		if s.Except != nil {
			Walk(s.Except, w.visit)
		}
	case *Raise:
		w.values(s.Value)
	case *Return:
		w.values(s.Value)
	case *Block:
		w.steps(s.Steps)
	}
}

func (w walker) steps(steps []*Step) {
	for _, s := range steps {
		Walk(s, w.visit)
	}
}

func (w walker) fields(fields []*Field) {
	for _, f := range fields {
		Walk(f, w.visit)
	}
}

// values walks those that are there.
func (w walker) values(values ...*Value) {
	for _, v := range values {
		if v != nil {
			Walk(v, w.visit)
		}
	}
}
