package workflowstest

import (
	"errors"
	"strings"
	"testing"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/workflows/apiv1/workflowspb"
	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	workflowsrest "google.golang.org/api/workflows/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"example.com/runonce/workflows/syntax"
)

func sourced(source string) *workflowspb.Workflow {
	return &workflowspb.Workflow{SourceCode: &workflowspb.Workflow_SourceContents{SourceContents: source}}
}

func TestWorkflowLife(t *testing.T) {
	t.Parallel()
	h := newHeld()
	w := newWorld(t, Config{Runner: h.run})
	c, err := w.WorkflowsClient(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	in := sourced(echo)
	in.Description, in.Labels = "first", map[string]string{"team": "a"}
	create, err := c.CreateWorkflow(w.ctx, &workflowspb.CreateWorkflowRequest{Parent: testLocation, WorkflowId: "w", Workflow: in})
	if err != nil {
		t.Fatal(err)
	}
	created, err := create.Wait(w.ctx)
	if err != nil || created.Name != testWorkflow || created.State != workflowspb.Workflow_ACTIVE || !strings.HasPrefix(created.RevisionId, "000001-") {
		t.Fatalf("created %v, error %v", created, err)
	}
	if op, err := c.GetOperation(w.ctx, &longrunningpb.GetOperationRequest{Name: create.Name()}); err != nil || !op.Done {
		t.Errorf("operation %v, error %v", op, err)
	}
	_, err = c.CreateWorkflow(w.ctx, &workflowspb.CreateWorkflowRequest{Parent: testLocation, WorkflowId: "w", Workflow: in})
	wantCode(t, err, codes.AlreadyExists)

	update := func(change *workflowspb.Workflow, paths ...string) *workflowspb.Workflow {
		change.Name = testWorkflow
		op, err := c.UpdateWorkflow(w.ctx, &workflowspb.UpdateWorkflowRequest{Workflow: change, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := op.Wait(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	described := update(&workflowspb.Workflow{Description: "second"}, "description", "labels")
	if described.RevisionId != created.RevisionId || described.Description != "second" || described.Labels != nil || described.GetSourceContents() != echo {
		t.Errorf("a new description makes no revision: %v", described)
	}
	changed := update(sourced(echo+"\n# changed"), "source_contents")
	if !strings.HasPrefix(changed.RevisionId, "000002-") || changed.Description != "second" {
		t.Errorf("a new source makes a revision: %v", changed)
	}
	if env := update(&workflowspb.Workflow{UserEnvVars: map[string]string{"A": "1"}}, "user_env_vars"); !strings.HasPrefix(env.RevisionId, "000003-") {
		t.Errorf("a new environment makes a revision: %v", env)
	}
	old, err := c.GetWorkflow(w.ctx, &workflowspb.GetWorkflowRequest{Name: testWorkflow, RevisionId: created.RevisionId})
	if err != nil || old.GetSourceContents() != echo || old.Description != "second" {
		t.Errorf("old revision %v, error %v", old, err)
	}
	revisions := c.ListWorkflowRevisions(w.ctx, &workflowspb.ListWorkflowRevisionsRequest{Name: testWorkflow})
	if first, err := revisions.Next(); err != nil || !strings.HasPrefix(first.RevisionId, "000003-") {
		t.Errorf("newest revision %v, error %v", first, err)
	}

	running := w.create(nil)
	<-h.started
	gone, err := c.DeleteWorkflow(w.ctx, &workflowspb.DeleteWorkflowRequest{Name: testWorkflow})
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Wait(w.ctx); err != nil {
		t.Error(err)
	}
	if err := w.Wait(w.ctx, running.Name); err != nil {
		t.Error(err)
	}
	_, err = w.grpc.GetExecution(w.ctx, &pb.GetExecutionRequest{Name: running.Name})
	wantCode(t, err, codes.NotFound)
	_, err = c.GetWorkflow(w.ctx, &workflowspb.GetWorkflowRequest{Name: testWorkflow})
	wantCode(t, err, codes.NotFound)
	if all := w.Executions(); len(all) != 1 || all[0].State != "CANCELLED" {
		t.Errorf("executions %v, want the one that was cancelled", all)
	}
}

const broken = `
main:
  steps:
    - a:
        assign:
          - x: ${y + 1}
    - b:
        next: nowhere
`

// What does not compile fails the operation, not the call, with every error of the source.
func TestWorkflowDoesNotCompile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	c, err := w.WorkflowsClient(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	op, err := c.CreateWorkflow(w.ctx, &workflowspb.CreateWorkflowRequest{Parent: testLocation, WorkflowId: "w", Workflow: sourced(broken)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = op.Wait(w.ctx)
	wantCode(t, err, codes.InvalidArgument)
	for _, want := range []string{"main.yaml:6:", "main.yaml:8:", "nowhere"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not have %q", err, want)
		}
	}
	err = w.Deploy(w.ctx, testWorkflow, []byte(broken), Deployment{})
	wantCode(t, err, codes.InvalidArgument)
	var list syntax.Errors
	if !errors.As(err, &list) || len(list) != 2 {
		t.Errorf("%v has no syntax.Errors of two", err)
	}
	_, err = w.grpc.CreateExecution(w.ctx, &pb.CreateExecutionRequest{Parent: testWorkflow})
	wantCode(t, err, codes.NotFound)
}

func TestWorkflowRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	many := map[string]string{}
	for _, r := range "abcdefghijklmnopqrstu" {
		many[string(r)] = ""
	}
	for name, c := range map[string]struct {
		workflow string
		with     Deployment
	}{
		"name":                  {"w", Deployment{}},
		"id begins with digit":  {testLocation + "/workflows/1w", Deployment{}},
		"id ends with hyphen":   {testLocation + "/workflows/w-", Deployment{}},
		"id too long":           {testLocation + "/workflows/" + strings.Repeat("w", 65), Deployment{}},
		"label":                 {testWorkflow, Deployment{Labels: map[string]string{"A": ""}}},
		"variable is reserved":  {testWorkflow, Deployment{Env: map[string]string{"GOOGLE_X": ""}}},
		"variable is reserved,": {testWorkflow, Deployment{Env: map[string]string{"WORKFLOWSX": ""}}},
		"variable has no name":  {testWorkflow, Deployment{Env: map[string]string{"": ""}}},
		"variable is too long":  {testWorkflow, Deployment{Env: map[string]string{"A": strings.Repeat("x", 4097)}}},
		"too many variables":    {testWorkflow, Deployment{Env: many}},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, w.Deploy(w.ctx, c.workflow, []byte(echo), c.with), codes.InvalidArgument)
		})
	}
}

func TestWorkflowsList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	c, err := w.WorkflowsClient(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, name := range []string{"a", "b", "c"} {
		w.deploy(testLocation+"/workflows/"+name, echo, Deployment{Labels: map[string]string{"is": name}})
	}
	w.deploy("projects/p/locations/us-central1/workflows/d", echo, Deployment{})
	w.deploy("projects/q/locations/us-central1/workflows/e", echo, Deployment{})
	for _, r := range []struct {
		parent, filter, order string
		want                  string
	}{
		{testLocation, "", "", "abc"},
		{testLocation, "", "name desc", "cba"},
		{testLocation, `labels.is="b"`, "", "b"},
		{testLocation, `state="ACTIVE" AND createTime>"2020-01-01"`, "", "abc"},
		{"projects/p/locations/-", "", "", "abcd"},
	} {
		got := ""
		for it := c.ListWorkflows(w.ctx, &workflowspb.ListWorkflowsRequest{Parent: r.parent, Filter: r.filter, OrderBy: r.order, PageSize: 2}); ; {
			m, err := it.Next()
			if err == iterator.Done {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got += lastPart(m.Name)
		}
		if got != r.want {
			t.Errorf("%v: got %s", r, got)
		}
	}
}

func TestWorkflowsREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	service, err := workflowsrest.NewService(w.ctx, w.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	api := service.Projects.Locations.Workflows
	op, err := api.Create(testLocation, &workflowsrest.Workflow{SourceContents: echo, UserEnvVars: map[string]string{"A": "1"}}).WorkflowId("w").Context(w.ctx).Do()
	if err != nil || !op.Done || !strings.Contains(string(op.Response), `"000001-`) {
		t.Fatalf("create: %+v, %v", op, err)
	}
	if again, err := service.Projects.Locations.Operations.Get(op.Name).Context(w.ctx).Do(); err != nil || again.Name != op.Name {
		t.Errorf("operation %v, error %v", again, err)
	}
	op, err = api.Patch(testWorkflow, &workflowsrest.Workflow{SourceContents: broken}).UpdateMask("sourceContents").Context(w.ctx).Do()
	if err != nil || op.Error == nil || codes.Code(op.Error.Code) != codes.InvalidArgument || !strings.Contains(op.Error.Message, "main.yaml:6:") {
		t.Errorf("patch with a broken source: %+v, %v", op, err)
	}
	op, err = api.Patch(testWorkflow, &workflowsrest.Workflow{SourceContents: echo + "\n# 2"}).UpdateMask("sourceContents").Context(w.ctx).Do()
	if err != nil || op.Error != nil {
		t.Fatalf("patch: %+v, %v", op, err)
	}
	got, err := api.Get(testWorkflow).Context(w.ctx).Do()
	if err != nil || got.SourceContents != echo+"\n# 2" || got.UserEnvVars["A"] != "1" || got.State != "ACTIVE" || got.CreateTime == "" {
		t.Errorf("get: %+v, %v", got, err)
	}
	list, err := api.List(testLocation).Context(w.ctx).Do()
	if err != nil || len(list.Workflows) != 1 {
		t.Errorf("list: %+v, %v", list, err)
	}
	revisions, err := api.ListRevisions(testWorkflow).Context(w.ctx).Do()
	if err != nil || len(revisions.Workflows) != 2 {
		t.Errorf("revisions: %+v, %v", revisions, err)
	}
	ops, err := service.Projects.Locations.Operations.List(testLocation).Context(w.ctx).Do()
	if err != nil || len(ops.Operations) != 3 {
		t.Errorf("operations: %+v, %v", ops, err)
	}
	if _, err := service.Projects.Locations.Operations.Delete(op.Name).Context(w.ctx).Do(); err != nil {
		t.Error(err)
	}
	if op, err = api.Delete(testWorkflow).Context(w.ctx).Do(); err != nil || !op.Done {
		t.Errorf("delete: %+v, %v", op, err)
	}
	_, err = api.Get(testWorkflow).Context(w.ctx).Do()
	var failed *googleapi.Error
	if !errors.As(err, &failed) || failed.Code != 404 {
		t.Errorf("get of a deleted one: %v, want 404", err)
	}
	_, err = service.Projects.Locations.List("projects/p").Context(w.ctx).Do()
	if !errors.As(err, &failed) || failed.Code != 501 || !strings.Contains(failed.Message, "locations.list") {
		t.Errorf("locations: %v, want 501 by name", err)
	}
}

func TestUpdateMask(t *testing.T) {
	t.Parallel()
	old := sourced("old")
	old.Labels, old.Description = map[string]string{"a": "1"}, "d"
	in := sourced("new")
	for _, c := range []struct {
		paths []string
		want  string // source, description, labels
		code  codes.Code
	}{
		{nil, "new,,0", codes.OK},
		{[]string{"source_contents"}, "new,d,1", codes.OK},
		{[]string{"description", "labels"}, "old,,0", codes.OK},
		{[]string{"name"}, "", codes.InvalidArgument},
		{[]string{"nothing"}, "", codes.InvalidArgument},
	} {
		got, err := merged(old, in, c.paths)
		if status.Code(err) != c.code {
			t.Errorf("%v: error %v, want %v", c.paths, err, c.code)
		}
		if err != nil {
			continue
		}
		text := strings.Join([]string{got.GetSourceContents(), got.Description, string(rune('0' + len(got.Labels)))}, ",")
		if diff := cmp.Diff(c.want, text); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.paths, diff)
		}
	}
}
