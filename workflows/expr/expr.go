package expr

import "context"

// Expr is a compiled expression: compile once, evaluate any number of times, from any goroutine.
type Expr struct {
	src  string
	root Node
	eval evalFunc
}

// Source is the text between ${ and }, as written.
func (e *Expr) Source() string { return e.src }

// Root is the tree, for tools that follow values.
func (e *Expr) Root() Node { return e.root }

// Env resolves what an expression names.
//
// Values are nil, bool, int64, float64, string, []byte, []any and map[string]any, and whatever else Lookup
// returns for a name that is no plain value (a function by name, as in `predicate: ${retry.always}`), which == must be able
// to compare.
type Env interface {
	// Lookup returns the value of a variable, or false where there is none. It is asked with a single identifier.
	Lookup(name string) (any, bool)
	// Call runs a function, a standard one ("text.split") or a subworkflow, with positional arguments.
	Call(ctx context.Context, name string, args []any) (any, error)
	// Func returns the value that stands for a function used without a call ("http.default_retry"), or false.
	Func(name string) (any, bool)
}
