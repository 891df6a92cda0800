package workflowstest

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// service speaks the Executions API for a Server. What it does not know answers UNIMPLEMENTED by its name.
type service struct {
	executionspb.UnimplementedExecutionsServer
	s *Server
}

func (v *service) CreateExecution(_ context.Context, r *executionspb.CreateExecutionRequest) (*executionspb.Execution, error) {
	return v.s.create(r.GetParent(), r.GetExecution())
}

func (v *service) GetExecution(_ context.Context, r *executionspb.GetExecutionRequest) (*executionspb.Execution, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	e, err := v.s.find(r.GetName())
	if err != nil {
		return nil, err
	}
	return e.proto(r.GetView() != executionspb.ExecutionView_BASIC), nil // FULL is the default of Get
}

func (v *service) CancelExecution(_ context.Context, r *executionspb.CancelExecutionRequest) (*executionspb.Execution, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	e, err := v.s.find(r.GetName())
	if err != nil {
		return nil, err
	}
	switch e.state {
	case executionspb.Execution_ACTIVE:
		e.stop(context.Canceled)
	case executionspb.Execution_QUEUED:
		e.stop(context.Canceled)
		e.state, e.ended = executionspb.Execution_CANCELLED, v.s.cfg.Now()
		v.s.tell()
	default:
		return nil, status.Errorf(codes.FailedPrecondition, "execution %s has ended", e.name)
	}
	return e.proto(true), nil
}

// find returns an execution. The caller holds mu.
func (s *Server) find(name string) (*execution, error) {
	i := slices.IndexFunc(s.all, func(e *execution) bool { return e.name == name })
	if i < 0 {
		return nil, status.Errorf(codes.NotFound, "Resource '%s' was not found", name)
	}
	return s.all[i], nil
}

func (v *service) ListExecutions(_ context.Context, r *executionspb.ListExecutionsRequest) (*executionspb.ListExecutionsResponse, error) {
	s := v.s
	if !workflowName.MatchString(r.GetParent()) {
		return nil, status.Errorf(codes.InvalidArgument, "parent %q: want projects/P/locations/L/workflows/W", r.GetParent())
	}
	match, err := filterOf(r.GetFilter(), !s.cfg.RejectLabelFilter)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "filter: %v", err)
	}
	less, err := orderOf(r.GetOrderBy())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "order_by: %v", err)
	}
	full := r.GetView() == executionspb.ExecutionView_FULL
	size := pageSize(int(r.GetPageSize()), full)
	from, err := offsetOf(r.GetPageToken())
	if err != nil || r.GetPageSize() < 0 {
		return nil, status.Error(codes.InvalidArgument, "page_token or page_size is not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workflows[r.GetParent()] == nil {
		return nil, status.Errorf(codes.NotFound, "Resource '%s' was not found", r.GetParent())
	}
	var hits []*execution
	for _, e := range s.all {
		visible := s.cfg.ListLag == 0 || s.cfg.Now().Sub(e.created) >= s.cfg.ListLag
		if e.of.name == r.GetParent() && visible && match(e) {
			hits = append(hits, e)
		}
	}
	slices.SortStableFunc(hits, less)
	out := &executionspb.ListExecutionsResponse{}
	for _, e := range hits[min(from, len(hits)):min(from+size, len(hits))] {
		out.Executions = append(out.Executions, e.proto(full))
	}
	if from+size < len(hits) {
		out.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(from + size)))
	}
	return out, nil
}

// pageSize is the size of a page: 100 by default, at most 1000, or 100 of the full view (executions.proto).
func pageSize(asked int, full bool) int {
	limit := 1000
	if full {
		limit = 100
	}
	if asked == 0 {
		return 100
	}
	return min(asked, limit)
}

func offsetOf(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 0 {
		return 0, strconv.ErrSyntax
	}
	return n, nil
}
