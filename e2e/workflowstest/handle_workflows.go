package workflowstest

import (
	"context"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/workflows/apiv1/workflowspb"
	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// workflowsService speaks google.cloud.workflows.v1.Workflows for a Server.
type workflowsService struct {
	workflowspb.UnimplementedWorkflowsServer
	s *Server
}

func (v *workflowsService) CreateWorkflow(_ context.Context, r *workflowspb.CreateWorkflowRequest) (*longrunningpb.Operation, error) {
	if !locationName.MatchString(r.GetParent()) {
		return nil, wrongName("parent", r.GetParent(), locationForm)
	}
	message := &workflowspb.Workflow{}
	if r.GetWorkflow() != nil {
		message = proto.CloneOf(r.GetWorkflow())
	}
	message.Name = r.GetParent() + "/workflows/" + r.GetWorkflowId()
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workflows[message.Name] != nil {
		return nil, status.Errorf(codes.AlreadyExists, "Resource '%s' already exists", message.Name)
	}
	return s.deployed("create", message)
}

// deployed deploys, and answers with the operation. The caller holds mu.
func (s *Server) deployed(verb string, message *workflowspb.Workflow) (*longrunningpb.Operation, error) {
	w, err := s.deploy(message)
	if err != nil && !isBuildError(err) {
		return nil, err
	}
	if err != nil {
		return s.operation(verb, message.Name, nil, err)
	}
	return s.operation(verb, message.Name, w.view(w.latest()), nil)
}

func (v *workflowsService) UpdateWorkflow(_ context.Context, r *workflowspb.UpdateWorkflowRequest) (*longrunningpb.Operation, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.workflow("workflow.name", r.GetWorkflow().GetName())
	if err != nil {
		return nil, err
	}
	message, err := merged(w.latest().message, r.GetWorkflow(), r.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	return s.deployed("update", message)
}

// merged is the old workflow with the fields of paths from the new one; without paths it is the new one.
func merged(old, in *workflowspb.Workflow, paths []string) (*workflowspb.Workflow, error) {
	in = proto.CloneOf(in)
	if len(paths) == 0 {
		return in, nil
	}
	out := proto.CloneOf(old)
	for _, path := range paths {
		f := in.ProtoReflect().Descriptor().Fields().ByTextName(path)
		if f == nil || !slices.Contains(updatable, path) {
			return nil, invalid("update_mask", "%q cannot be updated; %v can", path, updatable)
		}
		if in.ProtoReflect().Has(f) {
			out.ProtoReflect().Set(f, in.ProtoReflect().Get(f))
		} else {
			out.ProtoReflect().Clear(f)
		}
	}
	return out, nil
}

var updatable = []string{
	"description", "labels", "service_account", "source_contents", "crypto_key_name", "call_log_level", "user_env_vars", "execution_history_level",
}

// DeleteWorkflow also cancels the executions, which are gone with it.
func (v *workflowsService) DeleteWorkflow(_ context.Context, r *workflowspb.DeleteWorkflowRequest) (*longrunningpb.Operation, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.workflow("name", r.GetName()); err != nil {
		return nil, err
	}
	delete(s.workflows, r.GetName())
	for _, e := range s.all {
		if e.workflow() == r.GetName() {
			e.deleted = true
			s.halt(e, pb.Execution_CANCELLED, nil)
		}
	}
	return s.operation("delete", r.GetName(), &emptypb.Empty{}, nil)
}

func (v *workflowsService) GetWorkflow(_ context.Context, r *workflowspb.GetWorkflowRequest) (*workflowspb.Workflow, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.workflow("name", r.GetName())
	if err != nil {
		return nil, err
	}
	if r.GetRevisionId() == "" {
		return w.view(w.latest()), nil
	}
	for _, rev := range w.revisions {
		if rev.message.RevisionId == r.GetRevisionId() {
			return w.view(rev), nil
		}
	}
	return nil, notFound(r.GetName() + "@" + r.GetRevisionId())
}

func (v *workflowsService) ListWorkflowRevisions(_ context.Context, r *workflowspb.ListWorkflowRevisionsRequest) (*workflowspb.ListWorkflowRevisionsResponse, error) {
	p, err := pageOf(r.GetPageSize(), r.GetPageToken(), 20, 100, r.GetName())
	if err != nil {
		return nil, err
	}
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.workflow("name", r.GetName())
	if err != nil {
		return nil, err
	}
	newest := slices.Clone(w.revisions)
	slices.Reverse(newest)
	part, next := cut(p, newest)
	out := &workflowspb.ListWorkflowRevisionsResponse{NextPageToken: next}
	for _, rev := range part {
		out.Workflows = append(out.Workflows, w.view(rev))
	}
	return out, nil
}

// ListWorkflows takes - as the location for all of them.
func (v *workflowsService) ListWorkflows(_ context.Context, r *workflowspb.ListWorkflowsRequest) (*workflowspb.ListWorkflowsResponse, error) {
	if !locationName.MatchString(r.GetParent()) {
		return nil, wrongName("parent", r.GetParent(), locationForm)
	}
	match, err := workflowFields.filter(r.GetFilter())
	if err != nil {
		return nil, err
	}
	compare, err := workflowOrder.by(r.GetOrderBy(), "name")
	if err != nil {
		return nil, err
	}
	p, err := pageOf(r.GetPageSize(), r.GetPageToken(), 500, 1000, r.GetParent(), r.GetFilter(), r.GetOrderBy())
	if err != nil {
		return nil, err
	}
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var hits []*workflowspb.Workflow
	for name, w := range s.workflows {
		if m := w.view(w.latest()); within(r.GetParent(), ownerOf(name)) && match(m) {
			hits = append(hits, m)
		}
	}
	slices.SortFunc(hits, func(a, b *workflowspb.Workflow) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	out := &workflowspb.ListWorkflowsResponse{}
	out.Workflows, out.NextPageToken = cut(p, hits)
	return out, nil
}

func within(parent, owner string) bool {
	if all, ok := strings.CutSuffix(parent, "/-"); ok {
		return strings.HasPrefix(owner, all+"/")
	}
	return parent == owner
}

var workflowOrder = ordering[*workflowspb.Workflow]{
	"name":       func(a, b *workflowspb.Workflow) int { return strings.Compare(a.Name, b.Name) },
	"createTime": func(a, b *workflowspb.Workflow) int { return a.CreateTime.AsTime().Compare(b.CreateTime.AsTime()) },
	"updateTime": func(a, b *workflowspb.Workflow) int { return a.UpdateTime.AsTime().Compare(b.UpdateTime.AsTime()) },
}

var workflowFields = fields[*workflowspb.Workflow]{
	"name":           textField((*workflowspb.Workflow).GetName),
	"state":          wordField(func(w *workflowspb.Workflow) string { return w.State.String() }, "ACTIVE", "UNAVAILABLE"),
	"createTime":     timeField(func(w *workflowspb.Workflow) time.Time { return w.CreateTime.AsTime() }),
	"updateTime":     timeField(func(w *workflowspb.Workflow) time.Time { return w.UpdateTime.AsTime() }),
	"serviceAccount": textField((*workflowspb.Workflow).GetServiceAccount),
	"revisionId":     textField((*workflowspb.Workflow).GetRevisionId),
	"label":          labelField((*workflowspb.Workflow).GetLabels),
	"labels":         labelField((*workflowspb.Workflow).GetLabels),
}
