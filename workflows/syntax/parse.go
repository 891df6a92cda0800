package syntax

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits of a source, from the quotas page of Workflows; those that rest on secondary sources are marked.
const (
	maxSource      = 128 << 10
	maxExpression  = 400 // secondary
	maxAssignments = 50
	maxCases       = 50
	maxBranches    = 10
	minBranches    = 2
	maxNesting     = 200 // ours: no source exhausts the stack
)

// Parse reads a source of YAML or JSON. The error is of type Errors. file only names it.
func Parse(file string, src []byte) (*Workflow, error) {
	p := &parser{file: file}
	w := p.workflow(src)
	if len(p.errs) == 0 {
		check(p, w)
	}
	if len(p.errs) > 0 {
		return nil, p.errs.sorted()
	}
	return w, nil
}

type parser struct {
	file  string
	errs  Errors
	depth int
}

func (p *parser) errorf(at Pos, format string, args ...any) {
	p.errs = append(p.errs, &Error{File: p.file, Pos: at, Message: fmt.Sprintf(format, args...)})
}

func pos(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?(?:line (\d+): )?`)

// document reads the one document of src; nil after an error.
func (p *parser) document(src []byte) *yaml.Node {
	if len(src) > maxSource {
		p.errorf(Pos{1, 1}, "the source has %d bytes; the limit is %d", len(src), maxSource)
		return nil
	}
	dec := yaml.NewDecoder(strings.NewReader(string(src)))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		at := Pos{1, 1}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
			at.Line, _ = strconv.Atoi(m[1])
		}
		if errors.Is(err, io.EOF) {
			p.errorf(at, "the source is empty")
		} else {
			p.errorf(at, "%s", yamlLine.ReplaceAllString(err.Error(), ""))
		}
		return nil
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		p.errorf(Pos{1, 1}, "the source has more than one document")
		return nil
	}
	return resolve(doc.Content[0])
}

// resolve follows an alias to what it names.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (p *parser) workflow(src []byte) *Workflow {
	w := &Workflow{File: p.file}
	root := p.document(src)
	if root == nil {
		return w
	}
	switch root.Kind {
	case yaml.SequenceNode:
		w.Main = &Routine{Name: "main", Pos: pos(root), Steps: p.steps(root)}
		w.Routines = []*Routine{w.Main}
	case yaml.MappingNode:
		for _, f := range p.fields(root) {
			r := p.routine(f)
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
	return w
}

func (p *parser) routine(f field) *Routine {
	r := &Routine{Name: f.key, Pos: f.pos}
	body := p.mapping(f.value, "routine "+strconv.Quote(f.key))
	for _, f := range body {
		switch f.key {
		case "params":
			r.Params = p.params(f.value)
		case "steps":
			r.Steps = p.steps(f.value)
		default:
			p.errorf(f.pos, "routine %q has no field %q; it has params and steps", r.Name, f.key)
		}
	}
	if r.Steps == nil && len(p.errs) == 0 {
		p.errorf(r.Pos, "routine %q has no steps", r.Name)
	}
	// The published schema allows ten params of a subworkflow; workflows in production have more, so that is no limit.
	if r.Name == "main" && len(r.Params) > 1 {
		p.errorf(r.Params[1].Pos, "main has %d params; it takes one, the argument", len(r.Params))
	}
	return r
}

// params reads a list of names, each with a default or none.
func (p *parser) params(n *yaml.Node) []*Param {
	var out []*Param
	seen := map[string]bool{}
	for _, n := range p.sequence(n, "params") {
		param := &Param{Pos: pos(n)}
		if n.Kind == yaml.MappingNode {
			f, ok := p.single(n, "a param with a default")
			if !ok {
				continue
			}
			param.Name, param.Default = f.key, p.value(f.value)
		} else {
			param.Name = n.Value
		}
		if !identifier(param.Name) {
			p.errorf(param.Pos, "param %q is no name", param.Name)
		}
		if seen[param.Name] {
			p.errorf(param.Pos, "param %q is there twice", param.Name)
		}
		seen[param.Name] = true
		out = append(out, param)
	}
	return out
}

var identifierPattern = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

func identifier(s string) bool { return identifierPattern.MatchString(s) }

// field is one entry of a map.
type field struct {
	key   string
	pos   Pos // of the key
	value *yaml.Node
}

// fields are the entries of a map, aliases resolved, duplicate keys refused.
func (p *parser) fields(n *yaml.Node) []field {
	var out []field
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := resolve(n.Content[i])
		if k.Kind != yaml.ScalarNode {
			p.errorf(pos(k), "a key must be a string")
			continue
		}
		if k.ShortTag() == "!!merge" {
			p.errorf(pos(k), "merge keys (<<) are not part of the language")
			continue
		}
		if seen[k.Value] {
			p.errorf(pos(k), "key %q is there twice", k.Value)
			continue
		}
		seen[k.Value] = true
		out = append(out, field{k.Value, pos(k), resolve(n.Content[i+1])})
	}
	return out
}

// mapping are the entries of n, which must be a map.
func (p *parser) mapping(n *yaml.Node, what string) []field {
	if n.Kind != yaml.MappingNode {
		p.errorf(pos(n), "%s must be a map", what)
		return nil
	}
	return p.fields(n)
}

// sequence are the elements of n, which must be a list that is not empty.
func (p *parser) sequence(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		p.errorf(pos(n), "%s must be a list", what)
		return nil
	}
	out := make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		out[i] = resolve(e)
	}
	return out
}

// single is the one entry of a map that must have one.
func (p *parser) single(n *yaml.Node, what string) (field, bool) {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		p.errorf(pos(n), "%s must be a map with one key", what)
		return field{}, false
	}
	f := p.fields(n)
	if len(f) != 1 {
		return field{}, false
	}
	return f[0], true
}

// word is a scalar string.
func (p *parser) word(f field) string {
	if f.value.Kind != yaml.ScalarNode || f.value.Value == "" {
		p.errorf(pos(f.value), "%s must be a name", f.key)
		return ""
	}
	return f.value.Value
}
