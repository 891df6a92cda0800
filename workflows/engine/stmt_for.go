package engine

import (
	"fmt"

	"example.com/runonce/workflows/syntax"
)

// loop is the head of a for: over a list, a map's keys, or an inclusive range.
type loop struct {
	value, index string
	in, rng      valuer // exactly one is set
}

type forStmt struct {
	loop
	body *block
}

func (c *compiler) loop(s *syntax.For) loop {
	l := loop{value: s.Value, index: s.Index}
	if s.In != nil {
		l.in = c.value(s.In)
	} else {
		l.rng = c.value(s.Range)
	}
	return l
}

func (c *compiler) forStmt(s *syntax.For) stmt {
	return &forStmt{c.loop(s), c.block(s.Steps)}
}

// exec runs the body once per turn. The loop has one scope, which ends with it.
func (s *forStmt) exec(f *frame, _ string) control {
	turns, err := s.turns(f)
	if err != nil {
		return f.fail(err)
	}
	f.scope = newScope(f.scope)
	defer f.leaveScope()
	var c control
	for i := int64(0); i < turns.count && c.kind == fall; i++ {
		if err := s.bind(f, turns, i); err != nil {
			return f.fail(err)
		}
		c = f.turn(s.body, i, turns.count)
		if c.kind == cont {
			c = control{}
		}
	}
	if c.kind == brk {
		return control{}
	}
	return c
}

// bind sets the loop's variables in the loop's own scope.
func (l *loop) bind(f *frame, t turns, i int64) error {
	if err := f.bindLocal(l.value, t.at(i)); err != nil {
		return err
	}
	if l.index == "" {
		return nil
	}
	return f.bindLocal(l.index, i)
}

func (f *frame) bindLocal(name string, value any) error {
	size := sizeOf(value)
	if v := f.scope.vars[name]; v != nil {
		return f.replace(v, value, size)
	}
	f.scope.declare(name, value, size)
	return f.charge(size)
}

// turns are the values that a loop goes through.
type turns struct {
	count   int64
	list    []any
	from    int64
	first   float64
	doubles bool
}

func (t turns) at(i int64) any {
	switch {
	case t.list != nil:
		return t.list[i]
	case t.doubles:
		return t.first + float64(i)
	}
	return t.from + i
}

func (l *loop) turns(f *frame) (turns, error) {
	if l.rng != nil {
		return l.rangeTurns(f)
	}
	v, err := l.in.eval(f)
	if err != nil {
		return turns{}, err
	}
	switch v := v.(type) {
	case []any:
		return turns{count: int64(len(v)), list: v}, nil
	case map[string]any:
		keys := stringsToList(sortedKeys(v))
		return turns{count: int64(len(keys)), list: keys}, nil
	}
	return turns{}, faultf(TypeError, "for loop needs a list or a map, not %s", typeName(v))
}

func (l *loop) rangeTurns(f *frame) (turns, error) {
	v, err := l.rng.eval(f)
	if err != nil {
		return turns{}, err
	}
	bounds, ok := v.([]any)
	if !ok || len(bounds) != 2 {
		return turns{}, faultf(TypeError, "range must be a list of two numbers, not %s", describe(v))
	}
	from, isInt := bounds[0].(int64)
	to, bothInt := bounds[1].(int64)
	if isInt && bothInt {
		return turns{count: max(0, to-from+1), from: from}, nil
	}
	first, ok1 := asFloat(bounds[0])
	last, ok2 := asFloat(bounds[1])
	if !ok1 || !ok2 {
		return turns{}, faultf(TypeError, "range must be a list of two numbers, not %s", describe(v))
	}
	if last < first {
		return turns{}, nil
	}
	return turns{count: int64(last-first) + 1, first: first, doubles: true}, nil
}

func describe(v any) string {
	if l, ok := v.([]any); ok {
		return fmt.Sprintf("a list of %d", len(l))
	}
	return typeName(v)
}

func stringsToList(s []string) []any {
	out := make([]any, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out
}
