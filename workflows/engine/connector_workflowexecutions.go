package engine

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// executionsREST are the methods of the Executions API that are one call each.
var executionsREST = restTable("workflowexecutions.v1.projects.locations.workflows.executions", map[string]restMethod{
	"create": {"POST", "/v1/{parent*}/executions", nil},
	"get":    {"GET", "/v1/{name*}", []string{"view"}},
	"list":   {"GET", "/v1/{parent*}/executions", []string{"filter", "orderBy", "pageSize", "pageToken", "view"}},
	"cancel": {"POST", "/v1/{name*}:cancel", nil},
})

// runExecution starts an execution, waits for its end and returns its result. It has no token: a 503 after the start
// makes the built-in retry start a second one, here as there.
const runExecution = "googleapis.workflowexecutions.v1.projects.locations.workflows.executions.run"

// The waits between two looks at an execution: 1 s, growing by a quarter, at most a minute.
var pollBackoff = defaultBackoff

func (f *frame) runExecution(ctx context.Context, args map[string]any) (any, error) {
	base := f.x.cfg.Endpoints["workflowexecutions"]
	if base == "" {
		return nil, &UnknownConnectorError{runExecution}
	}
	parent, err := f.workflowName(args)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if arg := args["argument"]; arg != nil {
		body["argument"] = jsonText(arg)
	}
	created, err := f.execution(ctx, base, "create", map[string]any{"parent": parent, "body": body})
	if err != nil {
		return nil, err
	}
	return f.awaitExecution(ctx, base, created)
}

// execution calls one method of the Executions API.
func (f *frame) execution(ctx context.Context, base, method string, args map[string]any) (any, error) {
	name := executionsPrefix + method
	return f.retryConnector(name, func(int) (any, error) {
		return f.rest(ctx, strings.TrimSuffix(base, "/"), executionsREST[name], args)
	})
}

const executionsPrefix = "googleapis.workflowexecutions.v1.projects.locations.workflows.executions."

// workflowName is the resource name of the workflow that args name; project and location default to the caller's own.
func (f *frame) workflowName(args map[string]any) (string, error) {
	part := func(arg, env string) (string, error) {
		if s, ok := args[arg].(string); ok && s != "" {
			return s, nil
		}
		if s := f.x.cfg.Env[env]; s != "" {
			return s, nil
		}
		return "", faultf(ValueError, "missing argument %q", arg)
	}
	workflow, err := part("workflow_id", "")
	if err != nil {
		return "", err
	}
	project, err := part("project_id", "GOOGLE_CLOUD_PROJECT_ID")
	if err != nil {
		return "", err
	}
	location, err := part("location", "GOOGLE_CLOUD_LOCATION")
	return fmt.Sprintf("projects/%s/locations/%s/workflows/%s", project, location, workflow), err
}

// awaitExecution looks at an execution until it has ended, and returns its result, or raises with the execution under
// `operation`.
func (f *frame) awaitExecution(ctx context.Context, base string, created any) (any, error) {
	limit := 30 * time.Minute
	if n, ok := asFloat(connectorParam(ctx, "timeout")); ok {
		limit = time.Duration(n * float64(time.Second))
	}
	deadline := f.x.cfg.Clock.Now().Add(limit)
	execution := created
	for n := 1; ; n++ {
		m, ok := execution.(map[string]any)
		name, named := m["name"].(string)
		if !ok || !named {
			return nil, faultf(ResponseTypeError, "the Executions API answered with no execution")
		}
		switch m["state"] {
		case "SUCCEEDED":
			text, _ := m["result"].(string)
			result, err := decodeJSON([]byte(text))
			if err != nil {
				return nil, faultf(ResponseTypeError, "execution %s has no JSON result", name)
			}
			return result, nil
		case "FAILED", "CANCELLED", "UNAVAILABLE":
			return nil, &fault{kind: OperationError, message: "Execution failed or cancelled.", extra: map[string]any{"operation": m}}
		}
		wait := pollBackoff.delay(int(math.Min(float64(n), 100)))
		if f.x.cfg.Clock.Now().Add(wait).After(deadline) {
			return nil, faultf(TimeoutError, "execution %s did not end within %s", name, limit)
		}
		if err := sleep(ctx, f.x.cfg.Clock, wait); err != nil {
			return nil, err
		}
		var err error
		if execution, err = f.execution(ctx, base, "get", map[string]any{"name": name}); err != nil {
			return nil, err
		}
	}
}
