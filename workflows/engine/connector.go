package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Connector answers calls of one googleapis.* method. It gets the step's args and returns a value of the language: nil,
// bool, numbers, string, []byte, []any, map[string]any; other Go values pass through their JSON. An error from APIError
// is raised as the service raises an API's error; any other becomes a SystemError.
//
// The engine tries a call again as the service does for connectors, without any retry block in the workflow: a method
// that reads by the idempotent policy, every other by the non-idempotent one.
type Connector func(ctx context.Context, call ConnectorCall) (any, error)

// ConnectorCall is one attempt of a connector call.
type ConnectorCall struct {
	Name    string         // the full name, "googleapis.bigquery.v2.jobs.insert"
	Args    map[string]any // without connector_params
	Attempt int            // from 1
	Now     time.Time      // on the execution's clock
}

// APIError is the error of a Google API as a workflow sees it: an HttpError with the API's error object as body. status is
// the canonical code, such as ALREADY_EXISTS.
func APIError(code int, status, message string) *Error {
	return raised(map[string]any{
		"tags": []any{HTTPError}, "code": int64(code),
		"message": fmt.Sprintf("HTTP server responded with error code %d", code),
		"headers": map[string]any{"Content-Type": "application/json; charset=UTF-8"},
		"body": map[string]any{"error": map[string]any{
			"code": int64(code), "status": status, "message": message,
		}},
	})
}

// UnknownConnectorError is why a call of a connector that nobody answers cannot be made.
type UnknownConnectorError struct{ Name string }

func (e *UnknownConnectorError) Error() string {
	return fmt.Sprintf("connector %s is not known to this engine: pass a stub (Config.Connectors, wf run -stubs)", e.Name)
}

// callConnector calls with the built-in retry policy around each request.
func (f *frame) callConnector(name string, args map[string]any) (any, error) {
	args = maps.Clone(args)
	params, _ := args["connector_params"].(map[string]any)
	delete(args, "connector_params")
	ctx := withParams(f, params)
	if name == runExecution && f.x.cfg.Connectors[name] == nil {
		return f.runExecution(ctx, args)
	}
	connector, err := f.connectorFor(name)
	if err != nil {
		return nil, err
	}
	return f.retryConnector(name, func(attempt int) (any, error) {
		value, err := connector(ctx, ConnectorCall{Name: name, Args: args, Attempt: attempt, Now: f.x.cfg.Clock.Now()})
		if err != nil {
			return nil, err
		}
		return plain(value)
	})
}

// retryConnector makes one request of a connector, again as the service's policy for its method says.
func (f *frame) retryConnector(name string, do func(attempt int) (any, error)) (any, error) {
	again := connectorPolicy(name)
	for attempt := 1; ; attempt++ {
		value, err := do(attempt)
		if err == nil {
			return value, nil
		}
		if f.ctx.Err() != nil {
			return nil, err
		}
		e := f.x.raise(err)
		if attempt > defaultRetries || !again(e.Payload) {
			return nil, e
		}
		if err := f.x.backOff(f.ctx, defaultBackoff.delay(attempt)); err != nil {
			return nil, err
		}
	}
}

func (f *frame) connectorFor(name string) (Connector, error) {
	if c := f.x.cfg.Connectors[name]; c != nil {
		return c, nil
	}
	if c := f.restConnector(name); c != nil {
		return c, nil
	}
	return nil, &UnknownConnectorError{name}
}

// connectorPolicy picks the policy by whether the method is an HTTP GET, which its name tells.
func connectorPolicy(name string) func(payload any) bool {
	method := name[strings.LastIndexByte(name, '.')+1:]
	if reads(method) {
		return func(p any) bool {
			return retryable(p, []int64{429, 502, 503, 504}, []string{ConnectionError, ConnectionFailed, TimeoutError})
		}
	}
	return func(p any) bool { return retryable(p, []int64{429, 503}, []string{ConnectionFailed}) }
}

func reads(method string) bool {
	for _, prefix := range []string{"get", "list", "access", "aggregatedList"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

// positional are the parameters of connectors that expressions call, in order.
var positional = map[string][]string{
	"googleapis.secretmanager.v1.projects.secrets.versions.accessString": {"secret_id", "version", "project_id"},
	"googleapis.secretmanager.v1.projects.secrets.versions.access":       {"name"},
}

// callConnectorPositional is a connector call inside an expression.
func (f *frame) callConnectorPositional(name string, args []any) (any, error) {
	params, known := positional[name]
	if !known || len(args) > len(params) {
		return nil, faultf(SystemError, "connector %s: this engine does not know the order of its arguments; use a call step", name)
	}
	named := map[string]any{}
	for i, v := range args {
		named[params[i]] = v
	}
	return f.callConnector(name, named)
}

// argAt reads an argument whose name has dots, given as one key ("updateMask.fieldPaths") or as nested maps.
func argAt(args map[string]any, name string) (any, bool) {
	if v, ok := args[name]; ok {
		return v, true
	}
	first, rest, nested := strings.Cut(name, ".")
	inner, ok := args[first].(map[string]any)
	if !nested || !ok {
		return nil, false
	}
	return argAt(inner, rest)
}

type paramsKey struct{}

// withParams lets built-in connectors see the step's connector_params.
func withParams(f *frame, params map[string]any) context.Context {
	if params == nil {
		return f.ctx
	}
	return context.WithValue(f.ctx, paramsKey{}, params)
}

func connectorParam(ctx context.Context, name string) any {
	params, _ := ctx.Value(paramsKey{}).(map[string]any)
	return params[name]
}

// plain turns what a connector returned into a value of the language.
func plain(v any) (any, error) {
	if isPlain(v) {
		return v, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, faultf(ResponseTypeError, "connector answered with a %T: %v", v, err)
	}
	return decodeJSON(b)
}

func isPlain(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte:
		return true
	case []any:
		for _, e := range v {
			if !isPlain(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range v {
			if !isPlain(e) {
				return false
			}
		}
		return true
	}
	return false
}
