package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/runonce/workflows/expr"
)

// Error is an error of the workflow language: what `raise` raises, what `except` catches, and what Run returns when
// nobody did.
type Error struct {
	// Payload is what `except: as: e` binds: a map, or what the workflow itself raised.
	Payload any
	// Tags are the payload's tags, for a caller that branches; nil where it has none.
	Tags []string
	// Message is the payload's message, the payload itself where it is a string, or its JSON.
	Message string
	// Context is the message and one line for each step that was under way, innermost first. Set by Run.
	Context string
	// Frames are the steps of Context.
	Frames []Frame
}

// Frame is one step that was under way when an error was raised.
type Frame struct {
	Step, Routine string
	Line          int
}

// Error is the context where there is one, else the message with its tags.
func (e *Error) Error() string {
	text := e.Message
	if e.Context != "" {
		text = strings.TrimRight(e.Context, "\n")
	}
	if len(e.Tags) > 0 {
		return fmt.Sprintf("%s: %s", strings.Join(e.Tags, ","), text)
	}
	return text
}

// HasTag reports whether the error has the tag.
func (e *Error) HasTag(tag string) bool {
	for _, t := range e.Tags {
		if t == tag {
			return true
		}
	}
	return false
}

// PayloadJSON is the payload as the Executions API returns it in error.payload.
func (e *Error) PayloadJSON() json.RawMessage {
	b, err := encodeJSON(e.Payload)
	if err != nil {
		b, _ = json.Marshal(e.Message)
	}
	return b
}

// The kinds of errors that the language and the standard library raise.
const (
	AuthError            = "AuthError"
	ConnectionError      = "ConnectionError"
	ConnectionFailed     = "ConnectionFailedError"
	HTTPError            = "HttpError"
	IndexError           = "IndexError"
	KeyError             = "KeyError"
	OperationError       = "OperationError"
	ParallelNestingError = "ParallelNestingError"
	RecursionError       = "RecursionError"
	ResourceLimitError   = "ResourceLimitError"
	ResponseTypeError    = "ResponseTypeError"
	SystemError          = "SystemError"
	TimeoutError         = "TimeoutError"
	TypeError            = "TypeError"
	UnhandledBranchError = "UnhandledBranchError"
	ValueError           = "ValueError"
	ZeroDivisionError    = "ZeroDivisionError"
)

// lineage are the wider tags that follow a kind (Semantics.Lineage).
var lineage = map[string]string{
	KeyError: "LookupError", IndexError: "LookupError", ZeroDivisionError: "ArithmeticError", TimeoutError: "OSError",
	UnhandledBranchError: "RuntimeError",
}

// prefixed are the kinds whose message begins with the kind (Semantics.KindPrefix).
var prefixed = map[string]bool{
	IndexError: true, KeyError: true, ParallelNestingError: true, RecursionError: true, ResourceLimitError: true,
	TypeError: true, UnhandledBranchError: true, ValueError: true, ZeroDivisionError: true,
}

// fault is an error of a kind before the execution's semantics have given it its tags and message.
type fault struct {
	kind, message string
	extra         map[string]any // further keys of the payload
}

func (f *fault) Error() string { return f.kind + ": " + f.message }

func faultf(kind, format string, args ...any) *fault {
	return &fault{kind: kind, message: fmt.Sprintf(format, args...)}
}

// Fault returns an error of one of the kinds above, for connectors and transports that play a part of the outside world: the
// execution raises it with its tags and message as its own.
func Fault(kind, message string) error { return &fault{kind: kind, message: message} }

// raise makes the language's error of what Go code returned. One that comes from a connector is copied, since frames are
// added to it.
func (x *execution) raise(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		if len(known.Frames) == 0 {
			fresh := *known
			return &fresh
		}
		return known
	}
	var f *fault
	var e *expr.Error
	switch {
	case errors.As(err, &f):
	case errors.As(err, &e):
		f = &fault{kind: e.Kind, message: e.Message}
	default:
		f = &fault{kind: SystemError, message: err.Error()}
	}
	return x.errorOf(f)
}

func (x *execution) errorOf(f *fault) *Error {
	tags := []any{f.kind}
	if wider := lineage[f.kind]; wider != "" && x.cfg.Semantics.Lineage {
		tags = append(tags, wider)
	}
	message := f.message
	if x.cfg.Semantics.KindPrefix && prefixed[f.kind] {
		message = f.kind + ": " + message
	}
	payload := map[string]any{"message": message, "tags": tags}
	for k, v := range f.extra {
		payload[k] = v
	}
	return raised(payload)
}

// raised makes the error that `raise: payload` raises.
func raised(payload any) *Error {
	e := &Error{Payload: payload}
	switch p := payload.(type) {
	case string:
		e.Message = p
	case map[string]any:
		e.Tags = tagsOf(p)
		if m, ok := p["message"].(string); ok {
			e.Message = m
			return e
		}
		e.Message = jsonText(p)
	default:
		e.Message = jsonText(p)
	}
	return e
}

func tagsOf(payload map[string]any) []string {
	list, _ := payload["tags"].([]any)
	var tags []string
	for _, t := range list {
		if s, ok := t.(string); ok {
			tags = append(tags, s)
		}
	}
	return tags
}

// finish writes the context, once the error has left the last routine.
func (e *Error) finish(s *Semantics) *Error {
	var b strings.Builder
	if text, ok := e.Payload.(string); ok && s.RuntimeErrorContext {
		fmt.Fprintf(&b, "RuntimeError: %q", text)
	} else {
		b.WriteString(e.Message)
	}
	for _, f := range e.Frames {
		fmt.Fprintf(&b, "\nin step %q, routine %q, line: %d", f.Step, f.Routine, f.Line)
	}
	if s.TrailingNewline {
		b.WriteByte('\n')
	}
	e.Context = b.String()
	return e
}
