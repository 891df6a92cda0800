package firestoretest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ids runs a query and joins the ids of its documents.
func ids(t testing.TB, q firestore.Queryer) string {
	t.Helper()
	var docs []*firestore.DocumentSnapshot
	var err error
	switch q := q.(type) {
	case firestore.Query:
		docs, err = q.Documents(t.Context()).GetAll()
	case *firestore.CollectionRef:
		docs, err = q.Documents(t.Context()).GetAll()
	default:
		t.Fatalf("cannot run a %T", q)
	}
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	var out []string
	for _, d := range docs {
		out = append(out, d.Ref.ID)
	}
	return strings.Join(out, " ")
}

func TestQueries(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	cities := c.Collection("cities")
	for id, data := range map[string]map[string]any{
		"a": {"n": 1, "s": "x", "tags": []any{"red", "blue"}, "m": map[string]any{"k": 1}},
		"b": {"n": 2.0, "s": "y", "tags": []any{"red"}},
		"c": {"n": 2, "s": "z", "tags": []any{}},
		"d": {"n": "two", "s": nil},
		"e": {"n": math.NaN(), "s": "x"},
		"f": {"n": nil, "s": "x", "t": time.Unix(5, 0)},
		"g": {"s": "w", "m": map[string]any{"k": 2}},
	} {
		set(t, cities.Doc(id), data)
	}
	doc := func(id string) *firestore.DocumentRef { return cities.Doc(id) }
	for name, tc := range map[string]struct {
		q    firestore.Queryer
		want string
	}{
		"all":                 {cities, "a b c d e f g"},
		"equal":               {cities.Where("n", "==", 2), "b c"},
		"nested":              {cities.Where("m.k", "==", 2), "g"},
		"null":                {cities.Where("n", "==", nil), "f"},
		"nan":                 {cities.Where("n", "==", math.NaN()), "e"},
		"not null":            {cities.Where("s", "!=", nil).OrderBy("s", firestore.Asc), "g a e f b c"},
		"not nan":             {cities.Where("n", "!=", math.NaN()), "a b c d"},
		"not equal":           {cities.Where("s", "!=", "x"), "g b c"},
		"less":                {cities.Where("n", "<", 2), "e a"},
		"range":               {cities.Where("n", ">=", 1).Where("n", "<=", 2), "a b c"},
		"in":                  {cities.Where("s", "in", []string{"z", "w"}), "c g"},
		"not in":              {cities.Where("s", "not-in", []string{"x", "w"}), "b c"},
		"contains":            {cities.Where("tags", "array-contains", "red"), "a b"},
		"contains any":        {cities.Where("tags", "array-contains-any", []string{"blue", "green"}), "a"},
		"order":               {cities.OrderBy("n", firestore.Asc), "f e a b c d"},
		"order desc":          {cities.OrderBy("n", firestore.Desc), "d c b a e f"},
		"two orders":          {cities.OrderBy("s", firestore.Desc).OrderBy("n", firestore.Asc), "c b f e a d"},
		"by name":             {cities.OrderBy(firestore.DocumentID, firestore.Desc).Limit(2), "g f"},
		"by name from":        {cities.Where(firestore.DocumentID, ">", doc("e")), "f g"},
		"by name is":          {cities.Where(firestore.DocumentID, "in", []*firestore.DocumentRef{doc("g"), doc("a")}), "a g"},
		"limit and offset":    {cities.OrderBy("n", firestore.Asc).Offset(2).Limit(2), "a b"},
		"limit to last":       {cities.OrderBy("n", firestore.Asc).LimitToLast(2), "c d"},
		"start at":            {cities.OrderBy("n", firestore.Asc).StartAt(2), "b c d"},
		"start after":         {cities.OrderBy("n", firestore.Asc).StartAfter(2), "d"},
		"end at":              {cities.OrderBy("n", firestore.Asc).EndAt(1), "f e a"},
		"end before":          {cities.OrderBy("n", firestore.Asc).EndBefore(1), "f e"},
		"inequality, 2 field": {cities.Where("n", ">=", 1).Where("s", ">", "x"), "b c"},
		"or": {cities.WhereEntity(firestore.OrFilter{Filters: []firestore.EntityFilter{
			firestore.PropertyFilter{Path: "s", Operator: "==", Value: "y"}, firestore.PropertyFilter{Path: "n", Operator: "==", Value: 1},
		}}), "a b"},
		"and of or": {cities.WhereEntity(firestore.AndFilter{Filters: []firestore.EntityFilter{
			firestore.OrFilter{Filters: []firestore.EntityFilter{
				firestore.PropertyFilter{Path: "s", Operator: "==", Value: "x"}, firestore.PropertyFilter{Path: "s", Operator: "==", Value: "y"},
			}}, firestore.PropertyFilter{Path: "n", Operator: ">", Value: 1}}}), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ids(t, tc.q); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCursorAtDocument(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	for i := range 6 {
		set(t, c.Doc(fmt.Sprintf("c/d%d", i)), map[string]any{"g": i % 2})
	}
	q := c.Collection("c").OrderBy("g", firestore.Desc)
	if got, want := ids(t, q.StartAfter(get(t, c.Doc("c/d3")))), "d1 d4 d2 d0"; got != want {
		t.Errorf("after d3 came %q, want %q", got, want)
	}
}

func TestProjectionAndGroup(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	for _, p := range []string{"items/1", "orders/a/items/2", "orders/b/items/3", "orders/b/parts/4"} {
		set(t, c.Doc(p), map[string]any{"v": 1, "w": map[string]any{"x": 1, "y": 2}})
	}
	docs := must[[]*firestore.DocumentSnapshot](t)(c.CollectionGroup("items").Select("w.y").Documents(t.Context()).GetAll())
	var got []string
	for _, d := range docs {
		got = append(got, d.Ref.ID)
		if diff := cmp.Diff(map[string]any{"w": map[string]any{"y": int64(2)}}, d.Data()); diff != "" {
			t.Errorf("projection (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Errorf("collection group (-want +got):\n%s", diff)
	}
	if got := ids(t, c.Collection("orders/b/items")); got != "3" {
		t.Errorf("the collection of one parent has %q", got)
	}
	cols := must[[]*firestore.CollectionRef](t)(c.Doc("orders/b").Collections(t.Context()).GetAll())
	if len(cols) != 2 || cols[0].ID != "items" || cols[1].ID != "parts" {
		t.Errorf("got collections %v, want items and parts", cols)
	}
	refs := must[[]*firestore.DocumentRef](t)(c.Collection("orders").DocumentRefs(t.Context()).GetAll())
	if len(refs) != 2 || refs[0].ID != "a" {
		t.Errorf("got %v, want the missing documents a and b that have documents below", refs)
	}
}

func TestAggregations(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	empty := must[firestore.AggregationResult](t)(c.Collection("c").NewAggregationQuery().WithCount("n").WithSum("v", "sum").WithAvg("v", "avg").Get(t.Context()))
	for i := range 5 {
		set(t, c.Doc(fmt.Sprintf("c/%d", i)), map[string]any{"v": i, "f": float64(i) / 2})
	}
	set(t, c.Doc("c/odd"), map[string]any{"v": "text"})
	above := c.Collection("c").Where("v", ">", 0)
	full := must[firestore.AggregationResult](t)(above.NewAggregationQuery().WithCount("n").WithSum("v", "sum").WithSum("f", "fsum").WithAvg("v", "avg").Get(t.Context()))
	got := func(r firestore.AggregationResult, alias string) any {
		v := r[alias].(*pb.Value)
		switch v.ValueType.(type) {
		case *pb.Value_IntegerValue:
			return v.GetIntegerValue()
		case *pb.Value_DoubleValue:
			return v.GetDoubleValue()
		}
		return nil
	}
	want := []any{int64(0), int64(0), nil, int64(4), int64(10), 5.0, 2.5}
	have := []any{got(empty, "n"), got(empty, "sum"), got(empty, "avg"), got(full, "n"), got(full, "sum"), got(full, "fsum"), got(full, "avg")}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("aggregations (-want +got):\n%s", diff)
	}
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{})
	for i := range 20 {
		set(t, c.Doc(fmt.Sprintf("c/%02d", i)), map[string]any{"v": i})
	}
	qs := must[[]firestore.Query](t)(c.CollectionGroup("c").GetPartitionedQueries(t.Context(), 4))
	var all []string
	for _, q := range qs {
		all = append(all, ids(t, q))
	}
	if want := "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19"; strings.Join(all, " ") != want || len(qs) != 5 {
		t.Errorf("%d partitions hold %q, want 5 (4 cuts) that hold %q", len(qs), all, want)
	}
}

// The ways through indexes find what looking at every document finds.
func TestIndexesAgreeWithScan(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, c := start(t, Config{Clock: NewManual(epoch)})
	rnd := rand.New(rand.NewPCG(1, 2))
	fill(ctx, t, c, 400, func(int) map[string]any { return randomFields(rnd) })
	for i := range 300 {
		q := randomQuery(rnd, i)
		var plain []string
		pq, err := parseQuery(strings.TrimSuffix(docRoot, "/"), q)
		ok(t, err)
		s.store.wantIndexes(pq)
		docs, _, err := s.store.results(pq, 0)
		ok(t, err)
		past, _, err := s.store.results(pq, s.store.clock.read()) // a read of the past looks at everything
		ok(t, err)
		for _, d := range past {
			plain = append(plain, d.Name)
		}
		var got []string
		for _, d := range docs {
			got = append(got, d.Name)
		}
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Fatalf("query %d %v (-scan +index):\n%s", i, q, diff)
		}
		if i%3 == 0 { // documents move between the queries, and so must their entries
			set(t, c.Doc(fmt.Sprintf("many/%05d", rnd.IntN(400))), randomFields(rnd))
			must[*firestore.WriteResult](t)(c.Doc(fmt.Sprintf("many/%05d", rnd.IntN(400))).Delete(ctx))
		}
	}
}

func randomFields(rnd *rand.Rand) map[string]any {
	out := map[string]any{}
	for _, f := range []string{"a", "b", "c"} {
		switch rnd.IntN(6) {
		case 0:
		case 1:
			out[f] = nil
		case 2:
			out[f] = fmt.Sprint(rnd.IntN(5))
		default:
			out[f] = rnd.IntN(8)
		}
	}
	return out
}

func randomQuery(rnd *rand.Rand, i int) *pb.StructuredQuery {
	field := func() *pb.StructuredQuery_FieldReference {
		return &pb.StructuredQuery_FieldReference{FieldPath: string("abc"[rnd.IntN(3)])}
	}
	q := &pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "many"}}}
	if rnd.IntN(2) == 0 {
		q.Limit = wrapperspb.Int32(int32(rnd.IntN(20)))
		q.Offset = int32(rnd.IntN(3))
	}
	var fs []*pb.StructuredQuery_Filter
	for range rnd.IntN(3) {
		op := pb.StructuredQuery_FieldFilter_Operator(1 + rnd.IntN(5))
		fs = append(fs, &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{FieldFilter: &pb.StructuredQuery_FieldFilter{
			Field: field(), Op: op, Value: intValue(int64(rnd.IntN(8))),
		}}})
	}
	if len(fs) > 0 {
		q.Where = &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_CompositeFilter{CompositeFilter: &pb.StructuredQuery_CompositeFilter{
			Op: pb.StructuredQuery_CompositeFilter_AND, Filters: fs,
		}}}
	}
	seen := map[string]bool{}
	for range rnd.IntN(3) {
		if f := field(); !seen[f.FieldPath] {
			seen[f.FieldPath] = true
			q.OrderBy = append(q.OrderBy, &pb.StructuredQuery_Order{Field: f, Direction: pb.StructuredQuery_Direction(1 + rnd.IntN(2))})
		}
	}
	if i%7 == 0 {
		q.OrderBy = append(q.OrderBy, &pb.StructuredQuery_Order{Field: &pb.StructuredQuery_FieldReference{FieldPath: nameField}, Direction: pb.StructuredQuery_Direction(1 + rnd.IntN(2))})
	}
	if len(q.OrderBy) > 0 && rnd.IntN(3) == 0 && q.OrderBy[0].Field.FieldPath != nameField {
		q.StartAt = &pb.Cursor{Values: []*pb.Value{intValue(int64(rnd.IntN(8)))}, Before: rnd.IntN(2) == 0}
		if rnd.IntN(2) == 0 {
			q.EndAt = &pb.Cursor{Values: []*pb.Value{intValue(int64(rnd.IntN(8)))}, Before: rnd.IntN(2) == 0}
		}
	}
	return q
}

// fill writes n documents many/00000… in batches.
func fill(ctx context.Context, t testing.TB, c *firestore.Client, n int, fields func(i int) map[string]any) {
	t.Helper()
	for i := 0; i < n; {
		b := c.Batch() //lint:ignore SA1019 the only atomic way without a transaction
		for end := min(i+500, n); i < end; i++ {
			b.Set(c.Doc(fmt.Sprintf("many/%05d", i)), fields(i))
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	c := raw(t, s)
	from := []*pb.StructuredQuery_CollectionSelector{{CollectionId: "c"}}
	long := make([]*pb.Value, 31)
	for i := range long {
		long[i] = intValue(int64(i))
	}
	where := func(path string, op pb.StructuredQuery_FieldFilter_Operator, v *pb.Value) *pb.StructuredQuery_Filter {
		return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{FieldFilter: &pb.StructuredQuery_FieldFilter{
			Field: &pb.StructuredQuery_FieldReference{FieldPath: path}, Op: op, Value: v,
		}}}
	}
	for name, tc := range map[string]struct {
		q    *pb.StructuredQuery
		code codes.Code
		text string
	}{
		"no collection":   {&pb.StructuredQuery{}, codes.InvalidArgument, "collection selector"},
		"reserved":        {&pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "__x__"}}}, codes.InvalidArgument, "reserved"},
		"bad path":        {&pb.StructuredQuery{From: from, Where: where("a..b", pb.StructuredQuery_FieldFilter_EQUAL, intValue(1))}, codes.InvalidArgument, "field path"},
		"in nothing":      {&pb.StructuredQuery{From: from, Where: where("a", pb.StructuredQuery_FieldFilter_IN, arrayValue(nil))}, codes.InvalidArgument, "non-empty"},
		"in too many":     {&pb.StructuredQuery{From: from, Where: where("a", pb.StructuredQuery_FieldFilter_IN, arrayValue(long))}, codes.InvalidArgument, "30"},
		"not in too many": {&pb.StructuredQuery{From: from, Where: where("a", pb.StructuredQuery_FieldFilter_NOT_IN, arrayValue(long[:11]))}, codes.InvalidArgument, "10"},
		"name and number": {&pb.StructuredQuery{From: from, Where: where(nameField, pb.StructuredQuery_FieldFilter_EQUAL, intValue(1))}, codes.InvalidArgument, "Key"},
		"long cursor":     {&pb.StructuredQuery{From: from, StartAt: &pb.Cursor{Values: long}}, codes.InvalidArgument, "too many values"},
		"negative offset": {&pb.StructuredQuery{From: from, Offset: -1}, codes.InvalidArgument, "negative"},
		"nearest":         {&pb.StructuredQuery{From: from, FindNearest: &pb.StructuredQuery_FindNearest{}}, codes.Unimplemented, "find_nearest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream, err := c.RunQuery(t.Context(), &pb.RunQueryRequest{Parent: testDB + "/documents", QueryType: &pb.RunQueryRequest_StructuredQuery{StructuredQuery: tc.q}})
			ok(t, err)
			_, err = stream.Recv()
			wantStatus(t, err, tc.code, tc.text)
		})
	}
}
