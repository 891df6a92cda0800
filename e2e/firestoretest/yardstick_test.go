package firestoretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func statusCode(err error) codes.Code { return status.Code(err) }

// yard is the Go side of testdata/yardstick.cjs, step by step.
type yard struct {
	t    *testing.T
	c    *firestore.Client
	col  *firestore.CollectionRef
	root string
	seen map[string]any
}

func yardstick(t *testing.T, c *firestore.Client, root string) map[string]any {
	y := &yard{t: t, c: c, col: c.Collection(root), root: root, seen: map[string]any{}}
	y.writes()
	y.transactions()
	y.queries()
	y.tree()
	y.bulk()
	y.watchDoc()
	y.watchQuery()
	y.deleteAll()
	return y.seen
}

func (y *yard) writes() {
	ctx, doc := y.t.Context(), y.col.Doc("a")
	result := func(name string) func(*firestore.WriteResult, error) {
		return func(_ *firestore.WriteResult, err error) { y.seen[name] = codeOf(err) }
	}
	n := func(v int) []firestore.Update { return []firestore.Update{{Path: "n", Value: v}} }
	result("updateMissing")(doc.Update(ctx, n(1)))
	result("create")(doc.Create(ctx, map[string]any{"n": 1, "list": []any{"x", 1}, "m": map[string]any{"keep": 1, "drop": 2}}))
	result("createAgain")(doc.Create(ctx, map[string]any{"n": 2}))
	first := get(y.t, doc).UpdateTime
	result("updateAtTime")(doc.Update(ctx, n(2), firestore.LastUpdateTime(first)))
	result("updateAtOldTime")(doc.Update(ctx, n(3), firestore.LastUpdateTime(first)))
	result("deleteAtOldTime")(doc.Delete(ctx, firestore.LastUpdateTime(first)))
	before := get(y.t, doc).UpdateTime
	same := must[*firestore.WriteResult](y.t)(doc.Set(ctx, map[string]any{"n": 2}, firestore.MergeAll))
	y.seen["noChange"] = same.UpdateTime.Equal(before)
	must[*firestore.WriteResult](y.t)(doc.Update(ctx, []firestore.Update{
		{Path: "n", Value: firestore.Increment(5)}, {Path: "f", Value: firestore.Increment(1.5)}, {Path: "list", Value: firestore.ArrayUnion("y", 1)},
		{Path: "m.drop", Value: firestore.Delete}, {Path: "m.when", Value: firestore.ServerTimestamp},
	}))
	must[*firestore.WriteResult](y.t)(doc.Set(ctx, map[string]any{"list": firestore.ArrayRemove("x"), "extra": nil}, firestore.MergeAll))
	must[*firestore.WriteResult](y.t)(doc.Update(ctx, []firestore.Update{{FieldPath: firestore.FieldPath{"odd name", "x.y"}, Value: true}}))
	data := get(y.t, doc).Data()
	if m := data["m"].(map[string]any); !m["when"].(time.Time).IsZero() {
		m["when"] = "time"
	}
	y.seen["document"] = data
	b := y.c.Batch() //lint:ignore SA1019 the only atomic way without a transaction
	b.Set(y.col.Doc("fromBatch"), map[string]any{"v": 1})
	b.Create(doc, map[string]any{"v": 1})
	_, err := b.Commit(ctx)
	y.seen["batch"] = codeOf(err)
	all := must[[]*firestore.DocumentSnapshot](y.t)(y.c.GetAll(ctx, []*firestore.DocumentRef{doc, y.col.Doc("fromBatch")}))
	y.seen["getAll"] = []bool{all[0].Exists(), all[1].Exists()}
	result("tooBig")(y.col.Doc("big").Set(ctx, map[string]any{"b": make([]byte, 1<<20)}))
	result("reserved")(y.col.Doc("__reserved__").Set(ctx, map[string]any{"v": 1}))
	must[*firestore.WriteResult](y.t)(doc.Delete(ctx))
	result("deleteMissing")(doc.Delete(ctx))
	result("deleteExists")(doc.Delete(ctx, firestore.Exists))
}

func (y *yard) transactions() {
	ctx, doc := y.t.Context(), y.col.Doc("counter")
	set(y.t, doc, map[string]any{"n": 0})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := y.c.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
				snap, err := tx.Get(doc)
				if err != nil {
					return err
				}
				return tx.Update(doc, []firestore.Update{{Path: "n", Value: snap.Data()["n"].(int64) + 1}})
			}, firestore.MaxAttempts(30))
			if err != nil {
				y.t.Error(err)
			}
		})
	}
	wg.Wait()
	snap := get(y.t, doc)
	y.seen["counter"] = snap.Data()["n"]
	set(y.t, doc, map[string]any{"n": 100})
	ok(y.t, y.c.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		past, err := tx.Get(doc)
		y.seen["readTime"] = past.Data()["n"]
		return err
	}, firestore.TransactionReadTime(snap.UpdateTime)))
	err := y.c.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		return errors.Join(errors.New("no"), tx.Set(doc, map[string]any{"n": -1}))
	})
	if err == nil {
		y.t.Error("the transaction was not rolled back")
	}
	y.seen["rolledBack"] = "code 99" // the error of the function itself
	y.seen["afterRollback"] = get(y.t, doc).Data()["n"]
	must[*firestore.WriteResult](y.t)(doc.Delete(ctx))
}

func (y *yard) queries() {
	ctx, col := y.t.Context(), y.col
	for i := range 12 {
		data := map[string]any{"v": i % 4, "s": string("abc"[i%3]), "tags": []int{i % 2, i % 5}, "maybe": nil}
		if i%6 != 0 {
			data["maybe"] = i
		}
		set(y.t, col.Doc(fmt.Sprintf("q%02d", i)), data)
	}
	is := func(path, op string, value any) firestore.PropertyFilter {
		return firestore.PropertyFilter{Path: path, Operator: op, Value: value}
	}
	or := firestore.OrFilter{Filters: []firestore.EntityFilter{
		is("v", "==", 3), firestore.AndFilter{Filters: []firestore.EntityFilter{is("s", "==", "b"), is("v", "==", 0)}},
	}}
	for name, q := range map[string]firestore.Query{
		"all":         col.Query,
		"equal":       col.Where("v", "==", 2),
		"range":       col.Where("v", ">", 0).Where("v", "<", 3),
		"notEqual":    col.Where("s", "!=", "a"),
		"in":          col.Where("s", "in", []string{"a", "c"}).Where("v", "==", 1),
		"notIn":       col.Where("v", "not-in", []int{0, 1}),
		"contains":    col.Where("tags", "array-contains", 4),
		"containsAny": col.Where("tags", "array-contains-any", []int{3, 4}),
		"null":        col.Where("maybe", "==", nil),
		"or":          col.WhereEntity(or),
		"order":       col.OrderBy("s", firestore.Desc).OrderBy("v", firestore.Asc).Limit(5),
		"offset":      col.OrderBy("v", firestore.Asc).Offset(3).Limit(3),
		"limitToLast": col.OrderBy("v", firestore.Asc).LimitToLast(3),
		"cursor":      col.OrderBy("v", firestore.Asc).StartAfter(get(y.t, col.Doc("q05"))).EndAt(2),
		"byName":      col.OrderBy(firestore.DocumentID, firestore.Desc).StartAt("q03").Limit(2),
	} {
		y.seen[name] = ids(y.t, q)
	}
	picked := must[[]*firestore.DocumentSnapshot](y.t)(col.OrderBy("v", firestore.Desc).Select("s").Limit(1).Documents(ctx).GetAll())
	y.seen["select"] = picked[0].Data()
	some := col.Where("v", ">=", 1)
	agg := must[firestore.AggregationResult](y.t)(some.NewAggregationQuery().WithCount("n").WithSum("v", "sum").WithAvg("v", "avg").Get(ctx))
	y.seen["aggregate"] = map[string]any{
		"n": agg["n"].(*pb.Value).GetIntegerValue(), "sum": agg["sum"].(*pb.Value).GetIntegerValue(), "avg": agg["avg"].(*pb.Value).GetDoubleValue(),
	}
}

func (y *yard) tree() {
	ctx := y.t.Context()
	set(y.t, y.col.Doc("ghost").Collection(y.root+"-sub").Doc("s1"), map[string]any{"v": 1})
	set(y.t, y.col.Doc("q00").Collection(y.root+"-sub").Doc("s2"), map[string]any{"v": 2})
	set(y.t, y.col.Doc("q00").Collection("other").Doc("o"), map[string]any{"v": 3})
	group := y.c.CollectionGroup(y.root + "-sub")
	y.seen["group"] = ids(y.t, group.OrderBy("v", firestore.Asc))
	var names []string
	for _, c := range must[[]*firestore.CollectionRef](y.t)(y.col.Doc("q00").Collections(ctx).GetAll()) {
		names = append(names, c.ID)
	}
	y.seen["collections"] = strings.Join(names, " ")
	missing := 0
	for _, d := range must[[]*firestore.DocumentRef](y.t)(y.col.DocumentRefs(ctx).GetAll()) {
		if d.ID == "ghost" {
			missing++
		}
	}
	y.seen["missing"] = missing
	parts := 0
	for _, q := range must[[]firestore.Query](y.t)(group.GetPartitionedQueries(ctx, 2)) {
		parts += len(strings.Fields(ids(y.t, q)))
	}
	y.seen["partitioned"] = parts
}

func (y *yard) bulk() {
	ctx := y.t.Context()
	var got []string
	for _, w := range []func() error{
		func() error { _, err := y.col.Doc("bulk").Create(ctx, map[string]any{"v": 1}); return err },
		func() error { _, err := y.col.Doc("q00").Create(ctx, map[string]any{"v": 1}); return err },
		func() error {
			_, err := y.col.Doc("nowhere").Update(ctx, []firestore.Update{{Path: "v", Value: 1}})
			return err
		},
		func() error { _, err := y.col.Doc("q11").Delete(ctx); return err },
	} {
		got = append(got, codeOf(w()))
	}
	y.seen["bulk"] = got
}

func (y *yard) watchDoc() {
	doc := y.col.Doc("watched")
	it := doc.Snapshots(y.t.Context())
	defer it.Stop()
	var states []any
	moves := []func(){
		func() { set(y.t, doc, map[string]any{"v": 1}) },
		func() { set(y.t, doc, map[string]any{"v": 2}) },
		func() { must[*firestore.WriteResult](y.t)(doc.Delete(y.t.Context())) },
	}
	for i := 0; i <= len(moves); i++ {
		snap, err := it.Next()
		if snap == nil {
			y.t.Fatal(err)
		}
		if snap.Exists() {
			states = append(states, snap.Data()["v"])
		} else {
			states = append(states, "gone")
		}
		if i < len(moves) {
			moves[i]()
		}
	}
	y.seen["watchDoc"] = states
}

func (y *yard) watchQuery() {
	ctx := y.t.Context()
	it := y.col.Where("watch", "<", 5).Snapshots(ctx)
	defer it.Stop()
	var rounds []string
	moves := []func(){
		func() { set(y.t, y.col.Doc("w1"), map[string]any{"watch": 1}) },
		func() { set(y.t, y.col.Doc("w2"), map[string]any{"watch": 0}) },
		func() { set(y.t, y.col.Doc("w1"), map[string]any{"watch": "out"}) },
		func() { must[*firestore.WriteResult](y.t)(y.col.Doc("w2").Delete(ctx)) },
	}
	for i := 0; i <= len(moves); i++ {
		snap := must[*firestore.QuerySnapshot](y.t)(it.Next())
		var shown, changes []string
		for _, d := range must[[]*firestore.DocumentSnapshot](y.t)(snap.Documents.GetAll()) {
			shown = append(shown, d.Ref.ID)
		}
		for _, c := range snap.Changes {
			changes = append(changes, [...]string{"added ", "removed ", "modified "}[c.Kind]+c.Doc.Ref.ID)
		}
		rounds = append(rounds, strings.Join(shown, " ")+"|"+strings.Join(changes, ","))
		if i < len(moves) {
			moves[i]()
		}
	}
	y.seen["watchQuery"] = rounds
}

// deleteAll does by hand what the Node client calls a recursive delete.
func (y *yard) deleteAll() {
	ctx := y.t.Context()
	group := y.c.CollectionGroup(y.root + "-sub")
	for _, q := range []firestore.Query{group.Query, y.c.CollectionGroup("other").Query, y.col.Query} {
		for _, d := range must[[]*firestore.DocumentSnapshot](y.t)(q.Documents(ctx).GetAll()) {
			must[*firestore.WriteResult](y.t)(d.Ref.Delete(ctx))
		}
	}
	y.seen["afterRecursiveDelete"] = len(must[[]*firestore.DocumentRef](y.t)(y.col.DocumentRefs(ctx).GetAll()))
	y.seen["groupAfterDelete"] = len(strings.Fields(ids(y.t, group.Query)))
}
