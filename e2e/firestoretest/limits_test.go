package firestoretest

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestDocumentSize(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	doc := c.Doc("c/a") // 16 for the name, 2 and 2 for its ids, 32, 2 for the field's name
	const room = 1<<20 - 54
	set(t, doc, map[string]any{"b": make([]byte, room)})
	_, err := doc.Set(t.Context(), map[string]any{"b": make([]byte, room+1)})
	wantStatus(t, err, codes.InvalidArgument, "Document '"+docRoot+"c/a' cannot be written because its size (1,048,577 bytes) exceeds the maximum allowed size of 1,048,576 bytes.")
}

func TestCommitSize(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	for n, text := range map[int]string{9: "", 10: "Transaction too big", 12: "Request payload size exceeds the limit: 11534336 bytes."} {
		b := c.Batch() //lint:ignore SA1019 the only atomic way without a transaction
		for i := range n {
			b.Set(c.Doc(fmt.Sprintf("c/%d", i)), map[string]any{"b": make([]byte, 1<<20-100)})
		}
		if n == 10 {
			b.Set(c.Doc("c/more"), map[string]any{"b": make([]byte, 2000)})
		}
		_, err := b.Commit(t.Context())
		if text == "" {
			ok(t, err)
			continue
		}
		wantStatus(t, err, codes.InvalidArgument, text)
	}
}

func TestNamesAndFields(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	c := raw(t, s)
	deep := nullValue()
	for range 21 {
		deep = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: map[string]*pb.Value{"m": deep}}}}
	}
	for name, tc := range map[string]struct {
		doc    string
		fields map[string]*pb.Value
		text   string
	}{
		"dot":             {docRoot + "c/..", nil, "relative"},
		"reserved id":     {docRoot + "c/__x__", nil, "reserved"},
		"imported id":     {docRoot + "c/__id7__", nil, ""},
		"long id":         {docRoot + "c/" + strings.Repeat("a", 1501), nil, "1500"},
		"longest id":      {docRoot + "c/" + strings.Repeat("a", 1500), nil, ""},
		"empty id":        {docRoot + "c/", nil, "empty"},
		"a collection":    {docRoot + "c", nil, "lacks"},
		"no resource":     {"c/a", nil, "resource name"},
		"other database":  {"projects/demo/databases/other/documents/c/a", nil, "not in database"},
		"reserved field":  {docRoot + "c/a", map[string]*pb.Value{"__f__": nullValue()}, "reserved"},
		"empty field":     {docRoot + "c/a", map[string]*pb.Value{"": nullValue()}, "empty"},
		"long field":      {docRoot + "c/a", map[string]*pb.Value{strings.Repeat("f", 1501): nullValue()}, "1500"},
		"array in array":  {docRoot + "c/a", map[string]*pb.Value{"a": arrayValue([]*pb.Value{arrayValue(nil)})}, "Cannot convert an array value in an array value."},
		"map in array":    {docRoot + "c/a", map[string]*pb.Value{"a": arrayValue([]*pb.Value{{ValueType: &pb.Value_MapValue{}}})}, ""},
		"too deep":        {docRoot + "c/a", map[string]*pb.Value{"m": deep}, "nested deeper"},
		"value of a type": {docRoot + "c/a", map[string]*pb.Value{"v": {}}, "no type"},
		"bad reference":   {docRoot + "c/a", map[string]*pb.Value{"v": refValue("x/y")}, "resource name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := commitIn(t, c, nil, &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: tc.doc, Fields: tc.fields}}})
			if tc.text == "" {
				ok(t, err)
			} else {
				wantStatus(t, err, codes.InvalidArgument, tc.text)
			}
		})
	}
}

func TestTransformLimit(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	c := raw(t, s)
	transform := func(n int) *pb.Write {
		dt := &pb.DocumentTransform{Document: docRoot + "c/a"}
		for i := range n {
			dt.FieldTransforms = append(dt.FieldTransforms, &pb.DocumentTransform_FieldTransform{
				FieldPath:     fmt.Sprintf("f%d", i),
				TransformType: &pb.DocumentTransform_FieldTransform_Increment{Increment: intValue(1)},
			})
		}
		return &pb.Write{Operation: &pb.Write_Transform{Transform: dt}}
	}
	ok(t, commitIn(t, c, nil, transform(500)))
	wantStatus(t, commitIn(t, c, nil, transform(300), transform(201)), codes.InvalidArgument, "500 transforms")
}

func TestBulkWriter(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, c := start(t, Config{})
	set(t, c.Doc("c/taken"), map[string]any{"v": 1})
	bw := c.BulkWriter(ctx)
	good := must[*firestore.BulkWriterJob](t)(bw.Create(c.Doc("c/new"), map[string]any{"v": 1}))
	bad := must[*firestore.BulkWriterJob](t)(bw.Create(c.Doc("c/taken"), map[string]any{"v": 2}))
	bw.End()
	must[*firestore.WriteResult](t)(good.Results())
	if _, err := bad.Results(); status.Code(err) != codes.AlreadyExists && !strings.Contains(fmt.Sprint(err), "Document already exists") {
		t.Errorf("got %v, want a document that already exists", err)
	}
	if n := get(t, c.Doc("c/taken")).Data()["v"]; n != int64(1) {
		t.Errorf("the taken document has v=%v", n)
	}
	get(t, c.Doc("c/new"))
}

// The methods on single documents, which REST clients use.
func TestSingleDocumentMethods(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, _ := start(t, Config{})
	c := raw(t, s)
	parent := testDB + "/documents"
	d := must[*pb.Document](t)(c.CreateDocument(ctx, &pb.CreateDocumentRequest{Parent: parent, CollectionId: "c", Document: &pb.Document{Fields: map[string]*pb.Value{"n": intValue(1)}}}))
	if len(lastID(d.Name)) != 20 || d.CreateTime == nil {
		t.Errorf("created %v, want an id of 20 letters and a create time", d)
	}
	_, err := c.CreateDocument(ctx, &pb.CreateDocumentRequest{Parent: parent, CollectionId: "c", DocumentId: lastID(d.Name)})
	wantStatus(t, err, codes.AlreadyExists, "Document already exists")
	u := must[*pb.Document](t)(c.UpdateDocument(ctx, &pb.UpdateDocumentRequest{
		Document:   &pb.Document{Name: d.Name, Fields: map[string]*pb.Value{"m": intValue(2)}},
		UpdateMask: &pb.DocumentMask{FieldPaths: []string{"m"}}, Mask: &pb.DocumentMask{FieldPaths: []string{"n"}},
	}))
	if len(u.Fields) != 1 || u.Fields["n"].GetIntegerValue() != 1 {
		t.Errorf("updated to %v, want n=1 behind the mask", u.Fields)
	}
	must[any](t)(c.DeleteDocument(ctx, &pb.DeleteDocumentRequest{Name: d.Name}))
	_, err = c.GetDocument(ctx, &pb.GetDocumentRequest{Name: d.Name})
	wantStatus(t, err, codes.NotFound, "not found")
	for i := range 5 {
		ok(t, commitIn(t, c, nil, setWrite(fmt.Sprintf("l/%d", i), int64(9-i))))
	}
	var got []string
	for token := ""; ; {
		page := must[*pb.ListDocumentsResponse](t)(c.ListDocuments(ctx, &pb.ListDocumentsRequest{Parent: parent, CollectionId: "l", PageSize: 2, PageToken: token, OrderBy: "n desc"}))
		for _, d := range page.Documents {
			got = append(got, lastID(d.Name))
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if s := strings.Join(got, ""); s != "01234" {
		t.Errorf("listed %s, want 01234", s)
	}
}
