package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits of a source, from the published schema and the quotas page of Workflows; those that rest on secondary sources are
// marked.
const (
	maxSource      = 128 << 10
	maxExpression  = 400 // characters; secondary
	maxAssignments = 50
	maxCases       = 50
	maxBranches    = 10
	minBranches    = 2
	maxNesting     = 200     // ours: no source exhausts the stack
	maxNodes       = 1 << 18 // ours: aliases of aliases do not exhaust the memory; no source has as many without
)

// Parse reads a source of YAML or JSON. The error is of type Errors. file only names it.
func Parse(file string, src []byte) (*Workflow, error) {
	p := &parser{file: file, text: newText(src), lossy: map[*Routine]bool{}}
	w := &Workflow{File: file, Source: src, text: p.text}
	if root := p.document(src); root != nil {
		p.workflow(root, w)
		check(p, w)
	}
	if len(p.errs) > 0 {
		return nil, p.errs.sorted()
	}
	return w, nil
}

type parser struct {
	file  string
	text  *text
	errs  Errors
	depth int // of nesting
	nodes int // seen so far, each as often as an alias repeats it

	routine *Routine // being read
	// lossy are the routines of which something could not be read that may have named a variable or a step, nil for the
	// workflow and its routines' names. There, an unknown name is not reported: it may be the one that was lost.
	lossy map[*Routine]bool
}

// errorf reports what keeps a part from being read.
func (p *parser) errorf(at Pos, format string, args ...any) {
	p.lossy[p.routine] = true
	p.report(at, format, args...)
}

// report reports what is wrong with a part that could be read.
func (p *parser) report(at Pos, format string, args ...any) {
	p.errs = append(p.errs, &Error{File: p.file, Pos: at, Message: fmt.Sprintf(format, args...)})
}

// enter counts a node and a level of nesting. After false the node is left out, with an error; after true, leave must follow.
func (p *parser) enter(at Pos) bool {
	p.nodes++
	switch {
	case p.nodes == maxNodes:
		p.errorf(at, "the source has more than %d values, aliases written out", maxNodes)
	case p.depth == maxNesting:
		p.errorf(at, "the source is nested more than %d levels deep", maxNesting)
	}
	if p.nodes >= maxNodes || p.depth >= maxNesting {
		return false
	}
	p.depth++
	return true
}

func (p *parser) leave() { p.depth-- }

func (p *parser) workflow(root *yaml.Node, w *Workflow) {
	switch root.Kind {
	case yaml.SequenceNode:
		w.Main = &Routine{Name: "main", Pos: pos(root)}
		w.Routines = []*Routine{w.Main}
		p.routine = w.Main
		w.Main.Steps = p.steps(root)
	case yaml.MappingNode:
		for _, f := range p.fields(root) {
			r := p.readRoutine(f)
			w.Routines = append(w.Routines, r)
			if r.Name == "main" {
				w.Main = r
			}
		}
		if w.Main == nil {
			p.errorf(pos(root), "workflow has no 'main': name one of the routines main, or write a list of steps")
		}
	default:
		p.errorf(pos(root), "a workflow is a list of steps, or a map with 'main'")
	}
	p.routine = nil
}

func (p *parser) readRoutine(f field) *Routine {
	r := &Routine{Name: f.key, Pos: f.pos}
	p.routine = r
	defer func() { p.routine = nil }()
	what := "routine " + strconv.Quote(f.key)
	if f.value.Kind != yaml.MappingNode {
		p.errorf(f.pos, "%s must be a map with steps", what)
		return r
	}
	found := false
	for _, f := range p.fields(f.value) {
		switch f.key {
		case "params":
			r.Params = p.params(f.value)
		case "steps":
			found = true
			r.Steps = p.steps(f.value)
		default:
			p.errorf(f.pos, "%s has no field %q; it has params and steps", what, f.key)
		}
	}
	if !found {
		p.errorf(r.Pos, "%s has no steps", what)
	}
	// The published schema allows ten params of a subworkflow, but public workflows that are deployed have up to 23, so that is
	// no limit.
	if r.Name == "main" && len(r.Params) > 1 {
		p.report(r.Params[1].Pos, "main has %d params; it takes one, the argument", len(r.Params))
	}
	return r
}

// params reads a list of names, each with a default or none.
func (p *parser) params(n *yaml.Node) []*Param {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	var out []*Param
	seen := map[string]bool{}
	for _, n := range p.sequence(n, "params") {
		param := p.param(n)
		if param == nil {
			continue
		}
		switch {
		case !identifier(param.Name):
			p.errorf(param.Pos, "param %q is no name: letters, digits and underscores", param.Name)
		case seen[param.Name]:
			p.report(param.Pos, "param %q is there twice", param.Name)
		}
		seen[param.Name] = true
		out = append(out, param)
	}
	return out
}

// param reads `name`, `name: default`, or that as one string, the way JSON samples of the documentation write it.
func (p *parser) param(n *yaml.Node) *Param {
	param := &Param{Pos: pos(n), Name: n.Value}
	if n.Kind != yaml.ScalarNode {
		f, ok := p.single(n, "a param with a default")
		if !ok {
			return nil
		}
		param.Name, param.Default = f.key, p.value(f.value)
		return param
	}
	name, rest, found := strings.Cut(n.Value, ":")
	if !found {
		return param
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(rest), &doc); err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.ScalarNode {
		return param // no name, which is reported
	}
	fallback := doc.Content[0]
	fallback.Line, fallback.Column = n.Line, n.Column
	param.Name, param.Default = strings.TrimSpace(name), p.value(fallback)
	return param
}

var identifierPattern = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

func identifier(s string) bool { return identifierPattern.MatchString(s) }
