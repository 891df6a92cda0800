package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	executions "cloud.google.com/go/workflows/executions/apiv1"
	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"example.com/runonce/tokens"
)

// RunLabel is the label of an execution that names its run; its value is tokens.Label(run_id), because a label holds 63 characters.
const RunLabel = "runonce"

const workflowsAPI = "Workflows"

// workflows starts executions of workflows. The API takes no request id, so a repeated create is a second execution; the client sets
// no retry and no time-out, so both are set here, retries on reads alone.
type workflows struct {
	client       *executions.Client
	startTimeout time.Duration
	readTimeout  time.Duration
}

var workflowName = regexp.MustCompile(`^projects/[a-z0-9.:-]{1,100}/locations/[a-z0-9-]{1,60}/workflows/[A-Za-z0-9_-]{1,64}$`)

// restOnly are fields of the REST API that the gRPC API has not.
var restOnly = []string{"executionHistoryLevel", "disableConcurrencyQuotaOverflowBuffering"}

// prepare turns the body of a delivery, the API's Execution as JSON, into the request to make: run_id in the argument, the label added.
// An event's data is the argument itself. The content type does not matter: Cloud Scheduler sends application/octet-stream unless the job says otherwise.
func (w *workflows) prepare(body []byte, event bool, runID string) (json.RawMessage, error) {
	var in executionspb.Execution
	if event {
		in.Argument = string(body)
	} else if len(bytes.TrimSpace(body)) > 0 {
		if err := protojson.Unmarshal(body, &in); err != nil {
			return nil, badBody(body, err)
		}
	}
	argument, err := joinRunID(in.GetArgument(), runID)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(in.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	if v, ok := labels[RunLabel]; ok && v != tokens.Label(runID) {
		return nil, badRequest("label-clash", "the label %s is the proxy's own; leave it out", RunLabel)
	}
	labels[RunLabel] = tokens.Label(runID)
	return compactProto(&executionspb.Execution{Argument: argument, CallLogLevel: in.GetCallLogLevel(), Labels: labels})
}

func badBody(body []byte, cause error) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return badRequest("bad-body", "the body must be the JSON of an Execution, like {\"argument\": \"{}\"}; the proxy takes what the Workflows API takes").because(cause)
	}
	for _, name := range restOnly {
		if _, ok := fields[name]; ok {
			return badRequest("unsupported-field", "%s is a field of the REST API alone, and the proxy starts executions by gRPC, which has no such field; set it on the workflow", name)
		}
	}
	return badRequest("bad-body", "the body is no Execution: %s; argument is a string that holds JSON", cause)
}

// start makes one CreateExecution call, and no second.
func (w *workflows) start(ctx context.Context, c call) (started, error) {
	var e executionspb.Execution
	if err := protojson.Unmarshal(c.request, &e); err != nil {
		return started{}, fmt.Errorf("read the kept request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.startTimeout)
	defer cancel()
	got, err := w.client.CreateExecution(ctx, &executionspb.CreateExecutionRequest{Parent: c.target, Execution: &e})
	if err != nil {
		return started{}, classify(workflowsAPI, err)
	}
	return startedExecution(got)
}

// startedExecution leaves out what the execution came to: the answer is about the start, and a result may have half a megabyte.
func startedExecution(e *executionspb.Execution) (started, error) {
	s := started{name: e.GetName()}
	if e.GetStartTime() != nil {
		s.at = e.GetStartTime().AsTime()
	}
	switch e.GetState() {
	case executionspb.Execution_SUCCEEDED:
		s.state = succeeded
	case executionspb.Execution_FAILED, executionspb.Execution_CANCELLED:
		s.state = failed
	}
	e = proto.Clone(e).(*executionspb.Execution)
	e.Result, e.Error, e.Status = "", nil, nil
	var err error
	s.answer, err = compactProto(e)
	return s, err
}

// find looks for executions of this run: by label, and where that finds nothing or the filter is not understood, among all executions since
// the run was accepted. Every hit is matched again by label and by the run_id in its argument.
func (w *workflows) find(ctx context.Context, c call) ([]started, error) {
	ctx, cancel := context.WithTimeout(ctx, w.readTimeout)
	defer cancel()
	filter := fmt.Sprintf("labels.%s=%q", RunLabel, tokens.Label(c.runID))
	hits, err := w.list(ctx, c, filter)
	if err != nil && status.Code(err) != codes.InvalidArgument {
		return nil, lookupFailed(workflowsAPI, err)
	}
	if len(hits) == 0 {
		if hits, err = w.list(ctx, c, ""); err != nil {
			return nil, lookupFailed(workflowsAPI, err)
		}
	}
	slices.SortStableFunc(hits, byStart)
	var all []started
	for _, e := range hits {
		s, err := startedExecution(e)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (w *workflows) get(ctx context.Context, name string) (started, error) {
	ctx, cancel := context.WithTimeout(ctx, w.readTimeout)
	defer cancel()
	e, err := w.client.GetExecution(ctx, &executionspb.GetExecutionRequest{Name: name, View: executionspb.ExecutionView_FULL}, retryReads()...)
	if err != nil {
		return started{}, lookupFailed(workflowsAPI, err)
	}
	return startedExecution(e)
}

// clockSlack widens the window of a scan: the run's acceptance was stamped by a proxy's clock, an execution's start by Google's.
const clockSlack = 10 * time.Minute

func (w *workflows) list(ctx context.Context, c call, filter string) ([]*executionspb.Execution, error) {
	it := w.client.ListExecutions(ctx, &executionspb.ListExecutionsRequest{
		Parent: c.target, Filter: filter, PageSize: 100, View: executionspb.ExecutionView_FULL,
	}, retryReads()...)
	var hits []*executionspb.Execution
	old := 0 // in a row: lists are newest first
	for {
		e, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return hits, nil
		}
		if err != nil {
			return nil, err
		}
		if e.GetLabels()[RunLabel] == tokens.Label(c.runID) && runIDIn(e.GetArgument()) == c.runID {
			hits = append(hits, e)
		}
		if old++; e.GetStartTime() == nil || !e.GetStartTime().AsTime().Before(c.since.Add(-clockSlack)) {
			old = 0
		}
		if filter == "" && old >= 100 {
			return hits, nil
		}
	}
}

// byStart orders executions, oldest first; one that is queued has no start and comes last.
func byStart(a, b *executionspb.Execution) int {
	switch {
	case a.GetStartTime() == nil && b.GetStartTime() == nil:
		return 0
	case a.GetStartTime() == nil:
		return 1
	case b.GetStartTime() == nil:
		return -1
	}
	return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
}

func retryReads() []gax.CallOption {
	return []gax.CallOption{gax.WithRetry(func() gax.Retryer {
		return gax.OnCodes([]codes.Code{codes.Unavailable, codes.Internal, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded},
			gax.Backoff{Initial: 50 * time.Millisecond, Max: 2 * time.Second, Multiplier: 2})
	})}
}

// compactProto writes a message as JSON with the same bytes each time, which protojson does not promise.
func compactProto(m proto.Message) (json.RawMessage, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the API's resource: %w", err)
	}
	b, err = json.Marshal(json.RawMessage(b))
	if err != nil {
		return nil, fmt.Errorf("write the API's resource: %w", err)
	}
	return b, nil
}

// parseWorkflow checks the resource name that a path spells.
func parseWorkflow(parts ...string) (string, error) {
	name := strings.Join([]string{"projects", parts[0], "locations", parts[1], "workflows", parts[2]}, "/")
	if !workflowName.MatchString(name) {
		return "", badRequest("bad-target", "the path does not spell a workflow: want /v1/projects/P/locations/L/workflows/W/executions")
	}
	return name, nil
}
