package engine

import "example.com/runonce/workflows/syntax"

type switchStmt struct{ cases []switchCase }

type switchCase struct {
	cond valuer
	body *block
}

func (c *compiler) switchStmt(s *syntax.Switch) stmt {
	compiled := &switchStmt{}
	for _, entry := range s.Cases {
		compiled.cases = append(compiled.cases, switchCase{c.value(entry.Cond), c.block([]*syntax.Step{entry.Step})})
	}
	return compiled
}

func (s *switchStmt) inner() []*block {
	blocks := make([]*block, len(s.cases))
	for i := range s.cases {
		blocks[i] = s.cases[i].body
	}
	return blocks
}

func (s *switchStmt) exec(f *frame, entry string) control {
	for i := range s.cases {
		if entry != "" {
			if _, here := s.cases[i].body.at[entry]; here {
				return f.runBlock(s.cases[i].body, entry)
			}
			continue
		}
		v, err := s.cases[i].cond.eval(f)
		if err != nil {
			return f.fail(err)
		}
		holds, ok := v.(bool)
		if !ok {
			return f.fail(faultf(TypeError, "switch condition must be a boolean, not %s", typeName(v)))
		}
		if holds {
			return f.runBlock(s.cases[i].body, "")
		}
	}
	return control{}
}
