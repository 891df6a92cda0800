package engine

import "example.com/runonce/workflows/syntax"

type tryStmt struct {
	body   *block
	retry  *retry // nil: none
	as     string
	except *block // nil: none
}

func (c *compiler) try(s *syntax.Try) stmt {
	compiled := &tryStmt{body: c.block(s.Body)}
	if s.Retry != nil {
		compiled.retry = c.retry(s.Retry)
	}
	if s.Except != nil {
		compiled.as = s.Except.As
		compiled.except = c.block(s.Except.Steps)
	}
	return compiled
}

// inner leaves the except block out: a jump from outside has no error to bind.
func (s *tryStmt) inner() []*block { return []*block{s.body} }

// exec runs the body, again as the policy says, and then the except block. The whole body is run again. An error in the
// policy itself, or in its predicate, is not what the except block was written for and passes it by.
func (s *tryStmt) exec(f *frame, entry string) control {
	c := f.runBlock(s.body, entry)
	if c.kind == raising && s.retry != nil {
		again, err := s.retry.start(f)
		if err != nil {
			return f.fail(err)
		}
		for c.kind == raising {
			more, err := again.next(f, c.err)
			if err != nil {
				return f.fail(err)
			}
			if !more {
				break
			}
			c = f.attempt(s.body, again.made)
		}
	}
	if c.kind != raising || s.except == nil {
		return c
	}
	return s.handle(f, c.err)
}

func (f *frame) attempt(body *block, n int) control {
	if f.x.cfg.OnStep == nil {
		return f.runBlock(body, "")
	}
	return f.within(StepRetry, int64(n-1), int64(n), func() control { return f.runBlock(body, "") })
}

// handle runs the except block with the error bound, in a scope of its own.
func (s *tryStmt) handle(f *frame, e *Error) control {
	f.scope = newScope(f.scope)
	defer f.leaveScope()
	if s.as != "" {
		if err := f.bindLocal(s.as, e.Payload); err != nil {
			return f.fail(err)
		}
	}
	if f.x.cfg.OnStep == nil {
		return f.runBlock(s.except, "")
	}
	return f.within(StepExcept, 0, 0, func() control { return f.runBlock(s.except, "") })
}
