package firestoretest

import (
	"container/heap"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// expiryQueue is the documents with a time to live, the next to go first. An entry may be out of date; the document decides.
type expiryQueue []expiring

type expiring struct {
	at  stamp
	doc *doc
}

// Len, Less, Swap, Push and Pop make it a heap.
func (q expiryQueue) Len() int           { return len(q) }
func (q expiryQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q expiryQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *expiryQueue) Push(x any)        { *q = append(*q, x.(expiring)) }
func (q *expiryQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// expires is when a policy ends the document, 0 for never.
func expires(cfg Config, d *doc, body *pb.Document) stamp {
	for _, p := range cfg.TTL {
		path, err := parsePath(p.Field)
		if body == nil || err != nil || p.Group != d.coll.group {
			continue
		}
		if v := path.get(body.Fields); v.GetTimestampValue() != nil {
			return fromProto(v.GetTimestampValue())
		}
	}
	return 0
}

func (q *expiryQueue) note(cfg Config, d *doc, body *pb.Document) {
	if at := expires(cfg, d, body); at != 0 {
		heap.Push(q, expiring{at, d})
	}
}

// sweep deletes what expired longer than the delay ago, in one commit. What a transaction has read stays until later.
func (s *store) sweep() {
	s.mu.RLock()
	due := len(s.expiry) > 0 && s.expiry[0].at <= s.clock.now().add(-s.cfg.TTLDelay)
	s.mu.RUnlock()
	if !due {
		return
	}
	s.mu.Lock()
	pos, _ := s.sweepLocked()
	s.mu.Unlock()
	_ = s.log.sync(pos) // a deletion that is not kept is made again
}

func (s *store) sweepLocked() (int64, error) {
	late := s.clock.now().add(-s.cfg.TTLDelay)
	var changes []change
	var held []expiring
	seen := map[*doc]bool{}
	for len(s.expiry) > 0 && s.expiry[0].at <= late {
		e := heap.Pop(&s.expiry).(expiring)
		body := e.doc.current()
		switch {
		case seen[e.doc] || expires(s.cfg, e.doc, body) != e.at:
		case len(s.holders(nil, []string{e.doc.name})) > 0:
			held = append(held, e)
		default:
			seen[e.doc] = true
			changes = append(changes, change{name: e.doc.name, before: body})
		}
	}
	for _, e := range held {
		heap.Push(&s.expiry, e)
	}
	if len(changes) == 0 {
		return 0, nil
	}
	return s.apply(nil, changes, s.clock.commit())
}
