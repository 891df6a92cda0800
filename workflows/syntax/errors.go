package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing that keeps a workflow from being deployed.
type Error struct {
	File    string
	Pos     Pos
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Col, e.Message)
}

// Errors are all errors of a file, in the order of their places.
type Errors []*Error

func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	return b.String()
}

// sorted puts errors in the order of their places, each once.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(e, func(a, b *Error) bool { return *a == *b })
}

// count is n things, in words.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
