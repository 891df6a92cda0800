package firestoretest

import (
	"iter"
	"slices"
)

const chunkSize = 512

// sorted is an ordered set in chunks: cheap to insert into at a hundred thousand entries, and walked in both directions from any point.
type sorted[T any] struct {
	compare func(a, b T) int
	chunks  [][]T
	length  int
}

// find returns the chunk and the place in it where the first entry with after(entry) stands; after must be false, then true, along the order.
func (s *sorted[T]) find(after func(T) bool) (chunk, place int) {
	chunk, _ = slices.BinarySearchFunc(s.chunks, after, func(c []T, after func(T) bool) int {
		if after(c[len(c)-1]) {
			return 1
		}
		return -1
	})
	if chunk == len(s.chunks) {
		return chunk, 0
	}
	place, _ = slices.BinarySearchFunc(s.chunks[chunk], after, func(e T, after func(T) bool) int {
		if after(e) {
			return 1
		}
		return -1
	})
	return chunk, place
}

func (s *sorted[T]) insert(e T) {
	s.length++
	if len(s.chunks) == 0 {
		s.chunks = [][]T{{e}}
		return
	}
	i, at := s.find(func(o T) bool { return s.compare(o, e) >= 0 })
	if i == len(s.chunks) {
		i--
		at = len(s.chunks[i])
	}
	c := slices.Insert(s.chunks[i], at, e)
	s.chunks[i] = c
	if len(c) > 2*chunkSize {
		s.chunks[i] = c[:chunkSize:chunkSize]
		s.chunks = slices.Insert(s.chunks, i+1, slices.Clone(c[chunkSize:]))
	}
}

func (s *sorted[T]) remove(e T) {
	i, at := s.find(func(o T) bool { return s.compare(o, e) >= 0 })
	if i == len(s.chunks) || s.compare(s.chunks[i][at], e) != 0 {
		return
	}
	s.length--
	s.chunks[i] = slices.Delete(s.chunks[i], at, at+1)
	if len(s.chunks[i]) == 0 {
		s.chunks = slices.Delete(s.chunks, i, i+1)
	}
}

// from walks up from the first entry with after(entry); a nil after starts at the beginning.
func (s *sorted[T]) from(after func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		i, at := 0, 0
		if after != nil {
			i, at = s.find(after)
		}
		for ; i < len(s.chunks); i, at = i+1, 0 {
			for _, e := range s.chunks[i][at:] {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// downFrom walks down from the last entry without past(entry); a nil past starts at the end.
func (s *sorted[T]) downFrom(past func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		i, at := len(s.chunks), 0
		if past != nil {
			i, at = s.find(past)
		}
		for {
			for at--; at >= 0; at-- {
				if !yield(s.chunks[i][at]) {
					return
				}
			}
			if i--; i < 0 {
				return
			}
			at = len(s.chunks[i])
		}
	}
}
