package workflowstest

import (
	"encoding/json"
	"strings"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// restExecution is an execution in JSON: the message, and what only REST tells.
func restExecution(v view) (json.RawMessage, error) {
	body, err := protojson.Marshal(v.message)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	if v.full {
		fields["createTime"] = stampOf(v.created)
		if v.rest.NoBacklog {
			fields["disableConcurrencyQuotaOverflowBuffering"] = true
		}
		if v.rest.HistoryLevel != "" {
			fields["executionHistoryLevel"] = v.rest.HistoryLevel
		}
	}
	return json.Marshal(fields)
}

// stampOf is a time as protojson has it: with no, three, six or nine digits behind the second.
func stampOf(t time.Time) string {
	text := t.UTC().Format("2006-01-02T15:04:05.000000000")
	for strings.HasSuffix(text, "000") {
		text = text[:len(text)-3]
	}
	return strings.TrimSuffix(text, ".") + "Z"
}

// answerExecution is restExecution for the end of a handler.
func answerExecution(v view, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return restExecution(v)
}

func restCreateExecution(s *Server, c *restCall) (any, error) {
	var rest restFields
	message := &pb.Execution{}
	if len(c.body) > 0 {
		body, err := splitExecution(c.body, &rest)
		if err != nil {
			return nil, err
		}
		if err := decodeJSON(body, message); err != nil {
			return nil, err
		}
	}
	switch rest.HistoryLevel {
	case "", "EXECUTION_HISTORY_LEVEL_UNSPECIFIED", "EXECUTION_HISTORY_BASIC", "EXECUTION_HISTORY_DETAILED":
	default:
		return nil, invalid("execution.execution_history_level", "%q is unknown", rest.HistoryLevel)
	}
	return answerExecution(s.create(ownerOf(c.name+"/-"), message, rest))
}

// splitExecution reads what the message does not have, and returns the rest of the body.
func splitExecution(body []byte, rest *restFields) ([]byte, error) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(body, &fields)
	if err == nil {
		err = json.Unmarshal(body, rest)
	}
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid JSON payload received. %v", err)
	}
	for _, name := range []string{"disableConcurrencyQuotaOverflowBuffering", "executionHistoryLevel", "createTime"} {
		delete(fields, name)
	}
	return json.Marshal(fields)
}

func restGetExecution(s *Server, c *restCall) (any, error) {
	shown, err := c.enum("view", pb.ExecutionView_value)
	if err != nil {
		return nil, err
	}
	return answerExecution(s.get(&pb.GetExecutionRequest{Name: c.name, View: pb.ExecutionView(shown)}))
}

func restCancelExecution(s *Server, c *restCall) (any, error) {
	return answerExecution(s.cancelExecution(c.name))
}

func restListExecutions(s *Server, c *restCall) (any, error) {
	shown, err := c.enum("view", pb.ExecutionView_value)
	if err != nil {
		return nil, err
	}
	size, err := c.number("pageSize")
	if err != nil {
		return nil, err
	}
	views, next, err := s.list(&pb.ListExecutionsRequest{
		Parent: ownerOf(c.name + "/-"), Filter: c.query.Get("filter"), OrderBy: c.query.Get("orderBy"), View: pb.ExecutionView(shown),
		PageSize: size, PageToken: c.query.Get("pageToken"),
	})
	if err != nil {
		return nil, err
	}
	out := struct {
		Executions    []json.RawMessage `json:"executions,omitempty"`
		NextPageToken string            `json:"nextPageToken,omitempty"`
	}{NextPageToken: next}
	for _, v := range views {
		e, err := restExecution(v)
		if err != nil {
			return nil, err
		}
		out.Executions = append(out.Executions, e)
	}
	return out, nil
}

// restDeleteHistory forgets the step entries of an execution that has ended.
func restDeleteHistory(s *Server, c *restCall) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.execution(c.name)
	if err != nil {
		return nil, err
	}
	if e.ended.IsZero() {
		return nil, status.Errorf(codes.FailedPrecondition, "execution %s has not ended: it is %s", e.name, e.state)
	}
	e.ran.forget()
	return struct{}{}, nil
}
