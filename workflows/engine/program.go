package engine

import (
	"fmt"

	"example.com/runonce/workflows/syntax"
)

// Program is a workflow made ready to run. It never changes, so any number of executions may share one.
type Program struct {
	main     *routine
	routines map[string]*routine
}

type routine struct {
	name   string
	params []param
	body   *block
}

type param struct {
	name     string
	fallback valuer // nil: the caller must pass it
}

// block is a list of steps. at finds, for every step that a jump may reach inside the block, the index of the step that
// is it or holds it.
type block struct {
	steps []*step
	at    map[string]int
}

type step struct {
	name string
	line int
	typ  StepType
	stmt stmt // nil: the step has only a next
	next *control
}

// stmt is what a step does. entry names the nested step at which a jump enters; it is empty otherwise.
type stmt interface {
	exec(f *frame, entry string) control
}

// enterable is a stmt whose nested steps jumps from outside may reach.
type enterable interface {
	inner() []*block
}

// Compile makes a checked workflow ready to run. The error names what the engine cannot run, such as a call of a function
// that it does not know; syntax.Parse finds most of these before.
func Compile(w *syntax.Workflow) (*Program, error) {
	c := &compiler{program: &Program{routines: map[string]*routine{}}, params: map[string][]string{}}
	for _, r := range w.Routines {
		c.program.routines[r.Name] = &routine{name: r.Name}
		for _, p := range r.Params {
			c.params[r.Name] = append(c.params[r.Name], p.Name)
		}
	}
	for _, r := range w.Routines {
		c.routine(c.program.routines[r.Name], r)
	}
	if w.Main == nil {
		return nil, fmt.Errorf("workflow %s has no main", w.File)
	}
	c.program.main = c.program.routines[w.Main.Name]
	if c.err != nil {
		return nil, fmt.Errorf("%s:%w", w.File, c.err)
	}
	return c.program, nil
}

type compiler struct {
	program *Program
	params  map[string][]string // by routine
	err     error               // the first
}

func (c *compiler) fail(p syntax.Pos, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%d:%d: %s", p.Line, p.Col, fmt.Sprintf(format, args...))
	}
}

func (c *compiler) routine(into *routine, r *syntax.Routine) {
	for _, p := range r.Params {
		compiled := param{name: p.Name}
		if p.Default != nil {
			compiled.fallback = c.value(p.Default)
		}
		into.params = append(into.params, compiled)
	}
	into.body = c.block(r.Steps)
}

func (c *compiler) block(steps []*syntax.Step) *block {
	b := &block{at: map[string]int{}}
	for i, s := range steps {
		compiled := c.step(s)
		b.steps = append(b.steps, compiled)
		if s.Name != "" {
			b.at[s.Name] = i
		}
		if e, ok := compiled.stmt.(enterable); ok {
			for _, inner := range e.inner() {
				for name := range inner.at {
					if _, taken := b.at[name]; !taken {
						b.at[name] = i
					}
				}
			}
		}
	}
	return b
}

func (c *compiler) step(s *syntax.Step) *step {
	compiled := &step{name: s.Name, line: s.Pos.Line, typ: StepGoto}
	if s.Next != nil {
		next := jumpTo(s.Next.Target)
		compiled.next = &next
	}
	if s.Body == nil {
		return compiled
	}
	compiled.stmt, compiled.typ, compiled.line = c.stmt(s.Body)
	return compiled
}

// stmt compiles a statement; the line is its own, which error contexts name.
func (c *compiler) stmt(s syntax.Stmt) (stmt, StepType, int) {
	switch s := s.(type) {
	case *syntax.Assign:
		return c.assign(s), StepAssign, s.Pos.Line
	case *syntax.Call:
		call, typ := c.call(s)
		return call, typ, s.Pos.Line
	case *syntax.Switch:
		return c.switchStmt(s), StepSwitch, s.Pos.Line
	case *syntax.For:
		return c.forStmt(s), StepFor, s.Pos.Line
	case *syntax.Parallel:
		if s.For != nil {
			return c.parallel(s), StepParallelFor, s.Pos.Line
		}
		return c.parallel(s), StepParallel, s.Pos.Line
	case *syntax.Try:
		return c.try(s), StepTry, s.Pos.Line
	case *syntax.Raise:
		return &raiseStmt{c.value(s.Value)}, StepRaise, s.Pos.Line
	case *syntax.Return:
		return &returnStmt{c.value(s.Value)}, StepReturn, s.Pos.Line
	case *syntax.Block:
		return &blockStmt{c.block(s.Steps)}, StepBlock, s.Pos.Line
	}
	panic(fmt.Sprintf("engine: unknown statement %T", s))
}
