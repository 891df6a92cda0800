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
	// Lineage adds the wider tags: LookupError to KeyError and IndexError, ArithmeticError to ZeroDivisionError, and OSError to
	// TimeoutError. Only the last was seen in a public capture; the others follow its pattern.
	Lineage bool
	// UserAgent is appended to the User-Agent of http.* calls. Reported.
	UserAgent string
	// CountUnnamed counts inline bodies (a switch case, a try without steps) as steps of their own. Unknown.
	CountUnnamed bool
	// TrailingNewline ends the error context with a newline. Unknown.
	TrailingNewline bool
	// EndInBranch lets `return` and `next: end` in a parallel branch end that branch only. Unknown.
	EndInBranch bool
	// KeyOrder is the order of keys() and of loops over a map: sorted here. Unknown; the service's maps promise none.
	KeyOrder string
	// TextIndex counts positions in text.substring and text.find_all by "characters". Unknown; len counts characters.
	TextIndex string
	// FormEncoding encodes a map body under Content-Type application/x-www-form-urlencoded like `query`. The documentation says
	// "encoded as prescribed", without the rule for nested values; the engine raises a TypeError for those.
	FormEncoding bool
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
		MissingEnv:       EnvNull,
		IntermediateMaps: true,
		MaxRedirects:     10,
		KindPrefix:       true,
		Lineage:          true,
		UserAgent:        "GoogleCloudWorkflows; (+https://cloud.google.com/workflows/docs)",
		EndInBranch:      true,
		KeyOrder:         "sorted",
		TextIndex:        "characters",
		FormEncoding:     true,
	}
}
