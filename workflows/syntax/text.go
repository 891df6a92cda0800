package syntax

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"
)

// text is a source with its lines: it turns places into offsets and back.
type text struct {
	src   []byte
	lines []int // offset of each line's first byte
}

func newText(src []byte) *text {
	t := &text{src: src, lines: make([]int, 1, 1+bytes.Count(src, []byte{'\n'}))}
	if bytes.HasPrefix(src, []byte("\uFEFF")) {
		t.lines[0] = len("\uFEFF")
	}
	for i := 0; i < len(src); i++ {
		if n := lineBreak(src[i:]); n > 0 {
			i += n - 1
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// lineBreak is the length of the line break that s begins with, one of those of YAML 1.1; 0: none.
func lineBreak(s []byte) int {
	switch s[0] {
	case '\n':
		return 1
	case '\r':
		if len(s) > 1 && s[1] == '\n' {
			return 2
		}
		return 1
	case 0xC2:
		if bytes.HasPrefix(s, []byte("\u0085")) {
			return 2
		}
	case 0xE2:
		if bytes.HasPrefix(s, []byte("\u2028")) || bytes.HasPrefix(s, []byte("\u2029")) {
			return 3
		}
	}
	return 0
}

// offset is where p is; columns count characters.
func (t *text) offset(p Pos) int {
	if p.Line < 1 || p.Line > len(t.lines) {
		return len(t.src)
	}
	i := t.lines[p.Line-1]
	for n := 1; n < p.Col && i < len(t.src); n++ {
		_, size := utf8.DecodeRune(t.src[i:])
		i += size
	}
	return i
}

func (t *text) pos(offset int) Pos {
	offset = max(t.lines[0], min(offset, len(t.src)))
	line := sort.SearchInts(t.lines, offset+1)
	return Pos{line, utf8.RuneCount(t.src[t.lines[line-1]:offset]) + 1}
}

// content is the offset behind the anchor and tag that a node at i may begin with.
func (t *text) content(i int) int {
	for i < len(t.src) && (t.src[i] == '&' || t.src[i] == '!') {
		for i < len(t.src) && !space(t.src[i]) {
			i++
		}
		for i < len(t.src) && space(t.src[i]) {
			i++
		}
	}
	return i
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// inExpression is the place of the byte off of an expression whose scalar begins at p. Where quoting or folding hides it,
// that is p.
func (t *text) inExpression(p Pos, src string, off int) Pos {
	i := t.content(t.offset(p))
	n := bytes.Index(t.src[i:], []byte("${"))
	if n < 0 {
		return p
	}
	return t.aligned(p, i, i+n+2, src, off)
}

// inKey is the place of the byte off of a scalar's text that begins at p.
func (t *text) inKey(p Pos, src string, off int) Pos {
	i := t.content(t.offset(p))
	start := i
	if i < len(t.src) && (t.src[i] == '"' || t.src[i] == '\'') {
		start++
	}
	return t.aligned(p, i, start, src, off)
}

func (t *text) aligned(p Pos, scalar, start int, src string, off int) Pos {
	if scalar >= len(t.src) {
		return p
	}
	if i, ok := t.align(t.src[scalar], start, src[:min(off, len(src))]); ok {
		return t.pos(i)
	}
	return p
}

// align is the offset behind what the source, from start, writes for s: the same but for line folding and the escapes of the
// quotation mark in use.
func (t *text) align(quote byte, start int, s string) (int, bool) {
	i := start
	for s != "" {
		if i >= len(t.src) {
			return 0, false
		}
		c := t.src[i]
		switch {
		case quote == '"' && c == '\\':
			n, value := escape(t.src[i:])
			if !strings.HasPrefix(s, value) {
				return 0, false
			}
			i, s = i+n, s[len(value):]
		case quote == '\'' && c == '\'' && s[0] == '\'':
			i, s = i+2, s[1:]
		case space(c) && space(s[0]):
			for i < len(t.src) && space(t.src[i]) {
				i++
			}
			s = strings.TrimLeft(s, " \t\r\n")
		case space(c) && quote != '"' && quote != '\'': // the indentation of a block
			i++
		case c == s[0]:
			i, s = i+1, s[1:]
		default:
			return 0, false
		}
	}
	if quote == '"' && i < len(t.src) && t.src[i] == '\\' { // the line goes on
		if n, value := escape(t.src[i:]); value == "" {
			i += n
		}
	}
	return i, true
}
