package firestoretest

import (
	"context"
	"crypto/rand"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/genproto/googleapis/rpc/status"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// BeginTransaction opens a transaction.
func (s *service) BeginTransaction(_ context.Context, r *pb.BeginTransactionRequest) (*pb.BeginTransactionResponse, error) {
	if err := checkDatabase(r.Database); err != nil {
		return nil, err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	t, err := s.store.begin(r.Options)
	if err != nil {
		return nil, err
	}
	return &pb.BeginTransactionResponse{Transaction: []byte(t.id)}, nil
}

// Rollback ends a transaction without its writes.
func (s *service) Rollback(_ context.Context, r *pb.RollbackRequest) (*emptypb.Empty, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if err := s.store.rollback(r.Transaction); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// Commit applies writes, all or none, in or outside a transaction.
func (s *service) Commit(ctx context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	if err := checkDatabase(r.Database); err != nil {
		return nil, err
	}
	switch size := proto.Size(r); {
	case size > maxRequest:
		return nil, invalid("Request payload size exceeds the limit: %d bytes.", maxRequest)
	case size > maxCommit:
		return nil, invalid("Transaction too big. Decrease transaction size.")
	}
	writes, err := parseWrites(r.Database, r.Writes)
	if err != nil {
		return nil, err
	}
	if len(r.Transaction) == 0 {
		return s.store.commit(ctx, nil, writes)
	}
	t, err := s.writer(r.Transaction, len(writes) > 0)
	if err != nil {
		return nil, err
	}
	return s.store.commit(ctx, t, writes)
}

func (s *service) writer(id []byte, writes bool) (*txn, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	t, err := s.store.transaction(id)
	if err == nil && t.readOnly && writes {
		return nil, errReadOnlyTx
	}
	return t, err
}

// BatchWrite applies each write on its own and says how each went.
func (s *service) BatchWrite(ctx context.Context, r *pb.BatchWriteRequest) (*pb.BatchWriteResponse, error) {
	if err := checkDatabase(r.Database); err != nil {
		return nil, err
	}
	if len(r.Writes) > 500 {
		return nil, invalid("maximum 500 writes allowed per request")
	}
	seen := map[string]bool{}
	resp := &pb.BatchWriteResponse{}
	for _, in := range r.Writes {
		w, err := parseWrite(r.Database, in)
		if err == nil && seen[w.name] {
			return nil, invalid("BatchWrite cannot write to the same document more than once: %s", w.name)
		}
		seen[w.name] = true
	}
	for _, in := range r.Writes {
		result, err := s.writeOne(ctx, r.Database, in)
		resp.WriteResults = append(resp.WriteResults, result)
		st := grpcstatus.Convert(err)
		resp.Status = append(resp.Status, &status.Status{Code: int32(st.Code()), Message: st.Message()})
	}
	return resp, nil
}

func (s *service) writeOne(ctx context.Context, db string, in *pb.Write) (*pb.WriteResult, error) {
	w, err := parseWrite(db, in)
	if err != nil {
		return &pb.WriteResult{}, err
	}
	resp, err := s.store.commit(ctx, nil, []write{w})
	if err != nil {
		return &pb.WriteResult{}, err
	}
	return resp.WriteResults[0], nil
}

// CreateDocument creates a document, with an id of the server's choice when none is given.
func (s *service) CreateDocument(ctx context.Context, r *pb.CreateDocumentRequest) (*pb.Document, error) {
	if err := checkParent(r.Parent); err != nil {
		return nil, err
	}
	id := r.DocumentId
	if id == "" {
		id = rand.Text()[:20]
	}
	d := &pb.Document{Name: r.Parent + "/" + r.CollectionId + "/" + id, Fields: r.Document.GetFields()}
	return s.writeAndRead(ctx, r.Mask, &pb.Write{
		Operation:       &pb.Write_Update{Update: d},
		CurrentDocument: &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: false}},
	})
}

// UpdateDocument writes a document or the fields of a mask.
func (s *service) UpdateDocument(ctx context.Context, r *pb.UpdateDocumentRequest) (*pb.Document, error) {
	return s.writeAndRead(ctx, r.Mask, &pb.Write{
		Operation: &pb.Write_Update{Update: r.Document}, UpdateMask: r.UpdateMask, CurrentDocument: r.CurrentDocument,
	})
}

func (s *service) writeAndRead(ctx context.Context, m *pb.DocumentMask, in *pb.Write) (*pb.Document, error) {
	mask, err := parseMask(m)
	if err != nil {
		return nil, err
	}
	w, err := parseWrite("", in)
	if err != nil {
		return nil, err
	}
	resp, err := s.store.commit(ctx, nil, []write{w})
	if err != nil {
		return nil, err
	}
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	d, err := s.store.docs[w.name].at(fromProto(resp.CommitTime))
	return masked(d, mask), err
}

// DeleteDocument deletes a document.
func (s *service) DeleteDocument(ctx context.Context, r *pb.DeleteDocumentRequest) (*emptypb.Empty, error) {
	w, err := parseWrite("", &pb.Write{Operation: &pb.Write_Delete{Delete: r.Name}, CurrentDocument: r.CurrentDocument})
	if err != nil {
		return nil, err
	}
	if _, err := s.store.commit(ctx, nil, []write{w}); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}
