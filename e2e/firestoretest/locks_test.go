package firestoretest

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	testDB  = "projects/demo/databases/(default)"
	docRoot = testDB + "/documents/"
)

// raw is the generated client, for what the hand-written one does not let a test do.
func raw(t testing.TB, s *Server) pb.FirestoreClient {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewFirestoreClient(conn)
}

func begin(t testing.TB, c pb.FirestoreClient, o *pb.TransactionOptions) []byte {
	t.Helper()
	r, err := c.BeginTransaction(t.Context(), &pb.BeginTransactionRequest{Database: testDB, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return r.Transaction
}

func readIn(t testing.TB, c pb.FirestoreClient, tx []byte, name string) (*pb.Document, error) {
	t.Helper()
	return c.GetDocument(t.Context(), &pb.GetDocumentRequest{Name: docRoot + name, ConsistencySelector: &pb.GetDocumentRequest_Transaction{Transaction: tx}})
}

func setWrite(name string, n int64) *pb.Write {
	return &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: docRoot + name, Fields: map[string]*pb.Value{"n": intValue(n)}}}}
}

func commitIn(t testing.TB, c pb.FirestoreClient, tx []byte, ws ...*pb.Write) error {
	t.Helper()
	_, err := c.Commit(t.Context(), &pb.CommitRequest{Database: testDB, Transaction: tx, Writes: ws})
	return err
}

const contention = "Too much contention on these documents. Please try again."

// B: a plain write waits for the lock of a transaction that has read, and is aborted when it does not come free.
func TestPessimisticWriterWaits(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{LockWait: 50 * time.Millisecond})
	c := raw(t, s)
	ok(t, commitIn(t, c, nil, setWrite("c/a", 1)))
	tx := begin(t, c, nil)
	must[*pb.Document](t)(readIn(t, c, tx, "c/a"))
	wantStatus(t, commitIn(t, c, nil, setWrite("c/a", 2)), codes.Aborted, contention)
	ok(t, commitIn(t, c, nil, setWrite("c/other", 2))) // nobody reads it
	ok(t, commitIn(t, c, tx, setWrite("c/a", 3)))
	ok(t, commitIn(t, c, nil, setWrite("c/a", 4)))
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A writer that waits goes on as soon as the lock is free.
func TestPessimisticWriterGoesOn(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{LockWait: time.Minute})
	c := raw(t, s)
	tx := begin(t, c, nil)
	_, err := readIn(t, c, tx, "c/a")
	wantStatus(t, err, codes.NotFound, "")
	done := make(chan error, 1)
	go func() { done <- commitIn(t, c, nil, setWrite("c/a", 1)) }()
	waitUntil(t, func() bool { return s.waiting() == 1 })
	_, err = c.Rollback(t.Context(), &pb.RollbackRequest{Database: testDB, Transaction: tx})
	ok(t, err)
	ok(t, <-done)
}

// A read of a transaction lines up behind a commit that waits, so that ever new readers do not starve it.
func TestReadersLineUp(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{LockWait: time.Minute})
	c := raw(t, s)
	ok(t, commitIn(t, c, nil, setWrite("c/a", 1)))
	first, second := begin(t, c, nil), begin(t, c, nil)
	must[*pb.Document](t)(readIn(t, c, first, "c/a"))
	written := make(chan error, 1)
	go func() { written <- commitIn(t, c, nil, setWrite("c/a", 2)) }()
	waitUntil(t, func() bool { return s.waiting() == 1 })
	read := make(chan int64, 1)
	go func() {
		d, _ := readIn(t, c, second, "c/a")
		read <- d.GetFields()["n"].GetIntegerValue()
	}()
	waitUntil(t, func() bool {
		s.store.mu.RLock()
		defer s.store.mu.RUnlock()
		return len(read) > 0 || len(s.store.locks.txns[string(second)].waitsFor) > 0
	})
	ok(t, commitIn(t, c, first))
	ok(t, <-written)
	if n := <-read; n != 2 {
		t.Errorf("the reader behind the writer read n=%d, want the writer's 2", n)
	}
}

// waiting is the number of commits that wait for a lock.
func (s *Server) waiting() int {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return len(s.store.locks.writers)
}

// waitUntil polls a condition of another goroutine that has no signal of its own.
func waitUntil(t testing.TB, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the condition does not come true")
		}
	}
}

// Two transactions that have read the same document and both want to write it: the younger gives way, and its retry keeps its age.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{LockWait: time.Minute})
	c := raw(t, s)
	ok(t, commitIn(t, c, nil, setWrite("c/a", 1)))
	older, younger := begin(t, c, nil), begin(t, c, nil)
	for _, tx := range [][]byte{older, younger} {
		must[*pb.Document](t)(readIn(t, c, tx, "c/a"))
	}
	done := make(chan error, 1)
	go func() { done <- commitIn(t, c, younger, setWrite("c/a", 2)) }()
	waitUntil(t, func() bool { return s.waiting() == 1 })
	ok(t, commitIn(t, c, older, setWrite("c/a", 3)))
	wantStatus(t, <-done, codes.Aborted, contention)

	third := begin(t, c, nil) // began before the retry, and is younger than its first attempt
	retry := begin(t, c, &pb.TransactionOptions{Mode: &pb.TransactionOptions_ReadWrite_{ReadWrite: &pb.TransactionOptions_ReadWrite{RetryTransaction: younger}}})
	for _, tx := range [][]byte{retry, third} {
		must[*pb.Document](t)(readIn(t, c, tx, "c/a"))
	}
	go func() { done <- commitIn(t, c, third, setWrite("c/a", 4)) }()
	waitUntil(t, func() bool { return s.waiting() == 1 })
	ok(t, commitIn(t, c, retry, setWrite("c/a", 5)))
	wantStatus(t, <-done, codes.Aborted, contention)
}

// In the optimistic mode nothing waits: the first commit wins, and the other hears of it at its next call.
func TestOptimistic(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{Mode: Optimistic, LockWait: time.Minute})
	c := raw(t, s)
	ok(t, commitIn(t, c, nil, setWrite("c/a", 1)))
	x, y, z := begin(t, c, nil), begin(t, c, nil), begin(t, c, nil)
	for _, tx := range [][]byte{x, y, z} {
		must[*pb.Document](t)(readIn(t, c, tx, "c/a"))
	}
	ok(t, commitIn(t, c, y, setWrite("c/a", 2)))
	wantStatus(t, commitIn(t, c, x, setWrite("c/a", 3)), codes.Aborted, contention)
	_, err := readIn(t, c, z, "c/b")
	wantStatus(t, err, codes.Aborted, contention)
	blind := begin(t, c, nil)
	ok(t, commitIn(t, c, nil, setWrite("c/a", 4)))
	ok(t, commitIn(t, c, blind, setWrite("c/a", 5)))
}

// A query of a transaction guards against documents that would join its answer.
func TestPhantoms(t *testing.T) {
	t.Parallel()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			_, c := start(t, Config{Mode: mode, LockWait: 20 * time.Millisecond})
			open := c.Collection("c").Where("open", "==", true)
			var outside error
			err := c.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
				if docs, err := tx.Documents(open).GetAll(); err != nil || len(docs) != 0 {
					return errors.Join(err, errors.New("want no document"))
				}
				if _, err := c.Doc("c/closed").Set(ctx, map[string]any{"open": false}); err != nil {
					return err
				}
				_, outside = c.Doc("c/new").Set(ctx, map[string]any{"open": true})
				return tx.Set(c.Doc("c/mine"), map[string]any{"open": true})
			}, firestore.MaxAttempts(1))
			if mode == Pessimistic {
				ok(t, err)
				wantStatus(t, outside, codes.Aborted, contention)
			} else {
				ok(t, outside)
				wantStatus(t, err, codes.Aborted, contention)
			}
		})
	}
}

func TestTransactionEnds(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{Clock: NewManual(epoch), LockWait: time.Minute})
	c := raw(t, s)
	const gone = "The referenced transaction has expired or is no longer valid."
	rollback := func(tx []byte) error {
		_, err := c.Rollback(t.Context(), &pb.RollbackRequest{Database: testDB, Transaction: tx})
		return err
	}

	done := begin(t, c, nil)
	ok(t, commitIn(t, c, done, setWrite("c/a", 1)))
	wantStatus(t, commitIn(t, c, done, setWrite("c/a", 2)), codes.Aborted, gone)
	wantStatus(t, rollback(done), codes.Aborted, gone)

	failed := begin(t, c, nil)
	create := setWrite("c/a", 2)
	create.CurrentDocument = &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: false}}
	wantStatus(t, commitIn(t, c, failed, create), codes.AlreadyExists, "")
	wantStatus(t, commitIn(t, c, failed), codes.Aborted, gone)

	back := begin(t, c, nil)
	ok(t, rollback(back))
	ok(t, rollback(back))
	wantStatus(t, commitIn(t, c, back), codes.Aborted, gone)
	wantStatus(t, commitIn(t, c, []byte("never issued")), codes.InvalidArgument, "Invalid transaction.")

	idle := begin(t, c, nil)
	must[*pb.Document](t)(readIn(t, c, idle, "c/a"))
	written := make(chan error, 1)
	go func() { written <- commitIn(t, c, nil, setWrite("c/a", 3)) }()
	waitUntil(t, func() bool { return s.waiting() == 1 })
	s.Advance(61 * time.Second)
	ok(t, <-written)
	wantStatus(t, commitIn(t, c, idle), codes.Aborted, gone)

	old := begin(t, c, nil)
	for range 10 {
		s.Advance(30 * time.Second)
		if _, err := readIn(t, c, old, "c/a"); err != nil {
			wantStatus(t, err, codes.Aborted, gone)
			return
		}
	}
	t.Error("a transaction lived for five minutes")
}

func TestReadOnlyTransaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, c := start(t, Config{})
	first := set(t, c.Doc("c/a"), map[string]any{"n": 1})
	set(t, c.Doc("c/a"), map[string]any{"n": 2})
	read := func(opts ...firestore.TransactionOption) (n any) {
		t.Helper()
		ok(t, c.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
			set(t, c.Doc("c/a"), map[string]any{"n": 3}) // does not wait, and is not seen
			snap, err := tx.Get(c.Doc("c/a"))
			n = snap.Data()["n"]
			return err
		}, opts...))
		return n
	}
	if n := read(firestore.ReadOnly); n != int64(2) {
		t.Errorf("read n=%v, want the 2 of the transaction's begin", n)
	}
	if n := read(firestore.ReadOnly, firestore.TransactionReadTime(first.UpdateTime)); n != int64(1) {
		t.Errorf("read n=%v at %v, want 1", n, first.UpdateTime)
	}
	rc := raw(t, s)
	tx := begin(t, rc, &pb.TransactionOptions{Mode: &pb.TransactionOptions_ReadOnly_{ReadOnly: &pb.TransactionOptions_ReadOnly{}}})
	wantStatus(t, commitIn(t, rc, tx, setWrite("c/a", 9)), codes.InvalidArgument, "read-only")
	ok(t, commitIn(t, rc, tx))
	_, err := rc.BeginTransaction(ctx, &pb.BeginTransactionRequest{Database: testDB, Options: &pb.TransactionOptions{
		Mode: &pb.TransactionOptions_ReadWrite_{ReadWrite: &pb.TransactionOptions_ReadWrite{RetryTransaction: tx}},
	}})
	wantStatus(t, err, codes.InvalidArgument, "Cannot retry a read-only transaction")
}

// The first read may open the transaction: that is how some clients save a call.
func TestTransactionBegunByRead(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{LockWait: 20 * time.Millisecond})
	c := raw(t, s)
	stream, err := c.BatchGetDocuments(t.Context(), &pb.BatchGetDocumentsRequest{
		Database: testDB, Documents: []string{docRoot + "c/a", docRoot + "c/a"},
		ConsistencySelector: &pb.BatchGetDocumentsRequest_NewTransaction{NewTransaction: &pb.TransactionOptions{}},
	})
	ok(t, err)
	opened := must[*pb.BatchGetDocumentsResponse](t)(stream.Recv())
	missing := must[*pb.BatchGetDocumentsResponse](t)(stream.Recv())
	if missing.GetMissing() != docRoot+"c/a" || missing.ReadTime == nil {
		t.Errorf("got %v, want c/a missing, with a read time", missing)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("a name that was given twice was answered twice")
	}
	wantStatus(t, commitIn(t, c, nil, setWrite("c/a", 1)), codes.Aborted, contention)
	ok(t, commitIn(t, c, opened.Transaction, setWrite("c/a", 2)))
}
