package firestoretest

import (
	"iter"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// fewEnough is how many documents an equality may have for its index to be taken before that of the order.
const fewEnough = 1000

// results are the documents of a query at a time (0: now), after offset and limit, and how many the offset skipped.
// Called with the mutex held for reading.
func (s *store) results(q *query, at stamp) (docs []*pb.Document, skipped int, err error) {
	need := -1
	if q.limit >= 0 {
		need = q.offset + q.limit
	}
	colls := s.covered(q)
	if at != 0 {
		docs, err = pastDocs(q, colls, at)
	} else if p := q.plan(colls, false); p != nil {
		docs = p.collect(q, need)
	} else {
		docs = scan(q, colls)
	}
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(docs, q.compare)
	if need >= 0 && len(docs) > need {
		docs = docs[:need]
	}
	skipped = min(q.offset, len(docs))
	return docs[skipped:], skipped, nil
}

func (s *store) covered(q *query) []*collection {
	if q.id != "" && !q.deep {
		if c := s.colls[q.parent+"/"+q.id]; c != nil {
			return []*collection{c}
		}
		return nil
	}
	var out []*collection
	for path, c := range s.colls {
		if q.covers(path) {
			out = append(out, c)
		}
	}
	return out
}

func scan(q *query, colls []*collection) []*pb.Document {
	var out []*pb.Document
	for _, c := range colls {
		for d := range c.names.from(nil) {
			if body := d.current(); q.matches(body) {
				out = append(out, body)
			}
		}
	}
	return out
}

// pastDocs looks at all documents, the deleted ones too, as they were.
func pastDocs(q *query, colls []*collection, at stamp) ([]*pb.Document, error) {
	var out []*pb.Document
	look := func(d *doc) error {
		body, err := d.at(at)
		if err == nil && q.matches(body) {
			out = append(out, body)
		}
		return err
	}
	for _, c := range colls {
		for d := range c.names.from(nil) {
			if err := look(d); err != nil {
				return nil, err
			}
		}
		for d := range c.dead {
			if err := look(d); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// plan is a way through one big collection that sees the results early.
type plan struct {
	docs  iter.Seq[*doc]
	exact bool  // they come in the query's order
	first order // else: they come in the order of this key at least, when it has a path
}

// plan picks an index, or nil to look at everything. With build it makes the indexes it would like to have.
func (q *query) plan(colls []*collection, build bool) *plan {
	if len(colls) != 1 || colls[0].names.length < minIndexed {
		return nil
	}
	c := colls[0]
	ordered := q.orderPlan(c, build)
	if equal := q.equalPlan(c, build, ordered != nil && q.limit >= 0); equal != nil {
		return equal
	}
	return ordered
}

// equalPlan goes through the documents with one value; picky takes it only when it is in order or leads to few.
func (q *query) equalPlan(c *collection, build, picky bool) *plan {
	for _, t := range q.where.required() {
		if t.op != opEqual || t.path.isName() {
			continue
		}
		ix := c.index(t.path, build)
		if ix == nil {
			continue
		}
		s := span{low: t.values[0], high: t.values[0]}
		exact := q.orders[0].path.isName()
		if exact || !picky || ix.atMost(s, fewEnough) {
			return &plan{docs: ix.walk(s, exact && q.orders[0].desc), exact: exact}
		}
	}
	return nil
}

// orderPlan goes through the documents by the first key of the order, between the bounds that filters and cursors set.
func (q *query) orderPlan(c *collection, build bool) *plan {
	o := q.orders[0]
	if o.path.isName() {
		return q.namePlan(c, o.desc)
	}
	ix := c.index(o.path, build)
	if ix == nil {
		return nil
	}
	exact := len(q.orders) > 1 && q.orders[1].path.isName() && q.orders[1].desc == o.desc
	return &plan{docs: ix.walk(q.bounds(o), o.desc), exact: exact, first: o}
}

func (q *query) namePlan(c *collection, desc bool) *plan {
	low, high := q.nameBounds()
	if desc {
		var past func(*doc) bool
		if high != "" {
			past = func(d *doc) bool { return compareNames(d.name, high) > 0 }
		}
		return &plan{docs: c.names.downFrom(past), exact: true}
	}
	var after func(*doc) bool
	if low != "" {
		after = func(d *doc) bool { return compareNames(d.name, low) >= 0 }
	}
	return &plan{docs: c.names.from(after), exact: true}
}

// nameBounds are where results may begin and end by name, as far as the start of the walk needs them; "" is open.
func (q *query) nameBounds() (low, high string) {
	for _, t := range q.where.required() {
		if !t.path.isName() {
			continue
		}
		name := t.values[0].GetReferenceValue()
		switch t.op {
		case opEqual:
			return name, name
		case opGreater, opGreaterEqual:
			low = name
		case opLess, opLessEqual:
			high = name
		}
	}
	if q.start != nil && len(q.start.values) > 0 {
		name := q.start.values[0].GetReferenceValue()
		if q.orders[0].desc {
			high = name
		} else {
			low = name
		}
	}
	return low, high
}

// bounds narrows the walk along the first key; what it lets through is still matched in full.
func (q *query) bounds(o order) span {
	var s span
	for _, t := range q.where.required() {
		if !slices.Equal(t.path, o.path) {
			continue
		}
		switch t.op {
		case opEqual:
			return span{low: t.values[0], high: t.values[0]}
		case opGreater, opGreaterEqual:
			s.low, s.lowOpen = t.values[0], t.op == opGreater
		case opLess, opLessEqual:
			s.high, s.highOpen = t.values[0], t.op == opLess
		}
	}
	s.narrow(q.start, !o.desc)
	s.narrow(q.end, o.desc)
	return s
}

// narrow moves one end to a cursor's first value, when that is inside.
func (s *span) narrow(c *cursor, low bool) {
	if c == nil || len(c.values) == 0 {
		return
	}
	v := c.values[0]
	switch {
	case s.below(v) || s.above(v):
	case low:
		s.low, s.lowOpen = v, false
	default:
		s.high, s.highOpen = v, false
	}
}

// collect takes what matches, and stops when need results cannot be displaced any more.
func (p *plan) collect(q *query, need int) []*pb.Document {
	var out []*pb.Document
	for d := range p.docs {
		body := d.current()
		if need >= 0 && len(out) >= need {
			if p.exact {
				break
			}
			if p.first.path != nil && need > 0 && !equalValues(p.first.path.get(body.Fields), p.first.path.get(out[len(out)-1].Fields)) {
				break
			}
		}
		if q.matches(body) {
			out = append(out, body)
		}
	}
	return out
}

// wantIndexes makes sure that the indexes a query profits from are there.
func (s *store) wantIndexes(q *query) {
	s.mu.RLock()
	colls := s.covered(q)
	missing := len(colls) == 1 && colls[0].names.length >= minIndexed && q.lacksIndex(colls[0])
	s.mu.RUnlock()
	if missing {
		s.mu.Lock()
		q.plan(s.covered(q), true)
		s.mu.Unlock()
	}
}

func (q *query) lacksIndex(c *collection) bool {
	if o := q.orders[0]; !o.path.isName() && c.index(o.path, false) == nil {
		return true
	}
	return slices.ContainsFunc(q.where.required(), func(t *term) bool {
		return t.op == opEqual && !t.path.isName() && c.index(t.path, false) == nil
	})
}
