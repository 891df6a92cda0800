package engine

import (
	"slices"
	"strings"

	"example.com/runonce/workflows/syntax"
)

// callStmt is a call step of a subworkflow, a standard function or a connector; one of the three is set.
type callStmt struct {
	routine   *routine
	std       *function
	connector string
	args      []argument // for routine and std: by the callee's order
	named     valuer     // for connector: the args as one map
	result    string
}

type argument struct {
	index int
	value valuer
}

func (c *compiler) call(s *syntax.Call) (stmt, StepType) {
	compiled := &callStmt{result: s.Result}
	switch {
	case c.program.routines[s.Func] != nil:
		compiled.routine = c.program.routines[s.Func]
		compiled.args = c.argsFor(s, c.params[s.Func])
		return compiled, StepSubworkflow
	case library[s.Func] != nil:
		compiled.std = library[s.Func]
		compiled.args = c.stdArgs(s, compiled.std)
		return compiled, StepStdLib
	case strings.HasPrefix(s.Func, "googleapis."):
		compiled.connector = s.Func
		compiled.named = c.mapOf(s.Args)
		return compiled, StepConnector
	}
	c.fail(s.Pos, "call of unknown function %q", s.Func)
	return compiled, StepStdLib
}

func (c *compiler) argsFor(s *syntax.Call, params []string) []argument {
	var args []argument
	for _, field := range s.Args {
		index := slices.Index(params, field.Key)
		if index < 0 {
			c.fail(field.Pos, "%s has no argument %q", s.Func, field.Key)
			continue
		}
		args = append(args, argument{index, c.value(field.Value)})
	}
	return args
}

// stdArgs is argsFor a standard function, which must get all that it needs.
func (c *compiler) stdArgs(s *syntax.Call, fn *function) []argument {
	args := c.argsFor(s, fn.params)
	for i := 0; i < fn.need; i++ {
		if !slices.ContainsFunc(args, func(a argument) bool { return a.index == i }) {
			c.fail(s.Pos, "%s: missing argument %q", fn.name, fn.params[i])
		}
	}
	return args
}

func (s *callStmt) exec(f *frame, _ string) control {
	value, err := s.do(f)
	if err != nil {
		return f.fail(err)
	}
	if s.result != "" {
		if err := f.assign(s.result, value); err != nil {
			return f.fail(err)
		}
	}
	return control{}
}

func (s *callStmt) do(f *frame) (any, error) {
	if s.connector != "" {
		args, err := s.named.eval(f)
		if err != nil {
			return nil, err
		}
		return f.callConnector(s.connector, args.(map[string]any))
	}
	n := s.arity()
	args, given := make([]any, n), make([]bool, n)
	for _, a := range s.args {
		v, err := a.value.eval(f)
		if err != nil {
			return nil, err
		}
		args[a.index], given[a.index] = v, true
	}
	if s.routine != nil {
		return f.callRoutine(s.routine, args, given)
	}
	return f.callStd(s.std, args)
}

func (s *callStmt) arity() int {
	if s.routine != nil {
		return len(s.routine.params)
	}
	return len(s.std.params)
}
