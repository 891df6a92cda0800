package firestoretest

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// query is a checked StructuredQuery with its order complete: the name is always the last key.
type query struct {
	parent string // resource name that the collections are below
	id     string // collection id, "" for any
	deep   bool   // at any depth
	where  *filter
	orders []order
	start  *cursor
	end    *cursor
	offset int
	limit  int // -1 for none
	mask   []fieldPath
}

type order struct {
	path fieldPath
	desc bool
}

// cursor is a position in the order: just before or just after the documents with these values.
type cursor struct {
	values []*pb.Value
	before bool
}

func parseQuery(parent string, in *pb.StructuredQuery) (*query, error) {
	if err := checkParent(parent); err != nil {
		return nil, err
	}
	switch {
	case in == nil:
		return nil, invalid("The query is missing.")
	case in.FindNearest != nil:
		return nil, unimplemented("find_nearest")
	case len(in.From) != 1:
		return nil, invalid("A query needs exactly one collection selector, not %d.", len(in.From))
	case in.Offset < 0 || in.Limit.GetValue() < 0:
		return nil, invalid("limit and offset must not be negative.")
	}
	q := &query{parent: parent, id: in.From[0].CollectionId, deep: in.From[0].AllDescendants, offset: int(in.Offset), limit: -1}
	if in.Limit != nil {
		q.limit = int(in.Limit.Value)
	}
	if q.id != "" {
		if err := checkID(q.id); err != nil {
			return nil, err
		}
	}
	var err error
	if q.where, err = parseFilter(in.Where); err == nil {
		err = checkTerms(q.where.terms())
	}
	if err == nil {
		err = q.parseOrders(in.OrderBy)
	}
	if err == nil {
		err = q.parseSelect(in.Select)
	}
	if err == nil {
		q.start, err = q.parseCursor(in.StartAt)
	}
	if err == nil {
		q.end, err = q.parseCursor(in.EndAt)
	}
	return q, err
}

// parseOrders reads order_by and completes it: the fields of inequalities, then the name, in the last direction given.
func (q *query) parseOrders(in []*pb.StructuredQuery_Order) error {
	last, named := false, false
	for _, o := range in {
		p, err := parsePath(o.GetField().GetFieldPath())
		if err != nil {
			return err
		}
		if slices.ContainsFunc(q.orders, func(have order) bool { return slices.Equal(have.path, p) }) {
			return invalid("order by clause cannot contain duplicate fields %s", p)
		}
		last = o.Direction == pb.StructuredQuery_DESCENDING
		named = named || p.isName()
		q.orders = append(q.orders, order{p, last})
	}
	if named {
		return nil
	}
	for _, p := range inequalityFields(q.where.terms()) {
		if !slices.ContainsFunc(q.orders, func(have order) bool { return slices.Equal(have.path, p) }) {
			q.orders = append(q.orders, order{p, last})
		}
	}
	q.orders = append(q.orders, order{fieldPath{nameField}, last})
	return nil
}

func (q *query) parseSelect(in *pb.StructuredQuery_Projection) error {
	if in == nil {
		return nil
	}
	q.mask = []fieldPath{}
	for _, f := range in.Fields {
		p, err := parsePath(f.FieldPath)
		if err != nil {
			return err
		}
		q.mask = append(q.mask, p)
	}
	return nil
}

func (q *query) parseCursor(in *pb.Cursor) (*cursor, error) {
	if in == nil {
		return nil, nil
	}
	if len(in.Values) > len(q.orders) {
		return nil, invalid("Cursor has too many values.")
	}
	for i, v := range in.Values {
		if q.orders[i].path.isName() && rank(v) != 7 {
			return nil, invalid("The value of a cursor on __name__ must be a document's name.")
		}
	}
	return &cursor{values: in.Values, before: in.Before}, nil
}

// compare orders two documents as the query wants them; both have every field of the order.
func (q *query) compare(a, b *pb.Document) int {
	for _, o := range q.orders {
		var c int
		if o.path.isName() {
			c = compareNames(a.Name, b.Name)
		} else {
			c = compareValues(o.path.get(a.Fields), o.path.get(b.Fields))
		}
		if c != 0 {
			return o.turn(c)
		}
	}
	return 0
}

func (o order) turn(c int) int {
	if o.desc {
		return -c
	}
	return c
}

// against places a document before (-1), at (0) or after (1) the values of a cursor.
func (q *query) against(d *pb.Document, c *cursor) int {
	for i, v := range c.values {
		if r := compareValues(lookup(d, q.orders[i].path), v); r != 0 {
			return q.orders[i].turn(r)
		}
	}
	return 0
}

// matches reports whether a document is a result, limit and offset aside.
func (q *query) matches(d *pb.Document) bool {
	if d == nil || !q.where.match(d) {
		return false
	}
	for _, o := range q.orders {
		if !o.path.isName() && o.path.get(d.Fields) == nil {
			return false
		}
	}
	if q.start != nil {
		if c := q.against(d, q.start); c < 0 || c == 0 && !q.start.before {
			return false
		}
	}
	if q.end != nil {
		if c := q.against(d, q.end); c > 0 || c == 0 && q.end.before {
			return false
		}
	}
	return true
}

// covers reports whether the collection at path is one the query looks into.
func (q *query) covers(path string) bool {
	below, ok := strings.CutPrefix(path, q.parent+"/")
	if !ok {
		return false
	}
	return (q.deep || !strings.Contains(below, "/")) && (q.id == "" || lastID(below) == q.id)
}

// touchedBy reports whether the changes could change the query's answer.
func (q *query) touchedBy(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool {
		return c.before != c.after && q.covers(collectionOf(c.name)) && (q.matches(c.before) || q.matches(c.after))
	})
}
