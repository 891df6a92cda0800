package syntax

import (
	"fmt"
)

// check makes the deploy-time checks that need more than one place of the source.
func check(p *parser, w *Workflow) {
	subs := map[string]*Routine{}
	for _, r := range w.Routines {
		subs[r.Name] = r
	}
	for _, r := range w.Routines {
		c := &checker{parser: p, subs: subs, routine: r, names: map[string]Pos{}}
		c.collectNames(r.Steps)
		top := newScope(nil)
		for _, param := range r.Params {
			top.declare(param.Name)
		}
		for _, param := range r.Params {
			if param.Default != nil {
				c.value(top, param.Default)
			}
		}
		c.collectVars(top, r.Steps)
		c.steps(top, r.Steps)
	}
}

// checker checks one routine.
type checker struct {
	*parser
	subs    map[string]*Routine
	routine *Routine
	names   map[string]Pos // of all steps
	loops   int            // how many loops the walk is in
	step    string         // the innermost named step that the walk is in
	doing   string         // what the step's value is for, in the service's words; empty where they are not known
}

// fault reports an error in the step that the walk is in, the way the service begins it.
func (c *checker) fault(at Pos, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if c.step != "" {
		message = "error in step " + c.step + ": " + c.doing + message
	}
	c.report(at, "%s", message)
}

// collectNames finds all step names of the routine, nested ones too: a name is unique, so that a next can reach it.
func (c *checker) collectNames(steps []*Step) {
	walkSteps(steps, func(s *Step) {
		if s.Name == "" {
			return
		}
		if first, twice := c.names[s.Name]; twice {
			c.report(s.Pos, "duplicate step name %q in routine %q; the first is in line %d", s.Name, c.routine.Name, first.Line)
			return
		}
		c.names[s.Name] = s.Pos
	})
}

// walkSteps calls visit for steps and all below them.
func walkSteps(steps []*Step, visit func(*Step)) {
	for _, s := range steps {
		visit(s)
		eachBlock(s.Body, func(inner []*Step) { walkSteps(inner, visit) })
	}
}

// eachBlock calls visit for the lists of steps inside a statement.
func eachBlock(s Stmt, visit func([]*Step)) {
	switch s := s.(type) {
	case *Switch:
		for _, c := range s.Cases {
			visit([]*Step{c.Step})
		}
	case *For:
		visit(s.Steps)
	case *Parallel:
		for _, b := range s.Branches {
			visit(b.Steps)
		}
		if s.For != nil {
			visit(s.For.Steps)
		}
	case *Try:
		visit(s.Body)
		if s.Except != nil {
			visit(s.Except.Steps)
		}
	case *Block:
		visit(s.Steps)
	}
}

func (c *checker) steps(in *scope, steps []*Step) {
	for _, s := range steps {
		outer := c.step
		if s.Name != "" {
			c.step = s.Name
		}
		if s.Body != nil {
			c.statement(in, s.Body)
		}
		if s.Next != nil {
			c.jump(s.Next)
		}
		c.step = outer
	}
}

func (c *checker) jump(j *Jump) {
	_, known := c.names[j.Target]
	switch {
	case known || j.Target == "" || j.Target == "end":
	case j.Target == "break" || j.Target == "continue":
		if c.loops == 0 {
			c.fault(j.Pos, "%s is allowed inside a for loop only", j.Target)
		}
	case !c.lossy[c.routine]:
		c.fault(j.Pos, "next names step '%s', which routine '%s' does not have", j.Target, c.routine.Name)
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
			c.value(in, one.Cond)
			c.steps(in, []*Step{one.Step})
		}
	case *For:
		c.loop(in, s, newScope(in))
	case *Parallel:
		c.parallel(in, s)
	case *Try:
		c.try(in, s)
	case *Raise:
		c.value(in, s.Value)
	case *Return:
		c.doing = "error evaluating return value: "
		c.value(in, s.Value)
		c.doing = ""
	case *Block:
		c.steps(in, s.Steps)
	}
}

// set checks the left side of an assignment; the variable itself needs no value yet, what its indexes name does.
func (c *checker) set(in *scope, s *Set) {
	name, path, _ := s.Target.Target()
	for i, part := range path {
		if _, member := part.Constant(); !member {
			c.index(in, s, i)
		}
	}
	c.write(in, s.Pos, name)
}

func (c *checker) loop(in *scope, s *For, body *scope) {
	c.values(in, s.In, s.Range)
	body.declare(s.Value)
	body.declare(s.Index)
	c.collectVars(body, s.Steps)
	c.loops++
	c.steps(body, s.Steps)
	c.loops--
}

func (c *checker) parallel(in *scope, s *Parallel) {
	shared := map[string]bool{}
	for i, name := range s.Shared {
		shared[name] = true
		if !in.has(name) && !c.lossy[c.routine] {
			c.fault(s.SharedAt[i], "shared variable '%s' is not a variable of the steps around the parallel step", name)
		}
	}
	c.values(in, s.Concurrency)
	if s.For != nil {
		body := newScope(in)
		body.parallel, body.shared = true, shared
		c.loop(in, s.For, body)
	}
	loops := c.loops
	c.loops = 0 // no break out of a branch
	for _, b := range s.Branches {
		body := newScope(in)
		body.parallel, body.shared = true, shared
		c.collectVars(body, b.Steps)
		c.steps(body, b.Steps)
	}
	c.loops = loops
}

func (c *checker) try(in *scope, s *Try) {
	c.steps(in, s.Body)
	if r := s.Retry; r != nil {
		c.values(in, r.Policy, r.Predicate, r.MaxRetries, r.InitialDelay, r.MaxDelay, r.Multiplier, r.Backoff)
	}
	if e := s.Except; e != nil {
		body := newScope(in)
		body.declare(e.As)
		c.collectVars(body, e.Steps)
		c.steps(body, e.Steps)
	}
}
