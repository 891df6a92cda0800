package engine

import "sync"

// variable is one variable: its value and the size that it was charged with. Once a parallel step shares it, mu guards
// both.
type variable struct {
	value any
	size  int64
	mu    *sync.Mutex // nil until shared
}

func (v *variable) get() any {
	if v.mu == nil {
		return v.value
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value
}

// scope holds the variables that end with a routine, a loop's turn, a branch or an except block.
type scope struct {
	vars   map[string]*variable
	parent *scope
	// barrier is set on the outermost scope of a parallel branch: of the scopes beyond it, only shared variables may be
	// assigned.
	barrier bool
	shared  map[string]bool
}

func newScope(parent *scope) *scope { return &scope{parent: parent} }

func (s *scope) find(name string) *variable {
	for ; s != nil; s = s.parent {
		if v := s.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// findToAssign is find for writing: it raises an error for a parent's variable that the parallel step does not share.
func (s *scope) findToAssign(name string) (*variable, error) {
	sealed := false
	for ; s != nil; s = s.parent {
		if v := s.vars[name]; v != nil {
			if sealed {
				return nil, faultf(TypeError, "variable %q is not shared with this parallel branch", name)
			}
			return v, nil
		}
		if s.barrier && !s.shared[name] {
			sealed = true
		}
	}
	return nil, nil
}

// declare makes a new variable of this very scope.
func (s *scope) declare(name string, value any, size int64) {
	if s.vars == nil {
		s.vars = make(map[string]*variable, 4)
	}
	s.vars[name] = &variable{value: value, size: size}
}

// total is what the scope's own variables were charged with.
func (s *scope) total() int64 {
	var n int64
	for _, v := range s.vars {
		n += v.size
	}
	return n
}
