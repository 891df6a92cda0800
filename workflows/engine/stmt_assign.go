package engine

import (
	"strings"

	"example.com/runonce/workflows/expr"
	"example.com/runonce/workflows/syntax"
)

type assignStmt struct{ sets []set }

// set is one entry of an assign: a variable, the path to a member of it, and what to put there.
type set struct {
	name  string
	path  []valuer
	value valuer
}

func (c *compiler) assign(s *syntax.Assign) stmt {
	compiled := &assignStmt{}
	for _, entry := range s.Sets {
		name, path, err := splitTarget(entry.Target.Source())
		if err != nil {
			c.fail(entry.Pos, "assignment to %q: %v", entry.Target.Source(), err)
			continue
		}
		compiled.sets = append(compiled.sets, set{name, path, c.value(entry.Value)})
	}
	return compiled
}

func (s *assignStmt) exec(f *frame, _ string) control {
	for i := range s.sets {
		if err := s.sets[i].do(f); err != nil {
			return f.fail(err)
		}
	}
	return control{}
}

func (s *set) do(f *frame) error {
	value, err := s.value.eval(f)
	if err != nil {
		return err
	}
	if len(s.path) == 0 {
		return f.assign(s.name, value)
	}
	return s.member(f, value)
}

func (s *set) member(f *frame, value any) error {
	path := make([]any, len(s.path))
	for i, p := range s.path {
		var err error
		if path[i], err = p.eval(f); err != nil {
			return err
		}
	}
	v, err := f.scope.findToAssign(s.name)
	if err != nil {
		return err
	}
	if v == nil {
		return faultf(KeyError, "variable %q is not defined", s.name)
	}
	if v.mu != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
	}
	root, grown, err := setPath(v.value, path, value, f.x.cfg.Semantics.IntermediateMaps)
	if err != nil {
		return err
	}
	v.value, v.size = root, v.size+grown
	return f.charge(grown)
}

// splitTarget takes `m.a["b"][i + 1]` apart into m and the values of its members.
func splitTarget(src string) (name string, path []valuer, err error) {
	src = strings.TrimSpace(src)
	at := strings.IndexAny(src, ".[")
	if at < 0 {
		return src, nil, nil
	}
	name, rest := strings.TrimSpace(src[:at]), src[at:]
	for rest != "" {
		var member valuer
		if member, rest, err = nextMember(rest); err != nil {
			return "", nil, err
		}
		path = append(path, member)
		rest = strings.TrimSpace(rest)
	}
	return name, path, nil
}

func nextMember(src string) (member valuer, rest string, err error) {
	if src[0] == '.' {
		end := strings.IndexAny(src[1:], ".[")
		if end < 0 {
			end = len(src) - 1
		}
		return constant{strings.TrimSpace(src[1 : end+1])}, src[end+1:], nil
	}
	end := closing(src)
	if src[0] != '[' || end < 0 {
		return nil, "", faultf(ValueError, "no closing bracket in %q", src)
	}
	e, err := expr.Parse(src[1:end])
	if err != nil {
		return nil, "", err
	}
	return expression{e}, src[end+1:], nil
}

// closing finds the bracket that closes the one src begins with, past nested ones and strings.
func closing(src string) int {
	depth := 0
	var quote byte
	for i := 0; i < len(src); i++ {
		switch ch := src[i]; {
		case quote != 0 && ch == '\\':
			i++
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '"' || ch == '\'':
			quote = ch
		case ch == '[':
			depth++
		case ch == ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
