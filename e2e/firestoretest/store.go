package firestoretest

import (
	"sync"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// store holds the documents with their recent versions. Documents are never written to once they are in it, so answers may share them.
type store struct {
	cfg   Config
	clock *serverClock

	mu      sync.RWMutex
	docs    map[string]*doc
	colls   map[string]*collection // by full path
	graves  []grave                // deletions in time order, for the day when nobody may ask for them
	horizon stamp                  // nothing before it can be read
	expiry  expiryQueue
	locks   lockTable
	changed chan struct{} // closed and replaced after every change of documents
	log     *logFile      // nil in memory
}

// doc is all that is known of one name, newest version last.
type doc struct {
	name     string
	coll     *collection
	versions []version
	pruned   bool // older versions were dropped
}

// version is a document from a commit on; body is nil for a deletion.
type version struct {
	at   stamp
	body *pb.Document
}

type grave struct {
	at  stamp
	doc *doc
}

// collection is the documents with one parent and id that exist, the names of those that did, and the indexes that queries have asked for.
type collection struct {
	path, group string
	names       sorted[*doc]
	dead        map[*doc]struct{}
	indexes     map[string]*index
	changed     stamp // when a document was last changed in it
}

func newStore(cfg Config) *store {
	s := &store{
		cfg: cfg, clock: &serverClock{base: cfg.Clock},
		docs: map[string]*doc{}, colls: map[string]*collection{}, changed: make(chan struct{}),
	}
	s.locks.init()
	s.horizon = s.clock.commit()
	return s
}

// current is the newest version of a document, nil when there is none.
func (s *store) current(name string) *pb.Document { return s.docs[name].current() }

func (d *doc) current() *pb.Document {
	if d == nil || len(d.versions) == 0 {
		return nil
	}
	return d.versions[len(d.versions)-1].body
}

// at is the document as a read at t saw it; t 0 is now.
func (d *doc) at(t stamp) (*pb.Document, error) {
	if d == nil || t == 0 {
		return d.current(), nil
	}
	for i := len(d.versions) - 1; i >= 0; i-- {
		if d.versions[i].at <= t {
			return d.versions[i].body, nil
		}
	}
	if d.pruned {
		return nil, errTooOld
	}
	return nil, nil
}

// checkReadTime refuses times that are no longer or not yet readable.
func (s *store) checkReadTime(t stamp) error {
	now := s.clock.read()
	switch {
	case t > now:
		return invalid("The requested read_time cannot be in the future.")
	case t < s.horizon || t < now.add(-s.cfg.Retention):
		return errTooOld
	}
	return nil
}

func (s *store) collection(path string) *collection {
	c := s.colls[path]
	if c == nil {
		c = &collection{path: path, group: lastID(path), dead: map[*doc]struct{}{}, indexes: map[string]*index{}}
		c.names.compare = func(a, b *doc) int { return compareNames(a.name, b.name) }
		s.colls[path] = c
	}
	return c
}

// put makes body the newest version of a document.
func (s *store) put(name string, body *pb.Document, at stamp) {
	d := s.docs[name]
	if d == nil {
		d = &doc{name: name, coll: s.collection(collectionOf(name))}
		s.docs[name] = d
	}
	before := d.current()
	d.versions = append(d.versions, version{at: at, body: body})
	s.prune(d, at)
	d.coll.changed = at
	d.coll.reindex(d, before, body)
	switch {
	case before == nil && body != nil:
		delete(d.coll.dead, d)
		d.coll.names.insert(d)
	case before != nil && body == nil:
		d.coll.names.remove(d)
		d.coll.dead[d] = struct{}{}
		s.graves = append(s.graves, grave{at: at, doc: d})
	}
	s.expiry.note(s.cfg, d, body)
}

// prune drops versions that no read may ask for, or that are too many.
func (s *store) prune(d *doc, now stamp) {
	oldest, drop := now.add(-s.cfg.Retention), 0
	for len(d.versions)-drop > 1 && (len(d.versions)-drop > s.cfg.Versions || d.versions[drop+1].at <= oldest) {
		drop++
	}
	if drop > 0 {
		d.versions = append([]version(nil), d.versions[drop:]...)
		d.pruned = true
	}
}

// bury forgets deleted documents that are beyond the retention.
func (s *store) bury(now stamp) {
	oldest := now.add(-s.cfg.Retention)
	for len(s.graves) > 0 && s.graves[0].at < oldest {
		g := s.graves[0]
		s.graves = s.graves[1:]
		if last := g.doc.versions[len(g.doc.versions)-1]; last.body != nil || last.at != g.at {
			continue // it lives again, or died again later
		}
		delete(s.docs, g.doc.name)
		delete(g.doc.coll.dead, g.doc)
		if c := g.doc.coll; len(c.dead) == 0 && c.names.length == 0 {
			delete(s.colls, c.path)
		}
	}
}

// announce wakes everybody who waits for a change.
func (s *store) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// changes is closed at the next change. Ask for it before looking at the documents.
func (s *store) changes() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changed
}
