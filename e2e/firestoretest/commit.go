package firestoretest

import (
	"context"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// change is what a commit does to one document; before and after are nil where it does not exist.
type change struct {
	name          string
	before, after *pb.Document
}

// commit applies the writes, all or none, and returns their results. t is nil for a commit outside a transaction.
// Whatever comes of it, the transaction is over.
func (s *store) commit(ctx context.Context, t *txn, writes []write) (*pb.CommitResponse, error) {
	s.mu.Lock()
	resp, pos, err := s.commitLocked(ctx, t, writes)
	s.mu.Unlock()
	if err == nil {
		err = s.log.sync(pos)
	}
	return resp, err
}

func (s *store) commitLocked(ctx context.Context, t *txn, writes []write) (*pb.CommitResponse, int64, error) {
	if t == nil {
		s.locks.serial++
		t = &txn{age: s.locks.serial, docs: map[string]struct{}{}}
	}
	changes, results, err := s.reserve(ctx, t, writes)
	if err != nil {
		if t.state == txActive {
			s.end(t, txCommitted)
		}
		return nil, 0, err
	}
	at := s.clock.commit()
	results(at)
	resp := &pb.CommitResponse{CommitTime: at.proto()}
	pos, err := s.apply(t, changes, at)
	for _, w := range writes {
		resp.WriteResults = append(resp.WriteResults, w.result)
	}
	s.end(t, txCommitted)
	return resp, pos, err
}

// reserve waits until nobody is in the way of the writes, and works out what they do. The function it returns stamps the outcome.
func (s *store) reserve(ctx context.Context, t *txn, writes []write) ([]change, func(stamp), error) {
	var names []string
	for _, w := range writes {
		names = append(names, w.name)
	}
	deadline := time.NewTimer(s.cfg.LockWait)
	defer deadline.Stop()
	s.locks.writers = append(s.locks.writers, t)
	t.wants = names
	defer s.stopWanting(t)
	for {
		others := pessimists(s.holders(t, names))
		if len(others) == 0 {
			changes, stampAll, err := s.prepare(writes)
			if err != nil {
				return nil, nil, err
			}
			if others = pessimists(s.queryHolders(t, changes)); len(others) == 0 {
				return changes, stampAll, nil
			}
		}
		if err := s.await(ctx, t, others, deadline); err != nil {
			return nil, nil, err
		}
	}
}

// stopWanting takes a commit out of the line; readers behind it may go on.
func (s *store) stopWanting(t *txn) {
	s.locks.writers = slices.DeleteFunc(s.locks.writers, func(w *txn) bool { return w == t })
	t.wants = nil
	s.locks.wake()
}

func pessimists(ts []*txn) []*txn {
	return slices.DeleteFunc(ts, func(t *txn) bool { return t.optimistic })
}

// apply makes the changes at one stamp, and ends the optimistic transactions that have read what it changes.
func (s *store) apply(t *txn, changes []change, at stamp) (int64, error) {
	var real []change
	for _, c := range changes {
		if c.before != c.after {
			real = append(real, c)
		}
	}
	if len(real) == 0 {
		return 0, nil
	}
	pos, err := s.log.append(at, real)
	if err != nil {
		return 0, status.Errorf(codes.Internal, "keep the commit: %v", err)
	}
	var names []string
	for _, c := range real {
		names = append(names, c.name)
	}
	for _, r := range append(s.holders(t, names), s.queryHolders(t, real)...) {
		if r.state == txActive {
			s.end(r, txAborted)
		}
	}
	for _, c := range real {
		s.put(c.name, c.after, at)
	}
	s.bury(at)
	s.announce()
	return pos, nil
}

// prepare works the writes out on top of the current documents, in order, without changing any. The function it returns stamps
// new versions and results, since the commit's time is known only when nothing can fail any more.
func (s *store) prepare(writes []write) ([]change, func(stamp), error) {
	var order []*pending
	byName := map[string]*pending{}
	now := s.clock.now()
	for i := range writes {
		w := &writes[i]
		p := byName[w.name]
		if p == nil {
			before := s.current(w.name)
			p = &pending{change: change{name: w.name, before: before, after: before}}
			byName[w.name] = p
			order = append(order, p)
		}
		if err := w.run(p, now); err != nil {
			return nil, nil, err
		}
	}
	var changes []change
	for _, p := range order {
		if p.transforms > maxTransforms {
			return nil, nil, invalid("Cannot apply more than %d transforms to a single document.", maxTransforms)
		}
		if p.after != nil && p.after != p.before {
			if err := checkSize(p.name, p.after.Fields); err != nil {
				return nil, nil, err
			}
		}
		changes = append(changes, p.change)
	}
	return changes, func(at stamp) { stampAll(order, writes, at) }, nil
}

// stampAll puts the commit's time into everything that was waiting for it.
func stampAll(order []*pending, writes []write, at stamp) {
	byName := map[string]*pending{}
	for _, p := range order {
		byName[p.name] = p
		if p.after == nil || p.after == p.before {
			continue
		}
		p.after.UpdateTime = at.proto()
		if p.after.CreateTime == nil {
			p.after.CreateTime = at.proto()
		}
	}
	for _, w := range writes {
		switch p := byName[w.name]; {
		case w.deletes:
		case p.after == nil: // deleted by a later write of the same commit
			w.result.UpdateTime = at.proto()
		default:
			w.result.UpdateTime = p.after.UpdateTime
		}
	}
}

// pending is a document while the writes of one commit are worked out on it.
type pending struct {
	change
	transforms int
}

// check judges a precondition against the document as the commit's earlier writes have left it.
func (p *pending) check(pre *pb.Precondition, deletes bool) error {
	switch c := pre.GetConditionType().(type) {
	case *pb.Precondition_Exists:
		switch {
		case c.Exists && p.after == nil && deletes:
			return status.Errorf(codes.NotFound, "No document to delete: %s", p.name)
		case c.Exists && p.after == nil:
			return status.Errorf(codes.NotFound, "No document to update: %s", p.name)
		case !c.Exists && p.after != nil:
			return status.Errorf(codes.AlreadyExists, "Document already exists: %s", p.name)
		}
	case *pb.Precondition_UpdateTime:
		want := fromProto(c.UpdateTime)
		var have stamp
		if p.after != nil {
			have = fromProto(p.after.UpdateTime)
		}
		if have != want || p.after == nil {
			return status.Errorf(codes.FailedPrecondition, "the stored version (%d) does not match the required base version (%d)", have, want)
		}
	}
	return nil
}

// replace gives the document new fields. When they are what it had before the commit, it stays the version it is: a write that
// changes nothing keeps the update time.
func (p *pending) replace(fields map[string]*pb.Value) {
	next := &pb.Document{Name: p.name, Fields: fields}
	if p.after != nil {
		next.CreateTime = p.after.CreateTime // nil when the commit itself created it
	}
	if p.before != nil && next.CreateTime != nil && sameFields(p.before.Fields, fields) {
		next = p.before
	}
	p.after = next
}

func sameFields(a, b map[string]*pb.Value) bool {
	return proto.Equal(&pb.MapValue{Fields: a}, &pb.MapValue{Fields: b})
}
