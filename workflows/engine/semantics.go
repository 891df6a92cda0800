package engine

import "time"

// Limits are the resource limits of the service. 0 is no limit. Documented means: the public documentation names the
// number; reported means: only third parties do.
type Limits struct {
	Argument     int64         // bytes of the execution's argument. Documented: 32 KB.
	Memory       int64         // bytes of all variables, by the documented formula. Documented: 512 KB.
	Response     int64         // bytes of an HTTP response. Documented: 2 MB.
	String       int64         // bytes of one string. Documented: 256 KB.
	Steps        int64         // steps of one execution. Reported: 100,000.
	Depth        int           // subworkflow calls inside one another. Reported: 20.
	Branches     int           // branches or iterations that one parallel step runs at once. Reported: 20.
	Nesting      int           // parallel steps inside one another. Reported: 2.
	BranchErrors int           // errors that an UnhandledBranchError carries. Reported: 100.
	Timeout      time.Duration // the longest `timeout` of an HTTP call. Documented: 1,800 s.
	Duration     time.Duration // the life of an execution. Documented: one year.
}

// DefaultLimits returns the service's limits.
func DefaultLimits() Limits {
	return Limits{
		Argument: 32 << 10, Memory: 512 << 10, Response: 2 << 20, String: 256 << 10,
		Steps: 100_000, Depth: 20, Branches: 20, Nesting: 2, BranchErrors: 100,
		Timeout: 1800 * time.Second, Duration: 365 * 24 * time.Hour,
	}
}

// Semantics is the one table of behaviours that the public documentation does not settle. Each field says what is known,
// and DefaultSemantics what the engine takes for granted until somebody measures the service.
//
// Settled by the documentation, and so not here: assignment copies (passing by value); variables born in a `for`, a
// branch or an `except` end with it; retries follow the two documented predicates; parallel steps continue all branches.
//
// Assumed as well, without a switch:
//   - a loop has one scope for all its turns; in a parallel loop each turn has its own;
//   - a jump may enter nested steps, a try body and a switch case from outside, but no loop, branch or except block;
//   - the `next` of a switch step also follows a case that matched and fell through;
//   - a retry block without max_retries or backoff has those of the documented policies (5; 1 s, by 1.25, to 60 s), and
//     one without a predicate retries every error;
//   - an error inside a retry predicate is not handed to the except block of the same try;
//   - `break` leaves no parallel loop;
//   - keys() and loops over maps go in sorted order; positions in texts count characters, as len does;
//   - a text under a JSON Content-Type is encoded as a JSON text; a map under application/x-www-form-urlencoded is encoded as
//     `query` is; bytes go out as they are;
//   - of an answer, an empty JSON body is null, JSON that does not parse is text, and what is no UTF-8 is bytes;
//   - the line in an error context is that of the statement's keyword;
//   - null counts as 8 bytes of memory.
type Semantics struct {
	// MissingEnv is what sys.get_env returns for an unset name without a default. Unknown: nil here is null; an *Error
	// is raised. The public type stubs of one compiler say null; two emulators raise KeyError.
	MissingEnv EnvPolicy
	// IntermediateMaps lets `m.a.b: 1` make m.a where it is missing. Reported by one source.
	IntermediateMaps bool
	// MaxRedirects is how often an http.* call follows a redirect. Unknown.
	MaxRedirects int
	// Jitter multiplies each backoff delay; nil is no jitter. Unknown; the documented policies name none.
	Jitter func(d time.Duration) time.Duration
	// KindPrefix puts the kind before the message of errors that the language raises, as in
	// "ResourceLimitError: Memory usage limit exceeded", seen in one public capture for that kind.
	KindPrefix bool
	// Lineage adds the wider tags: LookupError to KeyError and IndexError, ArithmeticError to ZeroDivisionError, RuntimeError to
	// UnhandledBranchError, and OSError to TimeoutError. Only the last was seen in a public capture; the others follow its
	// pattern.
	Lineage bool
	// BranchPayloadText gives a branch's error in UnhandledBranchError its payload as JSON text, as Execution.error has it;
	// otherwise as the value. Unknown, like the rest of that map: branches[].id (a branch's name, or the turn's number),
	// branches[].error.{payload, context}, truncated.
	BranchPayloadText bool
	// RuntimeErrorContext begins the context of a raised string with RuntimeError and the quoted text. Unknown.
	RuntimeErrorContext bool
	// UserAgent is appended to the User-Agent of http.* calls. Reported.
	UserAgent string
	// CountUnnamed counts inline bodies (a switch case, a try without steps) as steps of their own. Unknown.
	CountUnnamed bool
	// TrailingNewline ends the error context with a newline. Unknown.
	TrailingNewline bool
	// EndInBranch lets `return` and `next: end` in a parallel branch end that branch only. Unknown.
	EndInBranch bool
}

// EnvPolicy says what becomes of sys.get_env for a name that is not set.
type EnvPolicy int

const (
	// EnvNull answers null.
	EnvNull EnvPolicy = iota
	// EnvKeyError raises a KeyError.
	EnvKeyError
)

// DefaultSemantics returns what the engine assumes.
func DefaultSemantics() Semantics {
	return Semantics{
		MissingEnv:          EnvNull,
		IntermediateMaps:    true,
		MaxRedirects:        10,
		KindPrefix:          true,
		Lineage:             true,
		BranchPayloadText:   true,
		RuntimeErrorContext: true,
		UserAgent:           "GoogleCloudWorkflows; (+https://cloud.google.com/workflows/docs)",
		EndInBranch:         true,
	}
}
