package firestoretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// rest is the REST form of the API, what the Firestore connectors of Workflows speak: each request becomes the gRPC call of
// the same name, so that faults and the log of calls are the same.
type rest struct {
	once   sync.Once
	server *httptest.Server
	conn   *grpc.ClientConn
}

// URL is the address of the REST API, which the first call starts. Document methods are served, Listen and the admin API are not.
func (s *Server) URL() string {
	s.rest.once.Do(func() {
		conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			panic("firestoretest: " + err.Error()) // the address is our own
		}
		s.rest.conn = conn
		s.rest.server = httptest.NewServer(&restHandler{pb.NewFirestoreClient(conn)})
	})
	return s.rest.server.URL
}

func (r *rest) close() {
	r.once.Do(func() {}) // no first call any more
	if r.server != nil {
		r.server.Close()
		_ = r.conn.Close() // it is over
	}
}

type restHandler struct{ client pb.FirestoreClient }

// ServeHTTP implements http.Handler.
func (h *restHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4*maxRequest))
	if err != nil {
		writeRESTError(w, status.Error(codes.InvalidArgument, "the body could not be read"))
		return
	}
	out, err := h.route(r.Context(), r.Method, strings.TrimPrefix(r.URL.Path, "/v1/"), r.URL.Query(), body)
	if err != nil {
		writeRESTError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = w.Write(out) // a caller that has gone has its own reasons
}

func (h *restHandler) route(ctx context.Context, method, path string, query url.Values, body []byte) ([]byte, error) {
	name, verb, custom := cutVerb(path)
	if custom {
		if method != http.MethodPost {
			return nil, status.Errorf(codes.Unimplemented, "%s does not take %s", verb, method)
		}
		return h.verb(ctx, name, verb, body)
	}
	parent, id, documents := splitName(name)
	if !documents {
		return nil, status.Errorf(codes.NotFound, "no such path: /v1/%s", path)
	}
	isDocument := id != "" && strings.Count(name[strings.Index(name, "/documents")+1:], "/")%2 == 0
	switch {
	case method == http.MethodPost && !isDocument:
		return h.create(ctx, parent, id, query, body)
	case method == http.MethodGet && isDocument:
		return h.get(ctx, name, query)
	case method == http.MethodGet:
		return h.list(ctx, parent, id, query)
	case method == http.MethodPatch && isDocument:
		return h.patch(ctx, name, query, body)
	case method == http.MethodDelete && isDocument:
		current, err := precondition(query)
		if err != nil {
			return nil, err
		}
		_, err = h.client.DeleteDocument(ctx, &pb.DeleteDocumentRequest{Name: name, CurrentDocument: current})
		return []byte("{}"), err
	}
	return nil, status.Errorf(codes.Unimplemented, "%s /v1/%s is not served", method, path)
}

// cutVerb splits a custom method off a path: projects/p/databases/d/documents:commit. Document ids may hold colons.
func cutVerb(path string) (name, verb string, ok bool) {
	i := strings.LastIndexByte(path, ':')
	if i < 0 || strings.ContainsRune(path[i:], '/') {
		return path, "", false
	}
	switch verb = path[i+1:]; verb {
	case "commit", "batchGet", "batchWrite", "beginTransaction", "rollback", "runQuery", "runAggregationQuery", "listCollectionIds":
		return path[:i], verb, true
	}
	return path, "", false
}

// splitName cuts the last segment off a name below documents.
func splitName(name string) (parent, last string, ok bool) {
	if !strings.Contains(name, "/documents/") {
		return name, "", false
	}
	i := strings.LastIndexByte(name, '/')
	return name[:i], name[i+1:], true
}

// verb serves the custom methods. name is the database's documents, or for queries any parent.
func (h *restHandler) verb(ctx context.Context, name, verb string, body []byte) ([]byte, error) {
	db := strings.TrimSuffix(name, "/documents")
	switch verb {
	case "commit":
		return unary(ctx, body, &pb.CommitRequest{}, func(r *pb.CommitRequest) { r.Database = db }, h.client.Commit)
	case "batchWrite":
		return unary(ctx, body, &pb.BatchWriteRequest{}, func(r *pb.BatchWriteRequest) { r.Database = db }, h.client.BatchWrite)
	case "beginTransaction":
		return unary(ctx, body, &pb.BeginTransactionRequest{}, func(r *pb.BeginTransactionRequest) { r.Database = db }, h.client.BeginTransaction)
	case "rollback":
		return unary(ctx, body, &pb.RollbackRequest{}, func(r *pb.RollbackRequest) { r.Database = db }, h.client.Rollback)
	case "listCollectionIds":
		return unary(ctx, body, &pb.ListCollectionIdsRequest{}, func(r *pb.ListCollectionIdsRequest) { r.Parent = name }, h.client.ListCollectionIds)
	case "batchGet":
		return stream(ctx, body, &pb.BatchGetDocumentsRequest{}, func(r *pb.BatchGetDocumentsRequest) { r.Database = db }, h.client.BatchGetDocuments)
	case "runQuery":
		return stream(ctx, body, &pb.RunQueryRequest{}, func(r *pb.RunQueryRequest) { r.Parent = name }, h.client.RunQuery)
	}
	return stream(ctx, body, &pb.RunAggregationQueryRequest{}, func(r *pb.RunAggregationQueryRequest) { r.Parent = name }, h.client.RunAggregationQuery)
}

func (h *restHandler) create(ctx context.Context, parent, collection string, query url.Values, body []byte) ([]byte, error) {
	r := &pb.CreateDocumentRequest{Parent: parent, CollectionId: collection, DocumentId: query.Get("documentId"), Mask: mask(query["mask.fieldPaths"])}
	return unary(ctx, body, &pb.Document{}, func(d *pb.Document) { r.Document = d },
		func(ctx context.Context, _ *pb.Document, opts ...grpc.CallOption) (*pb.Document, error) {
			return h.client.CreateDocument(ctx, r, opts...)
		})
}

func (h *restHandler) patch(ctx context.Context, name string, query url.Values, body []byte) ([]byte, error) {
	current, err := precondition(query)
	if err != nil {
		return nil, err
	}
	r := &pb.UpdateDocumentRequest{UpdateMask: mask(query["updateMask.fieldPaths"]), Mask: mask(query["mask.fieldPaths"]), CurrentDocument: current}
	return unary(ctx, body, &pb.Document{}, func(d *pb.Document) { d.Name = name; r.Document = d },
		func(ctx context.Context, _ *pb.Document, opts ...grpc.CallOption) (*pb.Document, error) {
			return h.client.UpdateDocument(ctx, r, opts...)
		})
}

func (h *restHandler) get(ctx context.Context, name string, query url.Values) ([]byte, error) {
	r := &pb.GetDocumentRequest{Name: name, Mask: mask(query["mask.fieldPaths"])}
	if s := query.Get("readTime"); s != "" {
		at, err := timestamp(s)
		if err != nil {
			return nil, err
		}
		r.ConsistencySelector = &pb.GetDocumentRequest_ReadTime{ReadTime: at}
	}
	doc, err := h.client.GetDocument(ctx, r)
	return marshal(doc, err)
}

func (h *restHandler) list(ctx context.Context, parent, collection string, query url.Values) ([]byte, error) {
	size := 0
	if s := query.Get("pageSize"); s != "" {
		var err error
		if size, err = strconv.Atoi(s); err != nil {
			return nil, status.Error(codes.InvalidArgument, "pageSize is no number")
		}
	}
	docs, err := h.client.ListDocuments(ctx, &pb.ListDocumentsRequest{
		Parent: parent, CollectionId: collection, PageSize: int32(size), PageToken: query.Get("pageToken"), OrderBy: query.Get("orderBy"),
		Mask: mask(query["mask.fieldPaths"]), ShowMissing: query.Get("showMissing") == "true",
	})
	return marshal(docs, err)
}

func mask(paths []string) *pb.DocumentMask {
	if len(paths) == 0 {
		return nil
	}
	return &pb.DocumentMask{FieldPaths: paths}
}

func precondition(query url.Values) (*pb.Precondition, error) {
	if s := query.Get("currentDocument.exists"); s != "" {
		return &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: s == "true"}}, nil
	}
	if s := query.Get("currentDocument.updateTime"); s != "" {
		at, err := timestamp(s)
		return &pb.Precondition{ConditionType: &pb.Precondition_UpdateTime{UpdateTime: at}}, err
	}
	return nil, nil
}

func timestamp(s string) (*timestamppb.Timestamp, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%q is no RFC 3339 time", s)
	}
	return timestamppb.New(t), nil
}

// unary reads the body into a request, completes it from the path, calls and writes the answer.
func unary[Q, A proto.Message](ctx context.Context, body []byte, r Q, complete func(Q), call func(context.Context, Q, ...grpc.CallOption) (A, error)) ([]byte, error) {
	if err := unmarshal(body, r); err != nil {
		return nil, err
	}
	complete(r)
	out, err := call(ctx, r)
	return marshal(out, err)
}

// stream is unary for a call whose answers come one after the other: in REST they are a list.
func stream[Q, A proto.Message, S interface{ Recv() (A, error) }](ctx context.Context, body []byte, r Q, complete func(Q), call func(context.Context, Q, ...grpc.CallOption) (S, error)) ([]byte, error) {
	if err := unmarshal(body, r); err != nil {
		return nil, err
	}
	complete(r)
	answers, err := call(ctx, r)
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	for {
		one, err := answers.Recv()
		if errors.Is(err, io.EOF) {
			return json.Marshal(all)
		}
		b, err := marshal(one, err)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
}

func unmarshal(body []byte, into proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	if err := protojson.Unmarshal(body, into); err != nil {
		return status.Errorf(codes.InvalidArgument, "Invalid JSON payload received. %v", err)
	}
	return nil
}

func marshal(m proto.Message, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return b, nil
}

// httpStatus are the HTTP codes of gRPC's, as Google's APIs map them (google.rpc.Code).
var httpStatus = map[codes.Code]int{
	codes.InvalidArgument: 400, codes.FailedPrecondition: 400, codes.OutOfRange: 400, codes.Unauthenticated: 401, codes.PermissionDenied: 403,
	codes.NotFound: 404, codes.AlreadyExists: 409, codes.Aborted: 409, codes.ResourceExhausted: 429, codes.Canceled: 499,
	codes.Unimplemented: 501, codes.Unavailable: 503, codes.DeadlineExceeded: 504,
}

func writeRESTError(w http.ResponseWriter, err error) {
	s := status.Convert(err)
	code := httpStatus[s.Code()]
	if code == 0 {
		code = http.StatusInternalServerError
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": code, "message": s.Message(), "status": codeName(s.Code()),
	}})
	if err != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// codeName is a code as the APIs spell it: ALREADY_EXISTS.
func codeName(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED"
	}
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}
