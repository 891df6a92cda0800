package engine

// control is how a step or a block ended, and where to go on.
type control struct {
	kind   controlKind
	target string // jump
	value  any    // back
	err    *Error // raising
}

type controlKind uint8

const (
	fall     controlKind = iota // to the next step
	jump                        // to the step named target, of the same routine
	brk                         // out of the loop
	cont                        // to the loop's next turn
	end                         // of the routine, without a value
	back                        // return value
	raising                     // err looks for an except
	abortRun                    // the execution was cancelled: no except sees this
)

func jumpTo(target string) control {
	switch target {
	case "end":
		return control{kind: end}
	case "break":
		return control{kind: brk}
	case "continue":
		return control{kind: cont}
	}
	return control{kind: jump, target: target}
}

type raiseStmt struct{ value valuer }

func (s *raiseStmt) exec(f *frame, _ string) control {
	v, err := s.value.eval(f)
	if err != nil {
		return f.fail(err)
	}
	return f.fail(raised(v))
}

type returnStmt struct{ value valuer }

func (s *returnStmt) exec(f *frame, _ string) control {
	v, err := s.value.eval(f)
	if err != nil {
		return f.fail(err)
	}
	return control{kind: back, value: v}
}

type blockStmt struct{ body *block }

func (s *blockStmt) inner() []*block { return []*block{s.body} }

func (s *blockStmt) exec(f *frame, entry string) control { return f.runBlock(s.body, entry) }
