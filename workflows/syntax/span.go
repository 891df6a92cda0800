package syntax

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Offset is where p stands in Source, in bytes.
func (w *Workflow) Offset(p Pos) int { return w.text.offset(p) }

// Position is the place of a byte of Source.
func (w *Workflow) Position(offset int) Pos { return w.text.pos(offset) }

// ExprPos is the place of the byte off of v's expression, counted as expr.Node does. Where v is no expression, or its text
// cannot be followed through quoting and folding, it is v's own.
func (w *Workflow) ExprPos(v *Value, off int) Pos {
	if v.Expr == nil {
		return v.Pos
	}
	return w.text.inExpression(v.Pos, v.Expr.Source(), off)
}

// Span is what v covers in Source, in bytes: quotation marks and brackets included, comments after it not. A value that is not
// written out (`key:` with nothing behind) is empty. Of a value that comes by an alias, it is what the alias names.
func (w *Workflow) Span(v *Value) (start, end int) {
	start = w.text.offset(v.Pos)
	return start, w.text.end(v, w.text.content(start))
}

// end is the offset behind v, whose content begins at i.
func (t *text) end(v *Value, i int) int {
	if i >= len(t.src) {
		return len(t.src)
	}
	switch c := t.src[i]; {
	case v.Kind == Map && c == '{', v.Kind == List && c == '[':
		return t.flowEnd(i)
	case v.Kind == Map || v.Kind == List:
		return t.blockEnd(v, i)
	case c == '"' || c == '\'':
		return t.quotedEnd(i)
	case c == '|' || c == '>':
		return t.literalEnd(i)
	}
	return t.plainEnd(v, i)
}

// blockEnd is the end of the last child that stands behind i.
func (t *text) blockEnd(v *Value, i int) int {
	end := i
	child := func(v *Value) {
		if start := t.offset(v.Pos); start >= i {
			end = max(end, t.end(v, t.content(start)))
		}
	}
	for _, e := range v.List {
		child(e)
	}
	for _, f := range v.Map {
		if start := t.offset(f.Pos); start >= i {
			if n, ok := t.align(t.src[start], start, f.Key); ok {
				end = max(end, n)
			}
		}
		child(f.Value)
	}
	return end
}

// flowEnd is the offset behind the bracket that closes the one at i.
func (t *text) flowEnd(i int) int {
	depth := 0
	for i < len(t.src) {
		switch c := t.src[i]; {
		case (c == '"' || c == '\'') && opens(t.src[i-1]):
			i = t.quotedEnd(i)
			continue
		case c == '#' && space(t.src[i-1]):
			for i < len(t.src) && t.src[i] != '\n' {
				i++
			}
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// opens tells whether a quotation mark after c begins a scalar, rather than standing in a plain one.
func opens(c byte) bool { return space(c) || strings.IndexByte("[{,:", c) >= 0 }

func (t *text) quotedEnd(i int) int {
	quote := t.src[i]
	for i++; i < len(t.src); i++ {
		switch {
		case quote == '"' && t.src[i] == '\\':
			i++
		case quote == '\'' && bytes.HasPrefix(t.src[i:], []byte("''")):
			i++
		case t.src[i] == quote:
			return i + 1
		}
	}
	return len(t.src)
}

// literalEnd is the end of the last line of a block scalar: those that are indented as its first line is.
func (t *text) literalEnd(i int) int {
	line := t.pos(i).Line // counted from 1, so it is the index of the next one
	indent, end := 0, i+1
	for ; line < len(t.lines); line++ {
		from, to := t.lines[line], len(t.src)
		if line+1 < len(t.lines) {
			to = t.lines[line+1]
		}
		content := bytes.TrimRight(t.src[from:to], " \t\r\n")
		if len(content) == 0 {
			continue
		}
		depth := len(content) - len(bytes.TrimLeft(content, " "))
		if indent == 0 {
			indent = depth
		}
		if depth < indent || indent == 0 {
			break
		}
		end = from + len(content)
	}
	return end
}

// plainEnd follows the text where it is known, else one word.
func (t *text) plainEnd(v *Value, i int) int {
	written := ""
	if s, ok := v.Lit.(string); ok {
		written = s
	} else if v.Expr != nil {
		written = "${" + v.Expr.Source() + "}"
	}
	if written != "" {
		if end, ok := t.align(t.src[i], i, written); ok {
			return end
		}
	}
	end := i
	for end < len(t.src) && !space(t.src[end]) && strings.IndexByte(",]}", t.src[end]) < 0 {
		end++
	}
	if v.Lit == nil && v.Expr == nil && strings.Trim(strings.ToLower(string(t.src[i:end])), "~") != "" && !strings.EqualFold(string(t.src[i:end]), "null") {
		return i
	}
	return end
}

var escaped = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape is the length and the value of the escape of a double-quoted scalar that s begins with.
func escape(s []byte) (n int, value string) {
	if len(s) < 2 {
		return 1, ""
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	switch {
	case digits > 0:
		c, ok := hexRune(s, 2, digits)
		if !ok {
			return 1, ""
		}
		n = 2 + digits
		if utf16.IsSurrogate(c) && bytes.HasPrefix(s[n:], []byte(`\u`)) {
			if low, ok := hexRune(s, n+2, 4); ok && utf16.DecodeRune(c, low) != utf8.RuneError {
				return n + 6, string(utf16.DecodeRune(c, low))
			}
		}
		return n, string(c)
	case space(s[1]) && s[1] != '\t' && s[1] != ' ': // the line goes on
		n = 2
		for n < len(s) && space(s[n]) {
			n++
		}
		return n, ""
	}
	if v, ok := escaped[s[1]]; ok {
		return 2, v
	}
	return 2, string(s[1:2])
}

func hexRune(s []byte, i, digits int) (rune, bool) {
	if i+digits > len(s) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s[i:i+digits]), 16, 32)
	return rune(v), err == nil
}
