package syntax

import (
	"strconv"

	"gopkg.in/yaml.v3"
)

// steps reads a list of named steps. It is never nil.
func (p *parser) steps(n *yaml.Node) []*Step {
	elems := p.sequence(n, "steps")
	if elems != nil && len(elems) == 0 {
		p.errorf(pos(n), "steps is empty; a list of steps has one or more")
	}
	out := make([]*Step, 0, len(elems))
	for _, e := range elems {
		if f, ok := p.single(e, "a step"); ok {
			out = append(out, p.step(f.key, f.pos, p.mapping(f.value, "step "+strconv.Quote(f.key))))
		}
	}
	return out
}

// A statement is a key that says what a step does.
var statements = map[string]bool{
	"assign": true, "call": true, "switch": true, "for": true, "parallel": true, "try": true, "raise": true, "return": true, "steps": true,
}

// companions are the keys that go with one statement only.
var companions = map[string]string{"args": "call", "result": "call", "retry": "try", "except": "try"}

// step reads the body of a step, named or inline. fields is nil where it is no map, which is reported.
func (p *parser) step(name string, at Pos, fields []field) *Step {
	s := &Step{Name: name, Pos: at}
	if !p.enter(at) {
		return s
	}
	defer p.leave()
	what := p.whichStatement(s, fields)
	for _, f := range fields {
		switch {
		case f.key == "next":
			s.Next = &Jump{Target: p.word(f), Pos: pos(f.value)}
		case statements[f.key] || companions[f.key] == what && what != "":
		case companions[f.key] != "":
			p.errorf(f.pos, "%s goes with %s only", f.key, companions[f.key])
		default:
			p.errorf(f.pos, "step %shas no field %q", quoted(name), f.key)
		}
	}
	switch {
	case what != "":
		s.Body = p.statement(what, fields)
	case s.Next == nil && fields != nil:
		p.errorf(at, "step %sdoes nothing: give it assign, call, switch, for, parallel, try, raise, return, steps or next", quoted(name))
	}
	return s
}

func quoted(name string) string {
	if name == "" {
		return ""
	}
	return strconv.Quote(name) + " "
}

// whichStatement is the one statement of a step.
func (p *parser) whichStatement(s *Step, fields []field) string {
	what := ""
	for _, f := range fields {
		switch {
		case !statements[f.key]:
		case what != "":
			p.errorf(f.pos, "step %shas both %s and %s; make two steps of it", quoted(s.Name), what, f.key)
		default:
			what = f.key
		}
	}
	return what
}

func (p *parser) statement(what string, fields []field) Stmt {
	f, _ := find(fields, what)
	switch what {
	case "assign":
		return p.assign(f)
	case "call":
		return p.call(f, fields)
	case "switch":
		return p.switchStmt(f)
	case "for":
		return p.forStmt(f)
	case "parallel":
		return p.parallel(f)
	case "try":
		return p.try(f, fields)
	case "raise":
		return &Raise{f.pos, p.value(f.value)}
	case "return":
		return &Return{f.pos, p.value(f.value)}
	}
	return &Block{f.pos, p.steps(f.value)}
}

func (p *parser) assign(f field) *Assign {
	a := &Assign{Pos: f.pos}
	elems := p.sequence(f.value, "assign")
	if n := len(elems); elems != nil && (n < 1 || n > maxAssignments) {
		p.report(pos(f.value), "assign has %d entries; 1 to %d are allowed", n, maxAssignments)
	}
	for _, e := range elems {
		entry, ok := p.single(e, "an entry of assign")
		if !ok {
			continue
		}
		set := &Set{Pos: entry.pos, Target: p.target(entry.key, entry.pos), Value: p.value(entry.value)}
		if set.Target != nil {
			a.Sets = append(a.Sets, set)
		}
	}
	return a
}

func (p *parser) call(f field, fields []field) *Call {
	c := &Call{Pos: f.pos, Func: p.word(f), FuncPos: pos(f.value)}
	if args, ok := find(fields, "args"); ok {
		c.ArgPos = args.pos
		switch {
		case args.value.Kind == yaml.MappingNode:
			c.Args = p.valueFields(args.value)
		case args.value.Kind != yaml.ScalarNode || args.value.Tag != "!!null":
			p.errorf(pos(args.value), "args must be a map of arguments")
		}
	}
	if result, ok := find(fields, "result"); ok {
		c.Result, c.ResultPos = p.variable(result), pos(result.value)
	}
	return c
}

func (p *parser) switchStmt(f field) *Switch {
	s := &Switch{Pos: f.pos}
	elems := p.sequence(f.value, "switch")
	if n := len(elems); elems != nil && (n < 1 || n > maxCases) {
		p.report(pos(f.value), "switch has %d conditions; 1 to %d are allowed", n, maxCases)
	}
	for _, e := range elems {
		if e.Kind != yaml.MappingNode {
			p.errorf(pos(e), "an entry of switch must be a map with a condition")
			continue
		}
		s.Cases = append(s.Cases, p.switchCase(e))
	}
	return s
}

func (p *parser) switchCase(n *yaml.Node) *Case {
	c := &Case{Pos: pos(n)}
	var body []field
	for _, f := range p.fields(n) {
		if f.key == "condition" {
			c.Cond = p.condition(f.value)
			continue
		}
		body = append(body, f)
	}
	if c.Cond == nil {
		p.report(c.Pos, "an entry of switch has no condition")
		c.Cond = &Value{Pos: c.Pos, Lit: true}
	}
	if len(body) == 0 {
		c.Step = &Step{Pos: c.Pos}
	} else {
		c.Step = p.step("", c.Pos, body)
	}
	return c
}

func (p *parser) condition(n *yaml.Node) *Value {
	v := p.value(n)
	if _, ok := v.Lit.(bool); !ok && v.Kind != Expression {
		p.report(v.Pos, "condition must be an expression or a boolean")
	}
	return v
}
