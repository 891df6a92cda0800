package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

func pos(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

// document reads the one document of src; nil after an error.
func (p *parser) document(src []byte) *yaml.Node {
	switch {
	case len(src) > maxSource:
		p.errorf(Pos{1, 1}, "the source has %d bytes; the limit is %d", len(src), maxSource)
		return nil
	case !utf8.Valid(src):
		p.errorf(p.text.pos(invalidAt(src)), "the source is not UTF-8")
		return nil
	}
	if start := bytes.TrimLeft(src, "\uFEFF \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') && json.Valid(start) {
		return p.json(src, len(src)-len(start))
	}
	doc, err := decode(src)
	if err != nil {
		at, message := yamlError(err)
		p.errorf(at, "%s", message)
		return nil
	}
	return resolve(doc)
}

func invalidAt(src []byte) int {
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		if c == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(src)
}

// decode is the root of the only document. The parser's panics become errors.
func decode(src []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML cannot be read: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if err := dec.Decode(&more); err == nil {
		return nil, fmt.Errorf("yaml: line %d: the source has more than one document", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, io.EOF
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?(?:line (\d+): )?`)

// yamlError takes the line out of the YAML parser's message.
func yamlError(err error) (Pos, string) {
	if errors.Is(err, io.EOF) {
		return Pos{1, 1}, "the source is empty"
	}
	at := Pos{1, 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		at.Line, _ = strconv.Atoi(m[1])
	}
	return at, yamlLine.ReplaceAllString(err.Error(), "")
}

// resolve follows an alias to what it names.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// field is one entry of a map, aliases resolved.
type field struct {
	key   string
	pos   Pos // of the key
	value *yaml.Node
}

func find(fields []field, key string) (field, bool) {
	for _, f := range fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// fields are the entries of a map, merged ones last. Of duplicate keys, which are refused, the first counts.
func (p *parser) fields(n *yaml.Node) []field {
	if !p.enter(pos(n)) {
		return nil
	}
	defer p.leave()
	out := make([]field, 0, len(n.Content)/2)
	var index map[string]bool
	seen := func(key string) bool {
		if len(out) <= 16 {
			_, ok := find(out, key)
			return ok
		}
		if index == nil {
			index = map[string]bool{}
			for _, f := range out {
				index[f.key] = true
			}
		}
		was := index[key]
		index[key] = true
		return was
	}
	var merged []field
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case k.Kind != yaml.ScalarNode:
			p.errorf(pos(k), "a key must be a string")
		case k.Tag == "!!merge":
			merged = append(merged, p.merged(v)...)
		case seen(k.Value):
			p.report(pos(k), "key %q is there twice", k.Value)
		default:
			out = append(out, field{k.Value, pos(k), v})
		}
	}
	for _, f := range merged {
		if !seen(f.key) {
			out = append(out, f)
		}
	}
	return out
}

// merged are the entries that `<<: *a` or `<<: [*a, *b]` brings.
func (p *parser) merged(n *yaml.Node) []field {
	switch n.Kind {
	case yaml.MappingNode:
		return p.fields(n)
	case yaml.SequenceNode:
		var out []field
		for _, e := range n.Content {
			if e = resolve(e); e.Kind == yaml.MappingNode {
				out = append(out, p.fields(e)...)
				continue
			}
			p.errorf(pos(e), "what is merged must be a map")
		}
		return out
	}
	p.errorf(pos(n), "what is merged must be a map, or a list of maps")
	return nil
}

// mapping are the entries of n, which must be a map.
func (p *parser) mapping(n *yaml.Node, what string) []field {
	if n.Kind != yaml.MappingNode {
		p.errorf(pos(n), "%s must be a map", what)
		return nil
	}
	return p.fields(n)
}

// sequence are the elements of n, which must be a list.
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
	if f[0].key == "" {
		p.errorf(f[0].pos, "the name of %s is empty", what)
		return field{}, false
	}
	return f[0], true
}

// word is a scalar that names something.
func (p *parser) word(f field) string {
	if f.value.Kind != yaml.ScalarNode || f.value.Value == "" {
		p.errorf(pos(f.value), "%s must be a name", f.key)
		return ""
	}
	return f.value.Value
}

// variable is a scalar that names a variable.
func (p *parser) variable(f field) string {
	name := p.word(f)
	if name != "" && !identifier(name) {
		p.errorf(pos(f.value), "%s must be the name of a variable, not %q", f.key, name)
		return ""
	}
	return name
}
