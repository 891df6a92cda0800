package syntax

// scope is where variables live: the routine, a loop's body, a branch, an except block; they vanish with it. Whether a variable
// has a value when it is read is not known before it runs, so a scope has whatever is assigned anywhere in it.
type scope struct {
	above *scope
	vars  map[string]bool
	// own are those of vars that the block itself brings: loop variables, the error of an except.
	own map[string]bool
	// assigned are those of vars that the walk has seen assigned: what stands before, in the source.
	assigned map[string]bool
	// parallel marks a branch, or a turn of a parallel loop. What it writes of the scopes above it must be shared.
	parallel bool
	shared   map[string]bool
}

func newScope(above *scope) *scope {
	return &scope{above: above, vars: map[string]bool{}, own: map[string]bool{}, assigned: map[string]bool{}}
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.above {
		if s.vars[name] {
			return true
		}
	}
	return false
}

// declare adds a variable that the block brings; "" is none.
func (s *scope) declare(name string) {
	if name != "" {
		s.vars[name], s.own[name] = true, true
	}
}

// collectVars adds to a scope what the steps assign in it: blocks with scopes of their own are left out, and so are variables
// of the scopes above.
func (c *checker) collectVars(in *scope, steps []*Step) {
	add := func(name string) {
		if name != "" && !in.above.has(name) {
			in.vars[name] = true
		}
	}
	for _, s := range steps {
		switch b := s.Body.(type) {
		case *Assign:
			for _, set := range b.Sets {
				name, _, _ := set.Target.Target()
				add(name)
			}
		case *Call:
			add(b.Result)
		case *Try:
			c.collectVars(in, b.Body)
		case *Switch:
			for _, one := range b.Cases {
				c.collectVars(in, []*Step{one.Step})
			}
		case *Block:
			c.collectVars(in, b.Steps)
		}
	}
}

// write refuses an assignment, in a parallel step, to a variable from outside that is not shared. A variable that stands in the
// source only behind the parallel step may be the branch's own as well, so that is no error.
func (c *checker) write(in *scope, at Pos, name string) {
	for s := in; s != nil; s = s.above {
		if s.own[name] || s.vars[name] && !s.parallel || s.above == nil {
			s.assigned[name] = true
			return
		}
		if !s.parallel || s.shared[name] {
			continue
		}
		if s.above.assignedAbove(name) {
			c.fault(at, "variable '%s' is assigned in a parallel step, but it is not shared: list it under shared", name)
			return
		}
		s.assigned[name] = true
		return
	}
}

func (s *scope) assignedAbove(name string) bool {
	for ; s != nil; s = s.above {
		if s.own[name] || s.assigned[name] {
			return true
		}
	}
	return false
}
