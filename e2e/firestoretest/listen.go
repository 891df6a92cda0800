package firestoretest

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Listen streams the changes of documents and queries. Every answer that ends a round is a consistent snapshot of all targets.
func (s *service) Listen(stream pb.Firestore_ListenServer) error {
	l := &listener{store: s.store, stream: stream}
	cut := s.cut()
	requests, failed := make(chan *pb.ListenRequest), make(chan error, 1)
	go receive(stream, requests, failed)
	for {
		changed := s.store.changes()
		if err := l.refresh(); err != nil {
			return err
		}
		select {
		case r := <-requests:
			if err := l.request(r); err != nil {
				return err
			}
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-cut:
			return status.Error(codes.Unavailable, "firestoretest: the listen stream was cut")
		case <-changed:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

func receive(stream pb.Firestore_ListenServer, requests chan<- *pb.ListenRequest, failed chan<- error) {
	for {
		r, err := stream.Recv()
		if err != nil {
			failed <- err
			return
		}
		select {
		case requests <- r:
		case <-stream.Context().Done():
			return
		}
	}
}

// listener is one stream and its targets, in the order they were added.
type listener struct {
	store   *store
	stream  pb.Firestore_ListenServer
	targets []*target
	moved   bool // something was sent that the next snapshot completes
}

// target is what one target has been told: the update time of each document that it shows.
type target struct {
	id     int32
	once   bool
	names  []string // of a documents target
	query  *query   // of a query target
	shown  map[string]stamp
	fresh  bool // has not been sent yet
	seen   stamp
	resume stamp // where a resumed target goes on, 0 for a new one
}

func (l *listener) request(r *pb.ListenRequest) error {
	switch c := r.TargetChange.(type) {
	case *pb.ListenRequest_AddTarget:
		return l.add(r.Database, c.AddTarget)
	case *pb.ListenRequest_RemoveTarget:
		return l.remove(c.RemoveTarget, nil)
	}
	return invalid("A listen request must add or remove a target.")
}

// add takes a target in. What is wrong with it ends the target, not the stream.
func (l *listener) add(db string, in *pb.Target) error {
	t, err := parseTarget(db, in)
	if err == nil && slices.ContainsFunc(l.targets, func(o *target) bool { return o.id == t.id }) {
		err = invalid("Target id %d is in use.", t.id)
	}
	if err != nil {
		return l.remove(in.TargetId, err)
	}
	if err := l.change(pb.TargetChange_ADD, t.id, nil); err != nil {
		return err
	}
	l.targets = append(l.targets, t)
	return nil
}

func parseTarget(db string, in *pb.Target) (*target, error) {
	t := &target{id: in.TargetId, once: in.Once, fresh: true, shown: map[string]stamp{}}
	if t.id <= 0 {
		return nil, unimplemented("a target id of the server's choice")
	}
	switch r := in.ResumeType.(type) {
	case *pb.Target_ReadTime:
		t.resume = fromProto(r.ReadTime)
	case *pb.Target_ResumeToken:
		if len(r.ResumeToken) == 8 {
			t.resume = stamp(binary.BigEndian.Uint64(r.ResumeToken))
		} else if len(r.ResumeToken) > 0 {
			return nil, invalid("Invalid resume token.")
		}
	}
	var err error
	switch what := in.TargetType.(type) {
	case *pb.Target_Documents:
		t.names, err = distinct(db, what.Documents.GetDocuments())
	case *pb.Target_Query:
		t.query, err = parseQuery(what.Query.GetParent(), what.Query.GetStructuredQuery())
	default:
		err = invalid("A target needs documents or a query.")
	}
	return t, err
}

func (l *listener) remove(id int32, cause error) error {
	l.targets = slices.DeleteFunc(l.targets, func(t *target) bool { return t.id == id })
	return l.change(pb.TargetChange_REMOVE, id, cause)
}

func (l *listener) change(kind pb.TargetChange_TargetChangeType, id int32, cause error) error {
	tc := &pb.TargetChange{TargetChangeType: kind, TargetIds: []int32{id}}
	if cause != nil {
		st := status.Convert(cause)
		tc.Cause = &rpcstatus.Status{Code: int32(st.Code()), Message: st.Message()}
	}
	l.moved = l.moved || kind != pb.TargetChange_REMOVE
	return l.stream.Send(&pb.ListenResponse{ResponseType: &pb.ListenResponse_TargetChange{TargetChange: tc}})
}

// refresh tells every target what is new, and closes the round with a snapshot when anything was.
func (l *listener) refresh() error {
	var at stamp
	var news []func() error
	l.store.mu.RLock()
	at = l.store.clock.read()
	for _, t := range slices.Clone(l.targets) {
		if t.fresh || t.changedSince(l.store) {
			news = append(news, l.news(t, at))
		}
		t.seen = at
	}
	l.store.mu.RUnlock()
	for _, send := range news {
		if err := send(); err != nil {
			return err
		}
	}
	if !l.moved {
		return nil
	}
	l.moved = false
	err := l.stream.Send(&pb.ListenResponse{ResponseType: &pb.ListenResponse_TargetChange{TargetChange: &pb.TargetChange{
		TargetChangeType: pb.TargetChange_NO_CHANGE, ReadTime: at.proto(), ResumeToken: at.token(),
	}}})
	for _, t := range slices.Clone(l.targets) {
		if err == nil && t.once {
			err = l.remove(t.id, nil)
		}
	}
	return err
}

func (s stamp) token() []byte { return binary.BigEndian.AppendUint64(nil, uint64(s)) }

// changedSince is a quick look whether the target's documents may have changed. A collection that is gone has changed.
func (t *target) changedSince(s *store) bool {
	paths := map[string]bool{}
	for _, n := range t.names {
		paths[collectionOf(n)] = true
	}
	for name := range t.shown {
		paths[collectionOf(name)] = true
	}
	for path := range paths {
		if c := s.colls[path]; c == nil || c.changed > t.seen {
			return true
		}
	}
	return t.query != nil && slices.ContainsFunc(s.covered(t.query), func(c *collection) bool { return c.changed > t.seen })
}

// news works out what a target is to be told, and returns the sending of it. Called with the store's mutex held.
func (l *listener) news(t *target, at stamp) func() error {
	docs, err := t.look(l.store, 0)
	if err != nil {
		return func() error { return l.remove(t.id, err) }
	}
	fresh, reset := t.fresh, false
	t.fresh = false
	if fresh && t.resume != 0 {
		reset = !t.recall(l.store)
	}
	var out []*pb.ListenResponse
	now := map[string]stamp{}
	for _, d := range docs {
		now[d.Name] = fromProto(d.UpdateTime)
		if t.shown[d.Name] != now[d.Name] {
			out = append(out, shows(t, d))
		}
	}
	for name := range t.shown {
		if _, ok := now[name]; !ok {
			out = append(out, hides(t, name, l.store.current(name) != nil, at))
		}
	}
	if fresh && t.resume == 0 {
		for _, name := range t.names {
			if _, ok := now[name]; !ok {
				out = append(out, hides(t, name, false, at))
			}
		}
	}
	t.shown = now
	return func() error { return l.sendNews(t, fresh, reset, out) }
}

func (l *listener) sendNews(t *target, fresh, reset bool, out []*pb.ListenResponse) error {
	if reset {
		if err := l.change(pb.TargetChange_RESET, t.id, nil); err != nil {
			return err
		}
	}
	for _, m := range out {
		l.moved = true
		if err := l.stream.Send(m); err != nil {
			return err
		}
	}
	if fresh {
		return l.change(pb.TargetChange_CURRENT, t.id, nil)
	}
	return nil
}

// recall fills in what a resumed target was shown; false when nobody knows any more.
func (t *target) recall(s *store) bool {
	if s.checkReadTime(t.resume) != nil {
		return false
	}
	docs, err := t.look(s, t.resume)
	if err != nil {
		return false
	}
	for _, d := range docs {
		t.shown[d.Name] = fromProto(d.UpdateTime)
	}
	return true
}

// look is the target's documents at a time, 0 for now.
func (t *target) look(s *store, at stamp) ([]*pb.Document, error) {
	if t.query != nil {
		docs, _, err := s.results(t.query, at)
		return docs, err
	}
	var out []*pb.Document
	for _, n := range t.names {
		d, err := s.docs[n].at(at)
		if err != nil {
			return nil, err
		}
		if d != nil {
			out = append(out, d)
		}
	}
	return out, nil
}

func shows(t *target, d *pb.Document) *pb.ListenResponse {
	if t.query != nil {
		d = masked(d, t.query.mask)
	}
	return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentChange{DocumentChange: &pb.DocumentChange{Document: d, TargetIds: []int32{t.id}}}}
}

// hides says that a document is deleted, or that it is there and no longer in the target's sight.
func hides(t *target, name string, exists bool, at stamp) *pb.ListenResponse {
	if exists {
		return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentRemove{DocumentRemove: &pb.DocumentRemove{
			Document: name, RemovedTargetIds: []int32{t.id}, ReadTime: at.proto(),
		}}}
	}
	return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentDelete{DocumentDelete: &pb.DocumentDelete{
		Document: name, RemovedTargetIds: []int32{t.id}, ReadTime: at.proto(),
	}}}
}
