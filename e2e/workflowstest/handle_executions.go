package workflowstest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// executionsService speaks google.cloud.workflows.executions.v1.Executions for a Server.
type executionsService struct {
	pb.UnimplementedExecutionsServer
	s *Server
}

func (v *executionsService) CreateExecution(_ context.Context, r *pb.CreateExecutionRequest) (*pb.Execution, error) {
	out, err := v.s.create(r.GetParent(), r.GetExecution(), restFields{})
	return out.message, err
}

func (v *executionsService) GetExecution(_ context.Context, r *pb.GetExecutionRequest) (*pb.Execution, error) {
	out, err := v.s.get(r)
	return out.message, err
}

func (v *executionsService) CancelExecution(_ context.Context, r *pb.CancelExecutionRequest) (*pb.Execution, error) {
	out, err := v.s.cancelExecution(r.GetName())
	return out.message, err
}

func (v *executionsService) ListExecutions(_ context.Context, r *pb.ListExecutionsRequest) (*pb.ListExecutionsResponse, error) {
	views, next, err := v.s.list(r)
	if err != nil {
		return nil, err
	}
	out := &pb.ListExecutionsResponse{NextPageToken: next}
	for _, e := range views {
		out.Executions = append(out.Executions, e.message)
	}
	return out, nil
}

func (s *Server) get(r *pb.GetExecutionRequest) (view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.execution(r.GetName())
	if err != nil {
		return view{}, err
	}
	return e.view(r.GetView() != pb.ExecutionView_BASIC), nil // FULL is the default of Get
}

func (s *Server) cancelExecution(name string) (view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.execution(name)
	if err != nil {
		return view{}, err
	}
	if !s.halt(e, pb.Execution_CANCELLED, nil) {
		return view{}, status.Errorf(codes.FailedPrecondition, "execution %s has ended: it is %s", name, e.state)
	}
	return e.view(true), nil
}

// list serves ListExecutions: of all revisions, the newest first where order_by does not say.
func (s *Server) list(r *pb.ListExecutionsRequest) ([]view, string, error) {
	fields := executionFields
	if s.cfg.RejectLabelFilter {
		fields = executionFieldsWithoutLabels
	}
	match, err := fields.filter(r.GetFilter())
	if err != nil {
		return nil, "", err
	}
	compare, err := executionOrder.by(r.GetOrderBy(), "createTime desc")
	if err != nil {
		return nil, "", err
	}
	full, limit := r.GetView() == pb.ExecutionView_FULL, 1000 // BASIC is the default of List
	if full {
		limit = 100
	}
	p, err := pageOf(r.GetPageSize(), r.GetPageToken(), 100, limit, r.GetParent(), r.GetFilter(), r.GetOrderBy(), r.GetView().String())
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.workflow("parent", r.GetParent()); err != nil {
		return nil, "", err
	}
	var hits []*execution
	for _, e := range slices.Backward(s.all) { // so that the newest of one instant comes first
		if e.workflow() == r.GetParent() && !e.deleted && s.listed(e) && match(e) {
			hits = append(hits, e)
		}
	}
	slices.SortStableFunc(hits, compare)
	hits, next := cut(p, hits)
	views := make([]view, len(hits))
	for i, e := range hits {
		views[i] = e.view(full)
	}
	return views, next, nil
}

// listed says whether List knows of the execution already.
func (s *Server) listed(e *execution) bool {
	return s.cfg.ListLag <= 0 || s.cfg.Clock.Now().Sub(e.created) >= s.cfg.ListLag
}

var executionOrder = ordering[*execution]{
	"executionId":        func(a, b *execution) int { return strings.Compare(a.id(), b.id()) },
	"state":              func(a, b *execution) int { return cmp.Compare(a.shown(), b.shown()) },
	"createTime":         func(a, b *execution) int { return a.created.Compare(b.created) },
	"startTime":          func(a, b *execution) int { return a.started.Compare(b.started) },
	"endTime":            func(a, b *execution) int { return a.ended.Compare(b.ended) },
	"duration":           func(a, b *execution) int { return cmp.Compare(a.duration(), b.duration()) },
	"workflowRevisionId": func(a, b *execution) int { return strings.Compare(a.of.message.RevisionId, b.of.message.RevisionId) },
}

var executionFields = fields[*execution]{
	"executionId":        textField((*execution).id),
	"state":              wordField(func(e *execution) string { return e.shown().String() }, "ACTIVE", "SUCCEEDED", "FAILED", "CANCELLED", "UNAVAILABLE", "QUEUED"),
	"createTime":         timeField(func(e *execution) time.Time { return e.created }),
	"startTime":          timeField(func(e *execution) time.Time { return e.started }),
	"endTime":            timeField(func(e *execution) time.Time { return e.ended }),
	"duration":           durationField((*execution).duration),
	"workflowRevisionId": textField(func(e *execution) string { return e.of.message.RevisionId }),
	"stepName":           textField(func(e *execution) string { at, _ := e.ran.current(); return at.Step }),
	"label":              labelField(func(e *execution) map[string]string { return e.labels }),
	"labels":             labelField(func(e *execution) map[string]string { return e.labels }),

	"disableConcurrencyQuotaOverflowBuffering": boolField(func(e *execution) bool { return e.rest.NoBacklog }),
}

var executionFieldsWithoutLabels = func() fields[*execution] {
	out := fields[*execution]{}
	for name, f := range executionFields {
		out[name] = f
	}
	out["label"], out["labels"] = noLabelField[*execution], noLabelField[*execution]
	return out
}()
