package engine

import (
	"context"
	"strings"
)

// frame is one activation of a routine on one thread.
type frame struct {
	x       *execution
	ctx     context.Context
	thread  *thread
	routine *routine
	scope   *scope
	depth   int
	current *step // the innermost named step under way
	entry   int64 // its entry in the step log; 0 without one
}

// thread is one strand of an execution: main, or a parallel branch.
type thread struct {
	id      string
	nesting int // parallel steps around it
	// previous is the last entry of the step log.
	previous int64
}

// runBlock takes steps from the first, or from where the step named entry is, until one leaves the block.
func (f *frame) runBlock(b *block, entry string) control {
	i := 0
	if entry != "" {
		i = b.at[entry]
	}
	for i < len(b.steps) {
		s := b.steps[i]
		if entry == s.name {
			entry = ""
		}
		c := f.runStep(s, entry)
		entry = ""
		switch c.kind {
		case fall:
			i++
		case jump:
			to, here := b.at[c.target]
			if !here {
				return c
			}
			i, entry = to, c.target
		default:
			return c
		}
	}
	return control{}
}

func (f *frame) runStep(s *step, entry string) control {
	outer, outerEntry := f.current, f.entry
	if s.name != "" {
		f.current = s
	}
	if err := f.tick(s); err != nil {
		c := f.fail(err)
		f.current = outer
		return c
	}
	if f.x.cfg.OnStep != nil {
		return f.runLogged(s, entry, outer, outerEntry)
	}
	c := f.take(s, entry)
	f.current = outer
	return c
}

func (f *frame) take(s *step, entry string) control {
	var c control
	if s.stmt != nil {
		c = s.stmt.exec(f, entry)
	}
	if c.kind == fall && s.next != nil {
		return *s.next
	}
	return c
}

// tick counts the step and notices a cancel.
func (f *frame) tick(s *step) error {
	if s.name == "" && !f.x.cfg.Semantics.CountUnnamed {
		return nil
	}
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if n := f.x.steps.Add(1); f.x.cfg.Limits.Steps > 0 && n > f.x.cfg.Limits.Steps {
		return faultf(ResourceLimitError, "Maximum number of steps exceeded: %d", f.x.cfg.Limits.Steps)
	}
	return nil
}

// fail raises err at the step under way, unless the execution itself is over.
func (f *frame) fail(err error) control {
	if f.ctx.Err() != nil {
		return control{kind: abortRun}
	}
	e := f.x.raise(err)
	e.Frames = append(e.Frames, f.here())
	return control{kind: raising, err: e}
}

func (f *frame) here() Frame {
	at := Frame{Routine: f.routine.name}
	if f.current != nil {
		at.Step, at.Line = f.current.name, f.current.line
	}
	return at
}

// Lookup, Call and Func make a frame what an expression is evaluated in.

// Lookup returns the value of a variable that is in scope.
func (f *frame) Lookup(name string) (any, bool) {
	if v := f.scope.find(name); v != nil {
		return v.get(), true
	}
	return nil, false
}

// Func returns the value that stands for a function used without a call.
func (f *frame) Func(name string) (any, bool) {
	if r := f.x.program.routines[name]; r != nil {
		return &function{name: name, routine: r}, true
	}
	if v, ok := namedValues[name]; ok {
		return v, true
	}
	if fn := library[name]; fn != nil {
		return fn, true
	}
	return nil, false
}

// Call runs a subworkflow or a standard function with positional arguments.
func (f *frame) Call(ctx context.Context, name string, args []any) (any, error) {
	if r := f.x.program.routines[name]; r != nil {
		return f.callRoutine(r, args, nil)
	}
	fn := library[name]
	if fn == nil && strings.HasPrefix(name, "googleapis.") {
		return f.callConnectorPositional(name, args)
	}
	if fn == nil {
		return nil, faultf(TypeError, "unknown function %q", name)
	}
	if len(args) > len(fn.params) {
		return nil, faultf(TypeError, "%s takes %d arguments, got %d", name, len(fn.params), len(args))
	}
	return f.callStd(fn, args)
}

// assign writes a variable: where the name is in scope, that one, else a new one of the innermost scope.
func (f *frame) assign(name string, value any) error {
	if s, ok := value.(string); ok {
		if _, err := f.x.bounded(s); err != nil {
			return err
		}
	}
	size := sizeOf(value)
	v, err := f.scope.findToAssign(name)
	if err != nil {
		return err
	}
	if v == nil {
		f.scope.declare(name, value, size)
		return f.charge(size)
	}
	return f.replace(v, value, size)
}

func (f *frame) replace(v *variable, value any, size int64) error {
	if v.mu != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
	}
	grown := size - v.size
	v.value, v.size = value, size
	return f.charge(grown)
}

// charge counts memory; a string that is too long is refused before it gets here.
func (f *frame) charge(grown int64) error {
	limit := f.x.cfg.Limits.Memory
	if n := f.x.memory.Add(grown); grown > 0 && limit > 0 && n > limit {
		return faultf(ResourceLimitError, "Memory usage limit exceeded")
	}
	return nil
}

// leaveScope ends the innermost scope and frees its variables.
func (f *frame) leaveScope() {
	f.x.memory.Add(-f.scope.total())
	f.scope = f.scope.parent
}
