package syntax

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"example.com/runonce/workflows/expr"
)

func (p *parser) forStmt(f field) *For {
	out := &For{Pos: f.pos}
	fields := p.mapping(f.value, "for")
	for _, f := range fields {
		switch f.key {
		case "value":
			out.Value, out.ValuePos = p.variable(f), pos(f.value)
		case "index":
			out.Index, out.IndexPos = p.variable(f), pos(f.value)
		case "in":
			out.In = p.value(f.value)
		case "range":
			out.Range = p.value(f.value)
			if v := out.Range; v.Kind == List && len(v.List) != 2 || v.Kind == Literal || v.Kind == Map {
				p.report(v.Pos, "range must be a list of two numbers")
			}
		case "steps":
			out.Steps = p.steps(f.value)
		default:
			p.errorf(f.pos, "for has no field %q; it has value, index, in, range and steps", f.key)
		}
	}
	if fields == nil {
		return out
	}
	if out.ValuePos == (Pos{}) {
		p.errorf(out.Pos, "for has no value: name the loop variable")
	}
	if (out.In == nil) == (out.Range == nil) {
		p.report(out.Pos, "for must have either in or range")
	} else if out.Index != "" && out.Range != nil {
		p.report(out.IndexPos, "index goes with in, not with range")
	}
	if out.Steps == nil {
		p.errorf(out.Pos, "for has no steps")
	}
	return out
}

func (p *parser) parallel(f field) *Parallel {
	out := &Parallel{Pos: f.pos}
	fields := p.mapping(f.value, "parallel")
	for _, f := range fields {
		switch f.key {
		case "exception_policy":
			if s := p.word(f); s != "" && s != "continueAll" {
				p.report(pos(f.value), "exception_policy is %q; continueAll is the only one", s)
			}
		case "shared":
			p.shared(f, out)
		case "concurrency_limit":
			out.Concurrency = p.value(f.value)
			if n, ok := out.Concurrency.Lit.(int64); out.Concurrency.Kind != Expression && (!ok || n < 1) {
				p.report(out.Concurrency.Pos, "concurrency_limit must be a positive number")
			}
		case "branches":
			out.Branches = p.branches(f)
		case "for":
			out.For = p.forStmt(f)
		default:
			p.errorf(f.pos, "parallel has no field %q; it has exception_policy, shared, concurrency_limit, branches and for", f.key)
		}
	}
	if fields != nil && (out.Branches == nil) == (out.For == nil) {
		p.errorf(out.Pos, "parallel must have either branches or for")
	}
	return out
}

func (p *parser) shared(f field, out *Parallel) {
	out.SharedPos = f.pos
	for _, e := range p.sequence(f.value, "shared") {
		if name := p.variable(field{"shared", f.pos, e}); name != "" {
			out.Shared, out.SharedAt = append(out.Shared, name), append(out.SharedAt, pos(e))
		}
	}
}

// branches reads a list of named branches. It is never nil.
func (p *parser) branches(f field) []*Branch {
	out := []*Branch{}
	elems := p.sequence(f.value, "branches")
	if n := len(elems); elems != nil && (n < minBranches || n > maxBranches) {
		p.report(pos(f.value), "parallel has %d branches; %d to %d are allowed", n, minBranches, maxBranches)
	}
	seen := map[string]bool{}
	for _, e := range elems {
		entry, ok := p.single(e, "a branch")
		if !ok {
			continue
		}
		if seen[entry.key] {
			p.report(entry.pos, "branch %q is there twice", entry.key)
		}
		seen[entry.key] = true
		out = append(out, p.branch(entry))
	}
	return out
}

func (p *parser) branch(entry field) *Branch {
	b := &Branch{Name: entry.key, Pos: entry.pos}
	what := "branch " + strconv.Quote(entry.key)
	fields := p.mapping(entry.value, what)
	for _, f := range fields {
		if f.key != "steps" {
			p.errorf(f.pos, "%s has steps only, not %q", what, f.key)
			continue
		}
		b.Steps = p.steps(f.value)
	}
	if fields != nil && b.Steps == nil {
		p.errorf(b.Pos, "%s has no steps", what)
	}
	return b
}

func (p *parser) try(f field, fields []field) *Try {
	t := &Try{Pos: f.pos, Body: p.tryBody(f)}
	if f, ok := find(fields, "retry"); ok {
		t.Retry = p.retry(f)
	}
	if f, ok := find(fields, "except"); ok {
		t.Except = p.except(f)
	}
	if t.Retry == nil && t.Except == nil {
		p.report(t.Pos, "try must have a retry, an except or both")
	}
	return t
}

// tryBody reads one step inline, steps, or (as the published schema has it) a bare list of steps.
func (p *parser) tryBody(f field) []*Step {
	if f.value.Kind == yaml.SequenceNode {
		return p.steps(f.value)
	}
	body := p.mapping(f.value, "try")
	if len(body) == 1 && body[0].key == "steps" {
		return p.steps(body[0].value)
	}
	return []*Step{p.step("", f.pos, body)}
}

func (p *parser) retry(f field) *Retry {
	r := &Retry{Pos: f.pos}
	if f.value.Kind != yaml.MappingNode {
		r.Policy = p.value(f.value)
		if r.Policy.Kind != Expression {
			p.report(r.Policy.Pos, "retry must be a policy like ${http.default_retry}, or a map with predicate, max_retries and backoff")
		}
		return r
	}
	for _, f := range p.fields(f.value) {
		switch f.key {
		case "predicate":
			r.Predicate = p.value(f.value)
			if r.Predicate.Kind != Expression {
				p.report(r.Predicate.Pos, "predicate must be an expression that names a function or a subworkflow, like ${http.default_retry_predicate}")
			}
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
	if f.value.Kind == yaml.ScalarNode {
		r.Backoff = p.value(f.value)
		if r.Backoff.Expr != nil {
			if path, _ := expr.Path(r.Backoff.Expr.Root()); path == "retry.default_backoff" {
				return
			}
		}
		p.report(r.Backoff.Pos, "backoff must be a map, or ${retry.default_backoff}")
		return
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
	fields := p.mapping(f.value, "except")
	var body []field
	for _, f := range fields {
		switch f.key {
		case "as":
			e.As, e.AsPos = p.variable(f), pos(f.value)
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
	case e.Steps == nil && fields != nil:
		p.errorf(e.Pos, "except has no steps")
	}
	return e
}
