package firestoretest

import (
	"errors"
	"testing"

	"google.golang.org/api/firestore/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

// Google's REST client sees the documents that the gRPC client writes, and the other way round.
func TestREST(t *testing.T) {
	t.Parallel()
	s, c := start(t, Config{})
	svc, err := firestore.NewService(t.Context(), option.WithEndpoint(s.URL()), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	docs := svc.Projects.Databases.Documents
	const root = testDB + "/documents"
	fields := map[string]firestore.Value{"n": {IntegerValue: 1}, "s": {StringValue: "a:b"}}

	made, err := docs.CreateDocument(root, "things", &firestore.Document{Fields: fields}).DocumentId("a:b").Do()
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != root+"/things/a:b" || made.UpdateTime == "" {
		t.Errorf("created %+v", made)
	}
	var apiErr *googleapi.Error
	_, err = docs.CreateDocument(root, "things", &firestore.Document{Fields: fields}).DocumentId("a:b").Do()
	if !errors.As(err, &apiErr) || apiErr.Code != 409 {
		t.Errorf("created twice: got %v, want a 409", err)
	}
	if got := get(t, c.Doc("things/a:b")).Data(); got["n"] != int64(1) || got["s"] != "a:b" {
		t.Errorf("over gRPC: got %v", got)
	}
	if _, err := docs.Patch(made.Name, &firestore.Document{Fields: map[string]firestore.Value{"n": {IntegerValue: 2}}}).
		UpdateMaskFieldPaths("n").CurrentDocumentUpdateTime(made.UpdateTime).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = docs.Patch(made.Name, &firestore.Document{Fields: fields}).CurrentDocumentUpdateTime(made.UpdateTime).Do()
	if !errors.As(err, &apiErr) || apiErr.Code != 400 {
		t.Errorf("patched an older version: got %v, want a 400", err)
	}
	found, err := docs.Get(made.Name).Do()
	if err != nil || found.Fields["n"].IntegerValue != 2 || found.Fields["s"].StringValue != "a:b" {
		t.Errorf("got %+v, %v", found, err)
	}
	list, err := docs.List(root, "things").PageSize(10).Do()
	if err != nil || len(list.Documents) != 1 {
		t.Errorf("list: got %+v, %v", list, err)
	}
	if _, err := docs.Commit(testDB, &firestore.CommitRequest{Writes: []*firestore.Write{
		{Update: &firestore.Document{Name: root + "/things/c", Fields: fields}, CurrentDocument: &firestore.Precondition{Exists: false, ForceSendFields: []string{"Exists"}}},
	}}).Do(); err != nil {
		t.Errorf("commit: %v", err)
	}
	if _, err := docs.Delete(made.Name).CurrentDocumentExists(true).Do(); err != nil {
		t.Errorf("delete: %v", err)
	}
	_, err = docs.Get(made.Name).Do()
	if !errors.As(err, &apiErr) || apiErr.Code != 404 {
		t.Errorf("deleted: got %v, want a 404", err)
	}
	if got := s.Faults().Count("/CreateDocument"); got != 2 {
		t.Errorf("the log has %d calls of CreateDocument, want both", got)
	}
}
