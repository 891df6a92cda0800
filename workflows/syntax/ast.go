package syntax

import "example.com/runonce/workflows/expr"

// Pos is a place in the source, counted from 1. The zero Pos is no place.
type Pos struct{ Line, Col int }

// Workflow is one source file that passed every deploy-time check.
type Workflow struct {
	File     string
	Source   []byte // what was parsed; Offset, Position and Span relate it to the tree
	Main     *Routine
	Routines []*Routine // in source order, Main among them

	text *text
}

// Routine is main or a subworkflow.
type Routine struct {
	Name   string // "main" where the root is a list of steps
	Pos    Pos
	Params []*Param
	Steps  []*Step
}

// Param is one parameter. Default is nil where the caller must pass it.
type Param struct {
	Name    string
	Pos     Pos
	Default *Value
}

// Step is one named step; Name is empty for the inline bodies that have none (a switch case, a try body).
type Step struct {
	Name string
	Pos  Pos
	Body Stmt  // nil where the step has only a next
	Next *Jump // after the body; nil: fall through
}

// Jump is the target of a next: a step's name, or end, break, continue.
type Jump struct {
	Target string
	Pos    Pos
}

// Stmt is what a step does: *Assign, *Call, *Switch, *For, *Parallel, *Try, *Raise, *Return or *Block.
type Stmt interface{ stmt() }

type (
	// Assign sets variables, in order.
	Assign struct {
		Pos  Pos
		Sets []*Set
	}
	// Set is one entry of assign. Target is a variable, a member or an index: `x`, `m.a["b"]`, `l[i + 1]`.
	Set struct {
		Pos    Pos
		Target *expr.Expr
		Value  *Value
	}
	// Call runs a function of the standard library, a connector or a subworkflow.
	Call struct {
		Pos       Pos
		Func      string
		FuncPos   Pos
		Args      []*Field // in source order; nil where there are none
		ArgPos    Pos      // of the key args
		Result    string   // variable; empty: dropped
		ResultPos Pos
	}
	// Switch runs the first case whose condition holds; Next where none does is the step's own.
	Switch struct {
		Pos   Pos
		Cases []*Case
	}
	// Case has an inline body in Step (its name empty), which may carry only a next.
	Case struct {
		Pos  Pos
		Cond *Value
		Step *Step
	}
	// For is a loop over a list, a map's keys or an inclusive range of numbers.
	For struct {
		Pos      Pos
		Value    string
		ValuePos Pos
		Index    string // variable; empty: none
		IndexPos Pos
		In       *Value // exactly one of In and Range is set
		Range    *Value // a list of two values, or an expression that gives one
		Steps    []*Step
	}
	// Parallel runs branches, or the iterations of a loop, at once. Exactly one of Branches and For is set.
	Parallel struct {
		Pos         Pos
		Shared      []string
		SharedAt    []Pos  // of each name
		SharedPos   Pos    // of the key shared
		Concurrency *Value // nil: the service's limit
		Branches    []*Branch
		For         *For
	}
	// Branch is one named branch of a parallel step.
	Branch struct {
		Name  string
		Pos   Pos
		Steps []*Step
	}
	// Try runs Body again as Retry says, then Except.
	Try struct {
		Pos    Pos
		Body   []*Step // an inline try body is one step without a name
		Retry  *Retry
		Except *Except
	}
	// Retry is a policy: Policy alone (`retry: ${http.default_retry}`), or the block's fields.
	Retry struct {
		Pos          Pos
		Policy       *Value
		Predicate    *Value // an expression that names a function or a subworkflow
		MaxRetries   *Value
		InitialDelay *Value // seconds
		MaxDelay     *Value // seconds
		Multiplier   *Value
		// Backoff is ${retry.default_backoff} in place of the three above, which are then nil.
		Backoff *Value
	}
	// Except binds the error and handles it.
	Except struct {
		Pos   Pos
		As    string // variable; empty: the error is dropped
		AsPos Pos
		Steps []*Step
	}
	// Raise raises a string or a map.
	Raise struct {
		Pos   Pos
		Value *Value
	}
	// Return ends the routine with a value.
	Return struct {
		Pos   Pos
		Value *Value
	}
	// Block is a step of steps. They share the routine's scope.
	Block struct {
		Pos   Pos
		Steps []*Step
	}
)

func (*Assign) stmt()   {}
func (*Call) stmt()     {}
func (*Switch) stmt()   {}
func (*For) stmt()      {}
func (*Parallel) stmt() {}
func (*Try) stmt()      {}
func (*Raise) stmt()    {}
func (*Return) stmt()   {}
func (*Block) stmt()    {}

// Value is a YAML value of the source: exactly one of its forms is set, or Lit (which may be nil) where none is.
type Value struct {
	Pos  Pos
	Expr *expr.Expr // ${…}
	List []*Value
	Map  []*Field
	Kind Kind
	Lit  any // nil, bool, int64, float64, string
}

// Kind tells the forms of a Value apart.
type Kind int

const (
	Literal    Kind = iota // Lit
	Expression             // Expr
	List                   // List, which may be empty
	Map                    // Map, which may be empty
)

// Field is one entry of a map or of args. Key is a plain string unless KeyExpr is set (`${k}: v`).
type Field struct {
	Pos     Pos
	Key     string
	KeyExpr *expr.Expr
	Value   *Value
}
