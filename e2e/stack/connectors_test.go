package stack

import (
	"testing"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"

	"example.com/runonce/e2e/workflowstest"
)

// gateSource claims a run in Firestore from inside a workflow, by a document that only one execution can create: the
// one-bit state machine of R23, with the 409 read and not swallowed.
const gateSource = `
main:
  params: [args]
  steps:
    - claim:
        try:
          call: googleapis.firestore.v1.projects.databases.documents.createDocument
          args:
            parent: ${"projects/" + sys.get_env("GOOGLE_CLOUD_PROJECT_ID") + "/databases/(default)/documents"}
            collectionId: gates
            documentId: ${args.run_id}
            body:
              fields:
                execution: {stringValue: '${sys.get_env("GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID")}'}
          result: doc
        except:
          as: e
          steps:
            - judge:
                switch:
                  - condition: ${"code" in e and e.code == 409}
                    return: duplicate
            - fail:
                raise: ${e}
    - done:
        return: first
`

// A workflow's Firestore connector reaches the same documents as everything else.
func TestFirestoreConnector(t *testing.T) { // R21, R23
	t.Parallel()
	s, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const name = "projects/" + Project + "/locations/" + Location + "/workflows/gate"
	if err := s.Workflows.Deploy(t.Context(), name, []byte(gateSource), workflowstest.Deployment{}); err != nil {
		t.Fatal(err)
	}
	client, err := s.ExecutionsClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, want := range []string{`"first"`, `"duplicate"`} {
		e, err := client.CreateExecution(t.Context(), &executionspb.CreateExecutionRequest{
			Parent: name, Execution: &executionspb.Execution{Argument: `{"run_id": "run-1"}`},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Workflows.Wait(t.Context(), e.GetName()); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Workflows.Execution(e.GetName()); got.Result != want {
			t.Errorf("got %s %s %s, want %s", got.State, got.Result, got.Error, want)
		}
	}
	doc, err := s.DB.Collection("gates").Doc("run-1").Get(t.Context())
	if err != nil || doc.Data()["execution"] == "" {
		t.Errorf("the gate's document: %v, %v", doc.Data(), err)
	}
}
