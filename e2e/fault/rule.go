package fault

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// Kind says what happens to a call.
type Kind int

const (
	// None lets the call pass; it is what the log says of a call that no rule touched.
	None Kind = iota
	// Refuse answers with an error before anything was executed.
	Refuse
	// Lose executes the call and then loses the answer: the caller cannot tell it from a refusal.
	Lose
	// Delay makes the call wait before it is executed, or after it when the rule says After.
	Delay
	// Duplicate executes the call twice and answers with the second answer.
	Duplicate
	// Abort answers ABORTED (HTTP: 409) before anything was executed, as a store does under contention.
	Abort
	// Hold stops the call at a Gate until the test releases it.
	Hold
)

// String is the kind's name in lower case, as a log prints it.
func (k Kind) String() string {
	names := [...]string{"none", "refuse", "lose", "delay", "duplicate", "abort", "hold"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind(%d)", int(k))
	}
	return names[k]
}

// Kinds are the faults that a sweep over all calls tries one after the other; Hold is not among them, since it needs a test to let go.
func Kinds() []Kind { return []Kind{Refuse, Lose, Delay, Duplicate, Abort} }

// Rule is one fault of a plan. The zero value of each field has the meaning its comment gives.
type Rule struct {
	// Method is matched against the end of the call's name: a gRPC full method ("/google.firestore.v1.Firestore/Commit"),
	// or "POST /path" for HTTP. "" matches every call.
	Method string
	// N is the first matching call that is hit, counted from 1 since the rule was added. 0 hits from the first on.
	N int
	// Times is how many matching calls in a row are hit. 0 means one when N is given, and every call when it is not.
	Times int
	// Kind is the fault.
	Kind Kind
	// Code is the gRPC code of the answer. Default: UNAVAILABLE, for Abort ABORTED.
	Code codes.Code
	// Status is the HTTP status of the answer. Default: 503, for Abort 409. A lost answer has none: the connection is dropped,
	// unless a Status is given, which is what a front end in between would say (502, 504).
	Status int
	// Message is the text of the answer. Default: "fault: " and the kind.
	Message string
	// Delay is how long Delay waits, in real time. Default 0. The wait ends early with the call's context.
	Delay time.Duration
	// After makes Delay and Hold wait after the call was executed and before it is answered.
	After bool
	// Gate is where Hold stops the call; Plan.Hold makes one.
	Gate *Gate
}

func (r Rule) code() codes.Code {
	switch {
	case r.Code != codes.OK:
		return r.Code
	case r.Kind == Abort:
		return codes.Aborted
	}
	return codes.Unavailable
}

func (r Rule) status() int {
	switch {
	case r.Status != 0:
		return r.Status
	case r.Kind == Abort:
		return 409
	}
	return 503
}

func (r Rule) message() string {
	if r.Message != "" {
		return r.Message
	}
	return "fault: " + r.Kind.String()
}

func (r Rule) matches(method string) bool { return strings.HasSuffix(method, r.Method) }

// hits reports whether the n-th matching call is one the rule means.
func (r Rule) hits(n int) bool {
	first, times := max(r.N, 1), r.Times
	if times == 0 && r.N == 0 {
		return true
	}
	return n >= first && n < first+max(times, 1)
}

// before is the wait that comes ahead of the execution.
func (r Rule) before(ctx context.Context) error {
	if r.After {
		return nil
	}
	return r.wait(ctx)
}

// after is the wait between the execution and the answer.
func (r Rule) after(ctx context.Context) error {
	if !r.After {
		return nil
	}
	return r.wait(ctx)
}

func (r Rule) wait(ctx context.Context) error {
	switch r.Kind {
	case Delay:
		timer := time.NewTimer(r.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case Hold:
		return r.Gate.pass(ctx)
	}
	return nil
}
