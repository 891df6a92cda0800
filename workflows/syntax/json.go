package syntax

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// json reads valid JSON, which begins at start, into the nodes that YAML gives. The YAML parser itself refuses some of it: tabs,
// and escapes of characters in two halves.
func (p *parser) json(src []byte, start int) *yaml.Node {
	dec := json.NewDecoder(bytes.NewReader(src[start:]))
	dec.UseNumber()
	j := &jsonReader{src: src[start:], dec: dec, text: p.text, base: start}
	root, _ := j.next()
	return root
}

type jsonReader struct {
	src  []byte
	dec  *json.Decoder
	text *text
	base int

	last   Pos // of the token before, and its offset: a line is counted once
	offset int
}

// next is the next value, or the bracket that ends the one around it.
func (j *jsonReader) next() (n *yaml.Node, closing bool) {
	at := j.begin(int(j.dec.InputOffset()))
	tok, err := j.dec.Token()
	if err != nil {
		return nil, true // the source is valid, so this is its end
	}
	n = &yaml.Node{Kind: yaml.ScalarNode, Line: at.Line, Column: at.Col}
	switch tok := tok.(type) {
	case json.Delim:
		switch tok {
		case ']', '}':
			return nil, true
		case '[':
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		default:
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for {
			e, closing := j.next()
			if closing {
				return n, false
			}
			n.Content = append(n.Content, e)
		}
	case string:
		n.Tag, n.Value, n.Style = "!!str", tok, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", tok.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if tok {
			n.Value = "true"
		}
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, false
}

// begin is the place of the first token behind offset i.
func (j *jsonReader) begin(i int) Pos {
	for i < len(j.src) && (space(j.src[i]) || j.src[i] == ',' || j.src[i] == ':') {
		i++
	}
	i += j.base
	line := sort.SearchInts(j.text.lines, i+1)
	from, col := j.text.lines[line-1], 1
	if line == j.last.Line {
		from, col = j.offset, j.last.Col
	}
	at := Pos{line, col + utf8.RuneCount(j.text.src[from:i])}
	j.last, j.offset = at, i
	return at
}
