package workflowstest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/workflows/apiv1/workflowspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// operation makes a long-running operation that is done already, with a result or a failure. The caller holds mu.
func (s *Server) operation(verb, target string, result proto.Message, failure error) (*longrunningpb.Operation, error) {
	now := timestamppb.New(s.cfg.Clock.Now())
	metadata, err := anypb.New(&workflowspb.OperationMetadata{CreateTime: now, EndTime: now, Target: target, Verb: verb, ApiVersion: "v1"})
	if err != nil {
		return nil, status.Errorf(codes.Internal, "pack the metadata: %v", err)
	}
	op := &longrunningpb.Operation{Name: ownerOf(target) + "/operations/operation-" + s.cfg.NewID(), Metadata: metadata, Done: true}
	if failure != nil {
		op.Result = &longrunningpb.Operation_Error{Error: status.Convert(failure).Proto()}
	} else {
		response, err := anypb.New(result)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "pack the response: %v", err)
		}
		op.Result = &longrunningpb.Operation_Response{Response: response}
	}
	s.operations[op.Name] = op
	return op, nil // never changed from here on
}

// operationsService speaks google.longrunning.Operations for a Server. Operations are done, so there is nothing to cancel or wait for.
type operationsService struct {
	longrunningpb.UnimplementedOperationsServer
	s *Server
}

func (v *operationsService) GetOperation(_ context.Context, r *longrunningpb.GetOperationRequest) (*longrunningpb.Operation, error) {
	if !operationName.MatchString(r.GetName()) {
		return nil, wrongName("name", r.GetName(), locationForm+"/operations/{operation}")
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	op := v.s.operations[r.GetName()]
	if op == nil {
		return nil, notFound(r.GetName())
	}
	return op, nil
}

// ListOperations lists those of a location by name. It takes no filter.
func (v *operationsService) ListOperations(_ context.Context, r *longrunningpb.ListOperationsRequest) (*longrunningpb.ListOperationsResponse, error) {
	if r.GetFilter() != "" {
		return nil, status.Error(codes.Unimplemented, "ListOperations takes no filter here")
	}
	p, err := pageOf(r.GetPageSize(), r.GetPageToken(), 100, 1000, r.GetName())
	if err != nil {
		return nil, err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	names := slices.Sorted(maps.Keys(v.s.operations))
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, r.GetName()+"/operations/") })
	names, next := cut(p, names)
	out := &longrunningpb.ListOperationsResponse{NextPageToken: next}
	for _, name := range names {
		out.Operations = append(out.Operations, v.s.operations[name])
	}
	return out, nil
}

// DeleteOperation forgets an operation.
func (v *operationsService) DeleteOperation(_ context.Context, r *longrunningpb.DeleteOperationRequest) (*emptypb.Empty, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.s.operations[r.GetName()] == nil {
		return nil, notFound(r.GetName())
	}
	delete(v.s.operations, r.GetName())
	return &emptypb.Empty{}, nil
}
