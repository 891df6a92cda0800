package firestoretest

import (
	"fmt"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

type txState int

const (
	txActive     txState = iota
	txAborted            // lost against another; its next call hears it
	txCommitted          // includes a commit that failed: it ends the transaction too
	txRolledBack         // by the client
	txExpired            // idle or alive for too long
)

// txn is a transaction. A plain write is one as well while it waits for locks, with no id.
type txn struct {
	id          string
	age         int64 // smaller is older; a retry keeps the age of its first attempt and so wins at last
	readOnly    bool
	optimistic  bool
	readAt      stamp // read-only: the snapshot
	began, used stamp
	state       txState

	docs    map[string]struct{} // names it has read
	queries []*query            // and queries

	waitsFor []*txn   // while a call of it waits for locks
	wants    []string // the names its waiting commit will write
}

// begin opens a transaction; nil options are read-write. Called with the lock held.
func (s *store) begin(o *pb.TransactionOptions) (*txn, error) {
	s.locks.serial++
	t := &txn{age: s.locks.serial, docs: map[string]struct{}{}, optimistic: s.cfg.Mode == Optimistic}
	t.began = s.clock.now()
	t.used = t.began
	switch m := o.GetMode().(type) {
	case *pb.TransactionOptions_ReadOnly_:
		if err := s.beginReadOnly(t, m.ReadOnly); err != nil {
			return nil, err
		}
	case *pb.TransactionOptions_ReadWrite_:
		if err := s.beginReadWrite(t, m.ReadWrite); err != nil {
			return nil, err
		}
	}
	t.id = fmt.Sprintf("tx-%d", s.locks.serial)
	s.locks.add(t)
	s.forget()
	return t, nil
}

func (s *store) beginReadOnly(t *txn, o *pb.TransactionOptions_ReadOnly) error {
	t.readOnly = true
	if ts := o.GetReadTime(); ts != nil {
		t.readAt = fromProto(ts)
		return s.checkReadTime(t.readAt)
	}
	t.readAt = s.clock.read()
	return nil
}

func (s *store) beginReadWrite(t *txn, o *pb.TransactionOptions_ReadWrite) error {
	switch o.GetConcurrencyMode() {
	case pb.TransactionOptions_OPTIMISTIC:
		t.optimistic = true
	case pb.TransactionOptions_PESSIMISTIC:
		t.optimistic = false
	}
	if len(o.GetRetryTransaction()) == 0 {
		return nil
	}
	first := s.locks.txns[string(o.GetRetryTransaction())]
	switch {
	case first == nil:
		return errUnknownTx
	case first.readOnly:
		return errRetryRO
	}
	t.age = first.age
	if first.state == txActive { // the client has given it up
		s.end(first, txRolledBack)
	}
	return nil
}

// transaction finds the transaction that a read or a commit names, and keeps it alive.
func (s *store) transaction(id []byte) (*txn, error) {
	t := s.locks.txns[string(id)]
	if t == nil {
		return nil, errUnknownTx
	}
	s.expire(t)
	switch t.state {
	case txActive:
		t.used = s.clock.now()
		return t, nil
	case txAborted:
		return nil, errContention
	}
	return nil, errExpired
}

func (s *store) rollback(id []byte) error {
	t := s.locks.txns[string(id)]
	switch {
	case t == nil:
		return errUnknownTx
	case t.state == txCommitted:
		return errExpired
	case t.state == txActive || t.state == txAborted:
		s.end(t, txRolledBack)
	}
	return nil
}

// expire ends a transaction that was idle or alive for too long.
func (s *store) expire(t *txn) {
	now := s.clock.now()
	if t.id != "" && t.state == txActive && (now >= t.used.add(s.cfg.TransactionIdle) || now >= t.began.add(s.cfg.TransactionLife)) {
		s.end(t, txExpired)
	}
}

// end closes a transaction, frees its locks and lets the waiting look again.
func (s *store) end(t *txn, how txState) {
	t.state = how
	s.locks.release(t)
}
