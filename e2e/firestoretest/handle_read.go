package firestoretest

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// service is the API over a store.
type service struct {
	pb.UnimplementedFirestoreServer
	store *store
	cut   func() <-chan struct{} // closed when listen streams are to break
}

// GetDocument reads one document.
func (s *service) GetDocument(ctx context.Context, r *pb.GetDocumentRequest) (*pb.Document, error) {
	mask, err := parseMask(r.Mask)
	if err != nil {
		return nil, err
	}
	if err := checkDocName("", r.Name); err != nil {
		return nil, err
	}
	docs, _, _, err := s.store.viewDocs(ctx, consistency{tx: r.GetTransaction(), at: r.GetReadTime()}, []string{r.Name})
	if err != nil {
		return nil, err
	}
	if docs[0] == nil {
		return nil, status.Errorf(codes.NotFound, "Document %q not found.", r.Name)
	}
	return masked(docs[0], mask), nil
}

// BatchGetDocuments reads documents by name, each once, in one snapshot.
func (s *service) BatchGetDocuments(r *pb.BatchGetDocumentsRequest, out pb.Firestore_BatchGetDocumentsServer) error {
	mask, err := parseMask(r.Mask)
	if err != nil {
		return err
	}
	names, err := distinct(r.Database, r.Documents)
	if err != nil {
		return err
	}
	c := consistency{tx: r.GetTransaction(), newTx: r.GetNewTransaction(), at: r.GetReadTime()}
	docs, readTime, newTx, err := s.store.viewDocs(out.Context(), c, names)
	if err != nil {
		return err
	}
	if len(newTx) > 0 {
		if err := out.Send(&pb.BatchGetDocumentsResponse{Transaction: newTx, ReadTime: readTime.proto()}); err != nil {
			return err
		}
	}
	for i, d := range docs {
		resp := &pb.BatchGetDocumentsResponse{ReadTime: readTime.proto(), Result: &pb.BatchGetDocumentsResponse_Missing{Missing: names[i]}}
		if d != nil {
			resp.Result = &pb.BatchGetDocumentsResponse_Found{Found: masked(d, mask)}
		}
		if err := out.Send(resp); err != nil {
			return err
		}
	}
	return nil
}

func distinct(db string, names []string) ([]string, error) {
	if err := checkDatabase(db); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, n := range names {
		if err := checkDocName(db, n); err != nil {
			return nil, err
		}
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out, nil
}

// RunQuery runs a structured query.
func (s *service) RunQuery(r *pb.RunQueryRequest, out pb.Firestore_RunQueryServer) error {
	if r.ExplainOptions != nil {
		return unimplemented("explain_options")
	}
	q, err := parseQuery(r.Parent, r.GetStructuredQuery())
	if err != nil {
		return err
	}
	c := consistency{tx: r.GetTransaction(), newTx: r.GetNewTransaction(), at: r.GetReadTime()}
	docs, skipped, readTime, newTx, err := s.store.viewQuery(out.Context(), c, q)
	if err != nil {
		return err
	}
	if len(newTx) > 0 {
		if err := out.Send(&pb.RunQueryResponse{Transaction: newTx}); err != nil {
			return err
		}
	}
	if len(docs) == 0 {
		return out.Send(&pb.RunQueryResponse{ReadTime: readTime.proto(), SkippedResults: int32(skipped)})
	}
	for i, d := range docs {
		resp := &pb.RunQueryResponse{Document: masked(d, q.mask), ReadTime: readTime.proto()}
		if i == 0 {
			resp.SkippedResults = int32(skipped)
		}
		if err := out.Send(resp); err != nil {
			return err
		}
	}
	return nil
}
