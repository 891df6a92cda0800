package workflowstest

import (
	"strings"
	"unicode"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/workflows/apiv1/workflowspb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func restCreateWorkflow(s *Server, c *restCall) (any, error) {
	message := &workflowspb.Workflow{}
	if err := c.decode(message); err != nil {
		return nil, err
	}
	return (&workflowsService{s: s}).CreateWorkflow(c.request.Context(), &workflowspb.CreateWorkflowRequest{
		Parent: ownerOf(c.name + "/-"), WorkflowId: c.query.Get("workflowId"), Workflow: message,
	})
}

func restUpdateWorkflow(s *Server, c *restCall) (any, error) {
	message := &workflowspb.Workflow{}
	if err := c.decode(message); err != nil {
		return nil, err
	}
	message.Name = c.name
	r := &workflowspb.UpdateWorkflowRequest{Workflow: message}
	if mask := c.query.Get("updateMask"); mask != "" {
		r.UpdateMask = &fieldmaskpb.FieldMask{}
		for path := range strings.SplitSeq(mask, ",") {
			r.UpdateMask.Paths = append(r.UpdateMask.Paths, snake(strings.TrimPrefix(strings.TrimSpace(path), "workflow.")))
		}
	}
	return (&workflowsService{s: s}).UpdateWorkflow(c.request.Context(), r)
}

// snake is a field of JSON as the message has it.
func snake(field string) string {
	var b strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func restDeleteWorkflow(s *Server, c *restCall) (any, error) {
	return (&workflowsService{s: s}).DeleteWorkflow(c.request.Context(), &workflowspb.DeleteWorkflowRequest{Name: c.name})
}

func restGetWorkflow(s *Server, c *restCall) (any, error) {
	return (&workflowsService{s: s}).GetWorkflow(c.request.Context(), &workflowspb.GetWorkflowRequest{Name: c.name, RevisionId: c.query.Get("revisionId")})
}

func restListWorkflows(s *Server, c *restCall) (any, error) {
	size, err := c.number("pageSize")
	if err != nil {
		return nil, err
	}
	return (&workflowsService{s: s}).ListWorkflows(c.request.Context(), &workflowspb.ListWorkflowsRequest{
		Parent: ownerOf(c.name + "/-"), Filter: c.query.Get("filter"), OrderBy: c.query.Get("orderBy"), PageSize: size, PageToken: c.query.Get("pageToken"),
	})
}

func restListRevisions(s *Server, c *restCall) (any, error) {
	size, err := c.number("pageSize")
	if err != nil {
		return nil, err
	}
	return (&workflowsService{s: s}).ListWorkflowRevisions(c.request.Context(), &workflowspb.ListWorkflowRevisionsRequest{
		Name: c.name, PageSize: size, PageToken: c.query.Get("pageToken"),
	})
}

func restGetOperation(s *Server, c *restCall) (any, error) {
	return (&operationsService{s: s}).GetOperation(c.request.Context(), &longrunningpb.GetOperationRequest{Name: c.name})
}

func restListOperations(s *Server, c *restCall) (any, error) {
	size, err := c.number("pageSize")
	if err != nil {
		return nil, err
	}
	return (&operationsService{s: s}).ListOperations(c.request.Context(), &longrunningpb.ListOperationsRequest{
		Name: ownerOf(c.name + "/-"), Filter: c.query.Get("filter"), PageSize: size, PageToken: c.query.Get("pageToken"),
	})
}

func restDeleteOperation(s *Server, c *restCall) (any, error) {
	return (&operationsService{s: s}).DeleteOperation(c.request.Context(), &longrunningpb.DeleteOperationRequest{Name: c.name})
}
