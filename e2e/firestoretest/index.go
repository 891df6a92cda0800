package firestoretest

import (
	"cmp"
	"iter"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// minIndexed is how many documents a collection has before a query gets itself an index; below, looking at all of them is as quick.
const minIndexed = 256

// index is the documents of a collection that have a field, by its value and then by name.
type index struct {
	path    fieldPath
	entries sorted[entry]
}

type entry struct {
	value *pb.Value
	doc   *doc
}

func newIndex(path fieldPath) *index {
	ix := &index{path: path}
	ix.entries.compare = func(a, b entry) int {
		return cmp.Or(compareValues(a.value, b.value), strings.Compare(a.doc.name, b.doc.name))
	}
	return ix
}

// index returns the index on a path, building it when build is set and there is none yet.
func (c *collection) index(path fieldPath, build bool) *index {
	key := strings.Join(path, "\x00")
	ix := c.indexes[key]
	if ix != nil || !build {
		return ix
	}
	ix = newIndex(path)
	for d := range c.names.from(nil) {
		if v := path.get(d.current().Fields); v != nil {
			ix.entries.insert(entry{v, d})
		}
	}
	c.indexes[key] = ix
	return ix
}

// reindex moves a document from its old to its new place.
func (c *collection) reindex(d *doc, before, after *pb.Document) {
	for _, ix := range c.indexes {
		old, now := ix.path.get(before.GetFields()), ix.path.get(after.GetFields())
		if old != nil && now != nil && equalValues(old, now) {
			continue // the place depends on the order of values only
		}
		if old != nil {
			ix.entries.remove(entry{old, d})
		}
		if now != nil {
			ix.entries.insert(entry{now, d})
		}
	}
}

// span is a range of values; nil ends are open.
type span struct {
	low, high         *pb.Value
	lowOpen, highOpen bool // without the end itself
}

func (s span) below(v *pb.Value) bool {
	if s.low == nil {
		return false
	}
	c := compareValues(v, s.low)
	return c < 0 || c == 0 && s.lowOpen
}

func (s span) above(v *pb.Value) bool {
	if s.high == nil {
		return false
	}
	c := compareValues(v, s.high)
	return c > 0 || c == 0 && s.highOpen
}

// walk yields the documents in the span, by value and name, upwards or downwards.
func (ix *index) walk(s span, down bool) iter.Seq[*doc] {
	return func(yield func(*doc) bool) {
		if down {
			for e := range ix.entries.downFrom(func(e entry) bool { return s.above(e.value) }) {
				if s.below(e.value) || !yield(e.doc) {
					return
				}
			}
			return
		}
		for e := range ix.entries.from(func(e entry) bool { return !s.below(e.value) }) {
			if s.above(e.value) || !yield(e.doc) {
				return
			}
		}
	}
}

// atMost reports whether the span holds no more than n documents.
func (ix *index) atMost(s span, n int) bool {
	for range ix.walk(s, false) {
		if n--; n < 0 {
			return false
		}
	}
	return true
}
