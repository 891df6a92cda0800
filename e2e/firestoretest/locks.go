package firestoretest

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/status"
)

// keptTransactions is how many ended transactions are remembered, so that late calls get the right error.
const keptTransactions = 10_000

// lockTable knows who has read what. A read of a pessimistic transaction is a shared lock; a commit needs every reader of what it
// writes gone. Nobody holds a write lock for longer than the store's mutex, so there is none in the table.
type lockTable struct {
	serial  int64
	txns    map[string]*txn
	order   []*txn // in the order they began, for forgetting
	readers map[string]map[*txn]struct{}
	queried map[*txn]struct{} // those with queries
	writers []*txn            // whose commit waits, in the order they came
	freed   chan struct{}     // closed and replaced whenever somebody may go on
}

func (l *lockTable) init() {
	l.txns, l.readers, l.queried = map[string]*txn{}, map[string]map[*txn]struct{}{}, map[*txn]struct{}{}
	l.freed = make(chan struct{})
}

func (l *lockTable) add(t *txn) {
	l.txns[t.id] = t
	l.order = append(l.order, t)
}

// forget drops the oldest transactions when there are many, those that still live excepted.
func (s *store) forget() {
	l := &s.locks
	for len(l.order) > keptTransactions {
		first := l.order[0]
		if s.expire(first); first.state == txActive {
			return
		}
		delete(l.txns, first.id)
		l.order = l.order[1:]
	}
}

func (l *lockTable) read(t *txn, name string) {
	t.docs[name] = struct{}{}
	if l.readers[name] == nil {
		l.readers[name] = map[*txn]struct{}{}
	}
	l.readers[name][t] = struct{}{}
}

func (l *lockTable) readQuery(t *txn, q *query) {
	t.queries = append(t.queries, q)
	l.queried[t] = struct{}{}
}

func (l *lockTable) release(t *txn) {
	for name := range t.docs {
		delete(l.readers[name], t)
		if len(l.readers[name]) == 0 {
			delete(l.readers, name)
		}
	}
	delete(l.queried, t)
	t.docs, t.queries = nil, nil
	l.wake()
}

func (l *lockTable) wake() {
	close(l.freed)
	l.freed = make(chan struct{})
}

// holders are the other live transactions that have read one of the names.
func (s *store) holders(t *txn, names []string) []*txn {
	var out []*txn
	for _, name := range names {
		for r := range s.locks.readers[name] {
			if s.expire(r); r != t && r.state == txActive && !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// queryHolders are the other live transactions whose queries would answer differently after the changes.
func (s *store) queryHolders(t *txn, changes []change) []*txn {
	var out []*txn
	for r := range s.locks.queried {
		if s.expire(r); r == t || r.state != txActive {
			continue
		}
		if slices.ContainsFunc(r.queries, func(q *query) bool { return q.touchedBy(changes) }) {
			out = append(out, r)
		}
	}
	return out
}

// ahead are the waiting commits that a read of the names lines up behind, so that a writer is not starved by ever new readers.
func (s *store) ahead(t *txn, names []string) []*txn {
	var out []*txn
	for _, w := range s.locks.writers {
		if w != t && w.state == txActive && slices.ContainsFunc(w.wants, func(n string) bool { return slices.Contains(names, n) }) {
			out = append(out, w)
		}
	}
	return out
}

// await lets go of the mutex until somebody frees locks. others are who is in the way. It returns an error when t must not go on:
// it has waited too long, or a deadlock was broken at its cost. Called and left with the mutex held.
func (s *store) await(ctx context.Context, t *txn, others []*txn, deadline *time.Timer) error {
	t.waitsFor = others
	defer func() { t.waitsFor = nil }()
	if victim := youngest(cycle(t)); victim != nil {
		s.end(victim, txAborted)
		if victim == t {
			return errContention
		}
		return nil
	}
	freed := s.locks.freed
	s.mu.Unlock()
	var err error
	select {
	case <-freed:
	case <-deadline.C:
		err = errContention
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	}
	s.mu.Lock()
	if t.state == txAborted {
		return errContention
	}
	if err != nil && t.state == txActive {
		s.end(t, txAborted)
	}
	return err
}

// cycle is the ring of transactions that wait for one another through t, or nil.
func cycle(t *txn) []*txn {
	seen := map[*txn]bool{}
	var walk func(x *txn) []*txn
	walk = func(x *txn) []*txn {
		for _, y := range x.waitsFor {
			if y == t {
				return []*txn{x}
			}
			if seen[y] {
				continue
			}
			seen[y] = true
			if ring := walk(y); ring != nil {
				return append(ring, x)
			}
		}
		return nil
	}
	return walk(t)
}

func youngest(ts []*txn) *txn {
	if len(ts) == 0 {
		return nil
	}
	return slices.MaxFunc(ts, func(a, b *txn) int { return int(a.age - b.age) })
}

// lockReads makes names part of what t has read. A pessimistic transaction lines up behind commits that wait for the same names.
func (s *store) lockReads(ctx context.Context, t *txn, names []string) error {
	if t.optimistic {
		for _, n := range names {
			s.locks.read(t, n)
		}
		return nil
	}
	deadline := time.NewTimer(s.cfg.LockWait)
	defer deadline.Stop()
	for {
		others := s.ahead(t, names)
		if len(others) == 0 {
			break
		}
		if err := s.await(ctx, t, others, deadline); err != nil {
			return err
		}
	}
	for _, n := range names {
		s.locks.read(t, n)
	}
	return nil
}
