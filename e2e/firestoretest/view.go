package firestoretest

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// consistency is what a read asks to see: one of a transaction, a new transaction, a time, or none of them for the newest.
type consistency struct {
	tx    []byte
	newTx *pb.TransactionOptions
	at    *timestamppb.Timestamp
}

// view reads consistently. lock says what a read-write transaction reads, before it is read; read is called with the time to read at
// (0: now) and the mutex held. It returns the answer's read_time, and the id of a transaction that was asked for.
func (s *store) view(ctx context.Context, c consistency, lock func(*txn) error, read func(at stamp) error) (readTime stamp, newTx []byte, err error) {
	if len(c.tx) == 0 && c.newTx == nil {
		readTime, err = s.plainView(c, read)
		return readTime, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.viewer(c)
	if err != nil {
		return 0, nil, err
	}
	if c.newTx != nil {
		newTx = []byte(t.id)
	}
	if t.readOnly {
		return t.readAt, newTx, read(t.readAt)
	}
	if err = lock(t); err == nil {
		readTime = s.clock.read()
		err = read(0)
	}
	t.used = s.clock.now()
	return readTime, newTx, err
}

func (s *store) plainView(c consistency, read func(at stamp) error) (stamp, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c.at == nil {
		return s.clock.read(), read(0)
	}
	at := fromProto(c.at)
	if c.at.Nanos%1000 != 0 {
		return 0, invalid("read_time must be aligned to microseconds.")
	}
	if err := s.checkReadTime(at); err != nil {
		return 0, err
	}
	return at, read(at)
}

func (s *store) viewer(c consistency) (*txn, error) {
	if c.newTx != nil {
		return s.begin(c.newTx)
	}
	return s.transaction(c.tx)
}

// viewDocs reads documents by name; missing ones are nil.
func (s *store) viewDocs(ctx context.Context, c consistency, names []string) (docs []*pb.Document, readTime stamp, newTx []byte, err error) {
	lock := func(t *txn) error { return s.lockReads(ctx, t, names) }
	readTime, newTx, err = s.view(ctx, c, lock, func(at stamp) error {
		for _, n := range names {
			d, err := s.docs[n].at(at)
			if err != nil {
				return err
			}
			docs = append(docs, d)
		}
		return nil
	})
	return docs, readTime, newTx, err
}

// viewQuery runs a query.
func (s *store) viewQuery(ctx context.Context, c consistency, q *query) (docs []*pb.Document, skipped int, readTime stamp, newTx []byte, err error) {
	s.wantIndexes(q)
	lock := func(t *txn) error { s.locks.readQuery(t, q); return nil }
	readTime, newTx, err = s.view(ctx, c, lock, func(at stamp) error {
		docs, skipped, err = s.results(q, at)
		return err
	})
	return docs, skipped, readTime, newTx, err
}
