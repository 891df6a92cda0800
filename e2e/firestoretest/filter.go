package firestoretest

import (
	"math"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// filter is a tree of and and or over terms. A nil filter lets everything pass.
type filter struct {
	or    bool
	kids  []*filter
	*term // a leaf
}

type operator int

const (
	opEqual operator = iota
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opContains
	opIn
	opContainsAny
	opNotIn
)

// term compares one field with a value, or with any of several.
type term struct {
	path   fieldPath
	op     operator
	values []*pb.Value
}

var operators = map[pb.StructuredQuery_FieldFilter_Operator]operator{
	pb.StructuredQuery_FieldFilter_EQUAL:                 opEqual,
	pb.StructuredQuery_FieldFilter_NOT_EQUAL:             opNotEqual,
	pb.StructuredQuery_FieldFilter_LESS_THAN:             opLess,
	pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL:    opLessEqual,
	pb.StructuredQuery_FieldFilter_GREATER_THAN:          opGreater,
	pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL: opGreaterEqual,
	pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS:        opContains,
	pb.StructuredQuery_FieldFilter_IN:                    opIn,
	pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:    opContainsAny,
	pb.StructuredQuery_FieldFilter_NOT_IN:                opNotIn,
}

func parseFilter(in *pb.StructuredQuery_Filter) (*filter, error) {
	switch f := in.GetFilterType().(type) {
	case nil:
		return nil, nil
	case *pb.StructuredQuery_Filter_CompositeFilter:
		return parseComposite(f.CompositeFilter)
	case *pb.StructuredQuery_Filter_UnaryFilter:
		return parseUnary(f.UnaryFilter)
	case *pb.StructuredQuery_Filter_FieldFilter:
		return parseField(f.FieldFilter)
	}
	return nil, unimplemented("this filter")
}

func parseComposite(in *pb.StructuredQuery_CompositeFilter) (*filter, error) {
	out := &filter{or: in.Op == pb.StructuredQuery_CompositeFilter_OR}
	if in.Op == pb.StructuredQuery_CompositeFilter_OPERATOR_UNSPECIFIED || len(in.Filters) == 0 {
		return nil, invalid("A composite filter needs an operator and at least one filter.")
	}
	for _, f := range in.Filters {
		kid, err := parseFilter(f)
		if err != nil {
			return nil, err
		}
		if kid == nil {
			return nil, invalid("A filter has no type.")
		}
		out.kids = append(out.kids, kid)
	}
	return out, nil
}

func parseUnary(in *pb.StructuredQuery_UnaryFilter) (*filter, error) {
	path, err := parsePath(in.GetField().GetFieldPath())
	if err != nil {
		return nil, err
	}
	t := &term{path: path}
	switch in.Op {
	case pb.StructuredQuery_UnaryFilter_IS_NULL:
		t.op, t.values = opEqual, []*pb.Value{nullValue()}
	case pb.StructuredQuery_UnaryFilter_IS_NAN:
		t.op, t.values = opEqual, []*pb.Value{doubleValue(math.NaN())}
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NULL:
		t.op, t.values = opNotEqual, []*pb.Value{nullValue()}
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NAN:
		t.op, t.values = opNotEqual, []*pb.Value{doubleValue(math.NaN())}
	default:
		return nil, invalid("Unknown unary operator %v.", in.Op)
	}
	return &filter{term: t}, nil
}

func parseField(in *pb.StructuredQuery_FieldFilter) (*filter, error) {
	path, err := parsePath(in.GetField().GetFieldPath())
	if err != nil {
		return nil, err
	}
	op, ok := operators[in.Op]
	if !ok {
		return nil, invalid("Unknown operator %v.", in.Op)
	}
	t := &term{path: path, op: op, values: []*pb.Value{in.Value}}
	if op == opIn || op == opNotIn || op == opContainsAny {
		if t.values = in.Value.GetArrayValue().GetValues(); len(t.values) == 0 {
			return nil, invalid("'%v' requires a non-empty ArrayValue.", in.Op)
		}
		if limit := map[bool]int{true: 10, false: 30}[op == opNotIn]; len(t.values) > limit {
			return nil, invalid("'%v' supports up to %d comparison values.", in.Op, limit)
		}
	}
	for _, v := range t.values {
		if v.GetValueType() == nil || path.isName() && rank(v) != 7 {
			return nil, invalid("__key__ filter value must be a Key")
		}
	}
	return &filter{term: t}, nil
}

// lookup is the value of a field, or the name.
func lookup(d *pb.Document, p fieldPath) *pb.Value {
	if p.isName() {
		return refValue(d.Name)
	}
	return p.get(d.Fields)
}

func (f *filter) match(d *pb.Document) bool {
	switch {
	case f == nil:
		return true
	case f.term != nil:
		v := lookup(d, f.path)
		return v != nil && f.term.holds(v)
	case f.or:
		return slices.ContainsFunc(f.kids, func(k *filter) bool { return k.match(d) })
	}
	return !slices.ContainsFunc(f.kids, func(k *filter) bool { return !k.match(d) })
}

// holds judges a field that is there. Ranges stay within one type; the negative operators pass over null.
func (t *term) holds(v *pb.Value) bool {
	c := compareValues(v, t.values[0])
	sameType := rank(v) == rank(t.values[0])
	switch t.op {
	case opEqual:
		return c == 0
	case opNotEqual:
		return c != 0 && rank(v) != 1
	case opLess:
		return sameType && c < 0
	case opLessEqual:
		return sameType && c <= 0
	case opGreater:
		return sameType && c > 0
	case opGreaterEqual:
		return sameType && c >= 0
	case opContains:
		return holds(v.GetArrayValue().GetValues(), t.values[0])
	case opIn:
		return holds(t.values, v)
	case opContainsAny:
		return slices.ContainsFunc(v.GetArrayValue().GetValues(), func(e *pb.Value) bool { return holds(t.values, e) })
	case opNotIn:
		return rank(v) != 1 && !holds(t.values, v) && !holds(t.values, nullValue())
	}
	return false
}

func (t *term) inequality() bool {
	switch t.op {
	case opEqual, opContains, opIn, opContainsAny:
		return false
	}
	return true
}

// terms are all leaves of the tree.
func (f *filter) terms() []*term {
	if f == nil {
		return nil
	}
	if f.term != nil {
		return []*term{f.term}
	}
	var out []*term
	for _, k := range f.kids {
		out = append(out, k.terms()...)
	}
	return out
}

// required are the terms that every result fulfils: the leaves under no or.
func (f *filter) required() []*term {
	if f == nil || f.or && len(f.kids) > 1 {
		return nil
	}
	if f.term != nil {
		return []*term{f.term}
	}
	var out []*term
	for _, k := range f.kids {
		out = append(out, k.required()...)
	}
	return out
}

// checkTerms holds the combination of operators to the service's rules.
func checkTerms(ts []*term) error {
	negative := 0
	for _, t := range ts {
		if t.op == opNotEqual || t.op == opNotIn {
			negative++
		}
	}
	notIn := slices.ContainsFunc(ts, func(t *term) bool { return t.op == opNotIn })
	several := slices.ContainsFunc(ts, func(t *term) bool { return t.op == opIn || t.op == opContainsAny })
	switch {
	case notIn && several:
		return invalid("'NOT_IN' cannot be used in the same query with 'IN' or 'ARRAY_CONTAINS_ANY'.")
	case negative > 1:
		return invalid("A query cannot have more than one 'NOT_EQUAL' or 'NOT_IN' filter.")
	}
	return nil
}

// inequalityFields are the fields, other than the name, that results are ordered by when the query does not say, sorted.
func inequalityFields(ts []*term) []fieldPath {
	var out []fieldPath
	for _, t := range ts {
		if t.inequality() && !t.path.isName() {
			out = append(out, t.path)
		}
	}
	slices.SortFunc(out, func(a, b fieldPath) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(out, func(a, b fieldPath) bool { return slices.Equal(a, b) })
}
