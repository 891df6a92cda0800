package syntax

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// steps reads a list of named steps.
func (p *parser) steps(n *yaml.Node) []*Step {
	elems := p.sequence(n, "steps")
	if elems != nil && len(elems) == 0 {
		p.errorf(pos(n), "steps is empty; a list of steps has one or more")
	}
	out := make([]*Step, 0, len(elems))
	for _, e := range elems {
		f, ok := p.single(e, "a step")
		if !ok {
			continue
		}
		s := p.step(f.key, f.pos, p.mapping(f.value, "step "+strconv.Quote(f.key)))
		out = append(out, s)
	}
	return out
}

// statements are the keys that say what a step does, and the keys that go with each.
var statements = map[string][]string{
	"assign": nil, "call": {"args", "result"}, "switch": nil, "for": nil, "parallel": nil, "try": {"retry", "except"},
	"raise": nil, "return": nil, "steps": nil,
}

// step reads the body of a step, named or inline.
func (p *parser) step(name string, at Pos, fields []field) *Step {
	if p.depth++; p.depth > maxNesting {
		p.errorf(at, "steps are nested too deeply")
		p.depth--
		return &Step{Name: name, Pos: at}
	}
	defer func() { p.depth-- }()
	s := &Step{Name: name, Pos: at}
	by := map[string]field{}
	for _, f := range fields {
		by[f.key] = f
	}
	what := p.whichStatement(s, fields)
	for _, f := range fields {
		if f.key == "next" {
			s.Next = &Jump{Target: p.word(f), Pos: pos(f.value)}
			continue
		}
		if f.key != what && !slices.Contains(statements[what], f.key) {
			p.strayKey(s, f, what)
		}
	}
	if what == "" && s.Next == nil {
		p.errorf(at, "step %sdoes nothing: give it assign, call, switch, for, parallel, try, raise, return, steps or next", quoted(name))
	}
	if what != "" {
		s.Body = p.statement(what, by)
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
		if _, ok := statements[f.key]; !ok {
			continue
		}
		if what != "" {
			p.errorf(f.pos, "step %shas both %s and %s; make two steps of it", quoted(s.Name), what, f.key)
			continue
		}
		what = f.key
	}
	return what
}

func (p *parser) strayKey(s *Step, f field, what string) {
	if _, ok := statements[f.key]; ok {
		return // reported as a second statement
	}
	for statement, with := range statements {
		if slices.Contains(with, f.key) {
			p.errorf(f.pos, "%s goes with %s only", f.key, statement)
			return
		}
	}
	p.errorf(f.pos, "step %shas no field %q", quoted(s.Name), f.key)
}

func (p *parser) statement(what string, by map[string]field) Stmt {
	f := by[what]
	switch what {
	case "assign":
		return p.assign(f)
	case "call":
		return p.call(f, by)
	case "switch":
		return p.switchStmt(f)
	case "for":
		return p.forStmt(f)
	case "parallel":
		return p.parallel(f)
	case "try":
		return p.try(f, by)
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
	if len(elems) < 1 || len(elems) > maxAssignments {
		p.errorf(pos(f.value), "assign has %d entries; 1 to %d are allowed", len(elems), maxAssignments)
	}
	for _, e := range elems {
		entry, ok := p.single(e, "an entry of assign")
		if !ok {
			continue
		}
		target := entry.key
		if src, ok := inner(target); ok {
			p.errorf(entry.pos, "the target of an assignment is written without ${}: %s", src)
			continue
		}
		set := &Set{Pos: entry.pos, Target: p.target(target, entry.pos), Value: p.value(entry.value)}
		a.Sets = append(a.Sets, set)
	}
	return a
}

func (p *parser) call(f field, by map[string]field) *Call {
	c := &Call{Pos: f.pos, Func: p.word(f)}
	if args, ok := by["args"]; ok {
		c.ArgPos = args.pos
		switch args.value.Kind {
		case yaml.MappingNode:
			c.Args = p.valueFields(args.value)
		case yaml.ScalarNode:
			if args.value.ShortTag() == "!!null" {
				break
			}
			fallthrough
		default:
			p.errorf(pos(args.value), "args must be a map of arguments")
		}
	}
	if result, ok := by["result"]; ok {
		c.Result = p.word(result)
		if c.Result != "" && !identifier(c.Result) {
			p.errorf(pos(result.value), "result must be the name of a variable, not %q", c.Result)
		}
	}
	return c
}

func (p *parser) switchStmt(f field) *Switch {
	s := &Switch{Pos: f.pos}
	elems := p.sequence(f.value, "switch")
	if len(elems) < 1 || len(elems) > maxCases {
		p.errorf(pos(f.value), "switch has %d conditions; 1 to %d are allowed", len(elems), maxCases)
	}
	for _, e := range elems {
		c := &Case{Pos: pos(e)}
		var body []field
		for _, f := range p.mapping(e, "an entry of switch") {
			if f.key == "condition" {
				c.Cond = p.value(f.value)
			} else {
				body = append(body, f)
			}
		}
		if c.Cond == nil {
			p.errorf(c.Pos, "an entry of switch has no condition")
		}
		if len(body) == 0 {
			c.Step = &Step{Pos: c.Pos}
		} else {
			c.Step = p.step("", c.Pos, body)
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

func (p *parser) forStmt(f field) *For {
	out := &For{Pos: f.pos}
	for _, f := range p.mapping(f.value, "for") {
		switch f.key {
		case "value":
			out.Value = p.loopVariable(f)
		case "index":
			out.Index = p.loopVariable(f)
		case "in":
			out.In = p.value(f.value)
		case "range":
			out.Range = p.value(f.value)
			if v := out.Range; v.Kind == List && len(v.List) != 2 || v.Kind == Literal || v.Kind == Map {
				p.errorf(v.Pos, "range must be a list of two numbers")
			}
		case "steps":
			out.Steps = p.steps(f.value)
		default:
			p.errorf(f.pos, "for has no field %q; it has value, index, in, range and steps", f.key)
		}
	}
	switch {
	case out.Value == "":
		p.errorf(out.Pos, "for has no value: name the loop variable")
	case (out.In == nil) == (out.Range == nil):
		p.errorf(out.Pos, "for must have either in or range")
	case out.Index != "" && out.Range != nil:
		p.errorf(out.Pos, "index goes with in, not with range")
	case out.Steps == nil:
		p.errorf(out.Pos, "for has no steps")
	}
	return out
}

func (p *parser) loopVariable(f field) string {
	name := p.word(f)
	if name != "" && !identifier(name) {
		p.errorf(pos(f.value), "%s must be the name of a variable, not %q", f.key, name)
	}
	return name
}

func (p *parser) parallel(f field) *Parallel {
	out := &Parallel{Pos: f.pos}
	for _, f := range p.mapping(f.value, "parallel") {
		switch f.key {
		case "exception_policy":
			if s := p.word(f); s != "" && s != "continueAll" {
				p.errorf(pos(f.value), "exception_policy is %q; continueAll is the only one", s)
			}
		case "shared":
			out.SharedPos = f.pos
			for _, e := range p.sequence(f.value, "shared") {
				out.Shared = append(out.Shared, p.word(field{"shared", f.pos, e}))
			}
		case "concurrency_limit":
			out.Concurrency = p.value(f.value)
			if n, ok := out.Concurrency.Lit.(int64); out.Concurrency.Kind != Expression && (!ok || n < 1) {
				p.errorf(out.Concurrency.Pos, "concurrency_limit must be a positive number")
			}
		case "branches":
			out.Branches = p.branches(f)
		case "for":
			out.For = p.forStmt(f)
		default:
			p.errorf(f.pos, "parallel has no field %q; it has exception_policy, shared, concurrency_limit, branches and for", f.key)
		}
	}
	if (out.Branches == nil) == (out.For == nil) {
		p.errorf(out.Pos, "parallel must have either branches or for")
	}
	return out
}

func (p *parser) branches(f field) []*Branch {
	out := []*Branch{}
	seen := map[string]bool{}
	for _, e := range p.sequence(f.value, "branches") {
		entry, ok := p.single(e, "a branch")
		if !ok {
			continue
		}
		if seen[entry.key] {
			p.errorf(entry.pos, "branch %q is there twice", entry.key)
		}
		seen[entry.key] = true
		b := &Branch{Name: entry.key, Pos: entry.pos}
		for _, f := range p.mapping(entry.value, "branch "+strconv.Quote(entry.key)) {
			if f.key != "steps" {
				p.errorf(f.pos, "a branch has steps only, not %q", f.key)
				continue
			}
			b.Steps = p.steps(f.value)
		}
		out = append(out, b)
	}
	if len(out) < minBranches || len(out) > maxBranches {
		p.errorf(pos(f.value), "parallel has %d branches; %d to %d are allowed", len(out), minBranches, maxBranches)
	}
	return out
}

func (p *parser) try(f field, by map[string]field) *Try {
	t := &Try{Pos: f.pos}
	body := p.mapping(f.value, "try")
	if i := slices.IndexFunc(body, func(f field) bool { return f.key == "steps" }); i >= 0 && len(body) == 1 {
		t.Body = p.steps(body[i].value)
	} else if len(body) > 0 {
		t.Body = []*Step{p.step("", f.pos, body)}
	}
	if f, ok := by["retry"]; ok {
		t.Retry = p.retry(f)
	}
	if f, ok := by["except"]; ok {
		t.Except = p.except(f)
	}
	if t.Retry == nil && t.Except == nil {
		p.errorf(t.Pos, "try must have a retry, an except or both")
	}
	return t
}

func (p *parser) retry(f field) *Retry {
	r := &Retry{Pos: f.pos}
	if f.value.Kind != yaml.MappingNode {
		r.Policy = p.value(f.value)
		if r.Policy.Kind != Expression {
			p.errorf(r.Policy.Pos, "retry must be a policy like ${http.default_retry}, or a map with predicate, max_retries and backoff")
		}
		return r
	}
	for _, f := range p.fields(f.value) {
		switch f.key {
		case "predicate":
			r.Predicate = p.value(f.value)
		case "max_retries":
			r.MaxRetries = p.value(f.value)
		case "backoff":
			p.backoff(f, r)
		default:
			p.errorf(f.pos, "retry has no field %q; it has predicate, max_retries and backoff", f.key)
		}
	}
	return r
}

func (p *parser) backoff(f field, r *Retry) {
	if f.value.Kind == yaml.ScalarNode && strings.Contains(f.value.Value, "default_backoff") {
		base := p.value(f.value)
		if base.Kind != Expression {
			p.errorf(base.Pos, "backoff must be a map, or ${retry.default_backoff}")
		}
		return // what the fields default to
	}
	for _, f := range p.mapping(f.value, "backoff") {
		switch f.key {
		case "initial_delay":
			r.InitialDelay = p.value(f.value)
		case "max_delay":
			r.MaxDelay = p.value(f.value)
		case "multiplier":
			r.Multiplier = p.value(f.value)
		default:
			p.errorf(f.pos, "backoff has no field %q; it has initial_delay, max_delay and multiplier", f.key)
		}
	}
}

func (p *parser) except(f field) *Except {
	e := &Except{Pos: f.pos}
	var body []field
	for _, f := range p.mapping(f.value, "except") {
		switch f.key {
		case "as":
			e.As = p.loopVariable(f)
		case "steps":
			e.Steps = p.steps(f.value)
		default:
			body = append(body, f)
		}
	}
	switch {
	case e.Steps != nil && len(body) > 0:
		p.errorf(body[0].pos, "except has no field %q beside steps", body[0].key)
	case len(body) > 0:
		e.Steps = []*Step{p.step("", e.Pos, body)}
	case e.Steps == nil:
		p.errorf(e.Pos, "except has no steps")
	}
	return e
}
