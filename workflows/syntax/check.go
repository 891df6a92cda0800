package syntax

import (
	"maps"
	"slices"
	"strings"
)

// check makes the deploy-time checks that need more than one place of the source.
func check(p *parser, w *Workflow) {
	subs := map[string]*Routine{}
	for _, r := range w.Routines {
		if subs[r.Name] != nil {
			p.errorf(r.Pos, "routine %q is there twice", r.Name)
		}
		subs[r.Name] = r
	}
	for _, r := range w.Routines {
		c := &checker{parser: p, subs: subs, routine: r, names: map[string]bool{}}
		c.collectNames(r.Steps)
		top := &scope{vars: map[string]bool{}}
		for _, param := range r.Params {
			top.vars[param.Name] = true
			if param.Default != nil {
				c.value(&scope{}, param.Default)
			}
		}
		c.assigned(top, r.Steps)
		c.steps(top, r.Steps)
	}
}

// checker checks one routine.
type checker struct {
	*parser
	subs    map[string]*Routine
	routine *Routine
	names   map[string]bool // of all steps
	loops   int             // how many loops the walk is in
}

// scope is where variables live: the routine, a loop's body, a branch, an except block. Whether a variable has a value when
// it is read is not known before it runs, so a scope holds whatever is assigned anywhere in it.
type scope struct {
	above *scope
	vars  map[string]bool
	// parallel marks a branch or an iteration of a parallel step: writes to variables from above need sharing.
	parallel bool
	shared   map[string]bool
	before   map[string]bool // what was assigned above before the parallel step began
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.above {
		if s.vars[name] {
			return true
		}
	}
	return false
}

// collectNames finds all step names of the routine, nested ones too: a name is unique, so that a next can reach it.
func (c *checker) collectNames(steps []*Step) {
	walkSteps(steps, func(s *Step) {
		if s.Name == "" {
			return
		}
		if c.names[s.Name] {
			c.errorf(s.Pos, "duplicate step name %q in routine %q", s.Name, c.routine.Name)
		}
		c.names[s.Name] = true
	})
}

// walkSteps calls visit for steps and all below them.
func walkSteps(steps []*Step, visit func(*Step)) {
	for _, s := range steps {
		visit(s)
		for _, inner := range blocks(s.Body) {
			walkSteps(inner, visit)
		}
	}
}

// blocks are the lists of steps inside a statement.
func blocks(s Stmt) [][]*Step {
	switch s := s.(type) {
	case *Switch:
		var out [][]*Step
		for _, c := range s.Cases {
			out = append(out, []*Step{c.Step})
		}
		return out
	case *For:
		return [][]*Step{s.Steps}
	case *Parallel:
		if s.For != nil {
			return [][]*Step{s.For.Steps}
		}
		var out [][]*Step
		for _, b := range s.Branches {
			out = append(out, b.Steps)
		}
		return out
	case *Try:
		if s.Except != nil {
			return [][]*Step{s.Body, s.Except.Steps}
		}
		return [][]*Step{s.Body}
	case *Block:
		return [][]*Step{s.Steps}
	}
	return nil
}

// assigned adds to a scope what the steps assign in it, loops and branches left out: they have scopes of their own.
func (c *checker) assigned(in *scope, steps []*Step) {
	add := func(name string) {
		if name != "" && (in.above == nil || !in.above.has(name)) {
			in.vars[name] = true
		}
	}
	for _, s := range steps {
		switch b := s.Body.(type) {
		case *Assign:
			for _, set := range b.Sets {
				if set.Target != nil {
					add(Root(set.Target.Root()))
				}
			}
		case *Call:
			add(b.Result)
		case *For, *Parallel:
		default:
			for _, inner := range blocks(b) {
				c.assigned(in, inner)
			}
		}
	}
}

func (c *checker) steps(in *scope, steps []*Step) {
	for _, s := range steps {
		c.statement(in, s.Body)
		if s.Next != nil {
			c.jump(s.Next)
		}
	}
}

func (c *checker) jump(j *Jump) {
	switch j.Target {
	case "end", "":
	case "break", "continue":
		if c.loops == 0 && !c.names[j.Target] {
			c.errorf(j.Pos, "%s is allowed inside a for loop only", j.Target)
		}
	default:
		if !c.names[j.Target] {
			c.errorf(j.Pos, "next names step %q, which routine %q does not have", j.Target, c.routine.Name)
		}
	}
}

func (c *checker) statement(in *scope, s Stmt) {
	switch s := s.(type) {
	case *Assign:
		for _, set := range s.Sets {
			c.value(in, set.Value)
			c.set(in, set)
		}
	case *Call:
		c.call(in, s)
	case *Switch:
		for _, one := range s.Cases {
			if v := one.Cond; v.Kind != Expression {
				if _, ok := v.Lit.(bool); !ok {
					c.errorf(v.Pos, "condition must be an expression or a boolean")
				}
			}
			c.value(in, one.Cond)
			c.steps(in, []*Step{one.Step})
		}
	case *For:
		c.loop(in, s, &scope{above: in, vars: map[string]bool{}})
	case *Parallel:
		c.parallel(in, s)
	case *Try:
		c.try(in, s)
	case *Raise:
		c.value(in, s.Value)
	case *Return:
		c.value(in, s.Value)
	case *Block:
		c.steps(in, s.Steps)
	}
}

// set checks the left side of an assignment; the variable itself needs no value yet, what its indexes name does.
func (c *checker) set(in *scope, s *Set) {
	name := Root(s.Target.Root())
	c.writes(in, s.Pos, name)
	c.indexes(in, s.Pos, s.Target.Root())
}

// writes refuses a write to a variable from outside a parallel step that does not share it.
func (c *checker) writes(in *scope, at Pos, name string) {
	for s := in; s != nil; s = s.above {
		if s.vars[name] && !(s.parallel && s.before[name]) {
			return
		}
		if s.parallel && s.before[name] && !s.shared[name] {
			c.errorf(at, "variable %q is assigned in a parallel step, but it is not shared: list it under shared", name)
			return
		}
	}
}

func (c *checker) loop(in *scope, s *For, body *scope) {
	for _, v := range []*Value{s.In, s.Range} {
		if v != nil {
			c.value(in, v)
		}
	}
	body.vars[s.Value] = true
	if s.Index != "" {
		body.vars[s.Index] = true
	}
	c.assigned(body, s.Steps)
	c.loops++
	c.steps(body, s.Steps)
	c.loops--
}

func (c *checker) parallel(in *scope, s *Parallel) {
	shared := map[string]bool{}
	for _, name := range s.Shared {
		shared[name] = true
		if !in.has(name) {
			c.errorf(s.SharedPos, "shared variable %q is not assigned before the parallel step", name)
		}
	}
	if s.Concurrency != nil {
		c.value(in, s.Concurrency)
	}
	before := c.assignedBefore(s)
	inner := func() *scope {
		return &scope{above: in, vars: map[string]bool{}, parallel: true, shared: shared, before: before}
	}
	if s.For != nil {
		c.loop(in, s.For, inner())
		return
	}
	loops := c.loops
	c.loops = 0 // no break out of a branch
	for _, b := range s.Branches {
		body := inner()
		c.assigned(body, b.Steps)
		c.steps(body, b.Steps)
	}
	c.loops = loops
}

// assignedBefore are the variables that stand before a parallel step in the source, the params included. Only those can be
// said to be the parent's; one that is assigned later as well may be the branch's own.
func (c *checker) assignedBefore(until *Parallel) map[string]bool {
	out := map[string]bool{}
	for _, p := range c.routine.Params {
		out[p.Name] = true
	}
	var walk func(steps []*Step) (found bool)
	walk = func(steps []*Step) bool {
		for _, s := range steps {
			switch b := s.Body.(type) {
			case *Assign:
				for _, set := range b.Sets {
					out[Root(set.Target.Root())] = true
				}
			case *Call:
				out[b.Result] = true
			case *Parallel:
				if b == until {
					return true
				}
			}
			kept := maps.Clone(out)
			for _, inner := range blocks(s.Body) {
				if walk(inner) {
					return true
				}
			}
			if _, own := s.Body.(*For); own {
				out = kept // a loop's variables vanish with it
			}
			if _, own := s.Body.(*Parallel); own {
				out = kept
			}
		}
		return false
	}
	walk(c.routine.Steps)
	delete(out, "")
	return out
}

func (c *checker) try(in *scope, s *Try) {
	c.steps(in, s.Body)
	if r := s.Retry; r != nil {
		for _, v := range []*Value{r.Policy, r.Predicate, r.MaxRetries, r.InitialDelay, r.MaxDelay, r.Multiplier} {
			if v != nil {
				c.value(in, v)
			}
		}
	}
	if e := s.Except; e != nil {
		body := &scope{above: in, vars: map[string]bool{}}
		if e.As != "" {
			body.vars[e.As] = true
		}
		c.steps(body, e.Steps)
	}
}

// call checks that the function is there and that its arguments fit.
func (c *checker) call(in *scope, s *Call) {
	for _, f := range s.Args {
		c.field(in, f)
	}
	if s.Result != "" {
		c.writes(in, s.Pos, s.Result)
	}
	if strings.HasPrefix(s.Func, "googleapis.") || s.Func == "" {
		return
	}
	params, need, ok := c.signature(s.Func)
	if !ok {
		c.errorf(s.Pos, "call names %q, which is neither a subworkflow nor a function of the standard library", s.Func)
		return
	}
	given := map[string]bool{}
	for _, f := range s.Args {
		if f.KeyExpr != nil {
			return // not known before it runs
		}
		given[f.Key] = true
		if !slices.Contains(params, f.Key) {
			c.errorf(f.Pos, "%s has no parameter %q; it has %s", s.Func, f.Key, strings.Join(params, ", "))
		}
	}
	for _, name := range need {
		if !given[name] {
			c.errorf(s.Pos, "call of %s lacks the argument %q", s.Func, name)
		}
	}
}

// signature is what a function takes, and what of that must be passed.
func (c *checker) signature(name string) (params, need []string, ok bool) {
	if f, ok := Functions[name]; ok {
		return f.Params, f.Params[:f.Need], true
	}
	r, ok := c.subs[name]
	if !ok {
		return nil, nil, false
	}
	for _, p := range r.Params {
		params = append(params, p.Name)
		if p.Default == nil {
			need = append(need, p.Name)
		}
	}
	return params, need, true
}
