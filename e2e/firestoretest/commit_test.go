package firestoretest

import (
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

func TestPreconditions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, c := start(t, Config{})
	doc := c.Doc("runs/a")
	_, err := doc.Update(ctx, []firestore.Update{{Path: "n", Value: 1}})
	wantStatus(t, err, codes.NotFound, "No document to update: projects/demo/databases/(default)/documents/runs/a")

	created := must[*firestore.WriteResult](t)(doc.Create(ctx, map[string]any{"n": 1}))
	_, err = doc.Create(ctx, map[string]any{"n": 2})
	wantStatus(t, err, codes.AlreadyExists, "Document already exists: projects/demo/databases/(default)/documents/runs/a")

	updated := must[*firestore.WriteResult](t)(doc.Update(ctx, []firestore.Update{{Path: "n", Value: 2}}, firestore.LastUpdateTime(created.UpdateTime)))
	if !updated.UpdateTime.After(created.UpdateTime) {
		t.Errorf("update time %v is not after %v", updated.UpdateTime, created.UpdateTime)
	}
	_, err = doc.Update(ctx, []firestore.Update{{Path: "n", Value: 3}}, firestore.LastUpdateTime(created.UpdateTime))
	wantStatus(t, err, codes.FailedPrecondition, "does not match the required base version")
	_, err = doc.Delete(ctx, firestore.LastUpdateTime(created.UpdateTime))
	wantStatus(t, err, codes.FailedPrecondition, "does not match the required base version")
	must[*firestore.WriteResult](t)(doc.Delete(ctx, firestore.LastUpdateTime(updated.UpdateTime)))
	_, err = doc.Get(ctx)
	wantStatus(t, err, codes.NotFound, "")
	_, err = doc.Delete(ctx, firestore.Exists)
	wantStatus(t, err, codes.NotFound, "")
	must[*firestore.WriteResult](t)(doc.Delete(ctx))
}

func TestBatchIsAtomic(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, c := start(t, Config{})
	set(t, c.Doc("c/taken"), map[string]any{"v": 1})
	b := c.Batch() //lint:ignore SA1019 the only atomic way without a transaction
	b.Set(c.Doc("c/new"), map[string]any{"v": 1})
	b.Create(c.Doc("c/taken"), map[string]any{"v": 2})
	_, err := b.Commit(ctx)
	wantStatus(t, err, codes.AlreadyExists, "c/taken")
	_, err = c.Doc("c/new").Get(ctx)
	wantStatus(t, err, codes.NotFound, "")

	b = c.Batch() //lint:ignore SA1019 the only atomic way without a transaction
	b.Create(c.Doc("c/x"), map[string]any{"v": 1})
	b.Update(c.Doc("c/x"), []firestore.Update{{Path: "w", Value: 2}})
	b.Delete(c.Doc("c/taken"))
	b.Create(c.Doc("c/taken"), map[string]any{"v": 3})
	got := must[[]*firestore.WriteResult](t)(b.Commit(ctx))
	if !got[0].UpdateTime.Equal(got[1].UpdateTime) || !got[0].UpdateTime.Equal(got[3].UpdateTime) {
		t.Errorf("one commit has update times %v, %v and %v", got[0].UpdateTime, got[1].UpdateTime, got[3].UpdateTime)
	}
	x, taken := get(t, c.Doc("c/x")), get(t, c.Doc("c/taken"))
	if diff := cmp.Diff(map[string]any{"v": int64(1), "w": int64(2)}, x.Data()); diff != "" {
		t.Errorf("c/x (-want +got):\n%s", diff)
	}
	if !taken.CreateTime.Equal(got[3].UpdateTime) {
		t.Errorf("a document deleted and created again was created at %v, want %v", taken.CreateTime, got[3].UpdateTime)
	}
}

// A write that changes nothing keeps the update time, so a renewal must change a field.
func TestNoChangeKeepsUpdateTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, c := start(t, Config{})
	doc := c.Doc("c/a")
	first := set(t, doc, map[string]any{"v": 1, "m": map[string]any{"x": 1}})
	again := set(t, doc, map[string]any{"v": 1, "m": map[string]any{"x": 1}})
	part := must[*firestore.WriteResult](t)(doc.Update(ctx, []firestore.Update{{Path: "m.x", Value: 1}}))
	for _, r := range []*firestore.WriteResult{again, part} {
		if !r.UpdateTime.Equal(first.UpdateTime) {
			t.Errorf("update time %v of a write without change, want %v", r.UpdateTime, first.UpdateTime)
		}
	}
	if s := get(t, doc); !s.UpdateTime.Equal(first.UpdateTime) || !s.ReadTime.After(first.UpdateTime) {
		t.Errorf("read update time %v at %v, want %v", s.UpdateTime, s.ReadTime, first.UpdateTime)
	}
}

func TestMasksAndTransforms(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, c := start(t, Config{Clock: NewManual(epoch.Add(1234567 * time.Microsecond))})
	doc := c.Doc("c/a")
	set(t, doc, map[string]any{"n": 1, "f": 1.5, "list": []any{1, "a"}, "m": map[string]any{"keep": 1, "drop": 2}, "s": "text"})
	must[*firestore.WriteResult](t)(doc.Update(ctx, []firestore.Update{
		{Path: "n", Value: firestore.Increment(2)},
		{Path: "f", Value: firestore.Increment(1)},
		{Path: "s", Value: firestore.Increment(7)},
		{Path: "max", Value: firestore.FieldTransformMaximum(3)},
		{Path: "list", Value: firestore.ArrayUnion(1.0, "b", "b")},
		{Path: "m.drop", Value: firestore.Delete},
		{Path: "m.when", Value: firestore.ServerTimestamp},
		{FieldPath: firestore.FieldPath{"odd name", "x.y"}, Value: true},
	}))
	must[*firestore.WriteResult](t)(doc.Set(ctx, map[string]any{"list": firestore.ArrayRemove(1), "max": firestore.FieldTransformMinimum(2.5)}, firestore.MergeAll))
	want := map[string]any{
		"n": int64(3), "f": 2.5, "s": int64(7), "max": 2.5, "list": []any{"a", "b"},
		"m":        map[string]any{"keep": int64(1), "when": epoch.Add(1234 * time.Millisecond)},
		"odd name": map[string]any{"x.y": true},
	}
	if diff := cmp.Diff(want, get(t, doc).Data()); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestReadTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, c := start(t, Config{Clock: NewManual(epoch)})
	doc := c.Doc("c/a")
	var times []time.Time
	for i := range 3 {
		times = append(times, set(t, doc, map[string]any{"v": i}).UpdateTime)
		s.Advance(10 * time.Minute)
	}
	for i, at := range times {
		snap := must[*firestore.DocumentSnapshot](t)(doc.WithReadOptions(firestore.ReadTime(at)).Get(ctx))
		if got := snap.Data()["v"]; got != int64(i) || !snap.ReadTime.Equal(at) {
			t.Errorf("at %v read v=%v at %v, want %d", at, got, snap.ReadTime, i)
		}
	}
	must[*firestore.WriteResult](t)(doc.Delete(ctx))
	q := c.Collection("c").Where("v", ">=", 0)
	q.WithReadOptions(firestore.ReadTime(times[1]))
	docs := must[[]*firestore.DocumentSnapshot](t)(q.Documents(ctx).GetAll())
	if len(docs) != 1 || docs[0].Data()["v"] != int64(1) {
		t.Errorf("a query of the past found %d documents, want the one deleted since, with v=1", len(docs))
	}
	s.Advance(2 * time.Hour)
	_, err := c.Doc("c/a").WithReadOptions(firestore.ReadTime(times[1])).Get(ctx)
	wantStatus(t, err, codes.FailedPrecondition, "too old")
	_, err = c.Doc("c/a").WithReadOptions(firestore.ReadTime(s.Now().Add(time.Hour))).Get(ctx)
	wantStatus(t, err, codes.InvalidArgument, "future")
}

// Of a document that changes often only the newest versions can be read.
func TestFewVersions(t *testing.T) {
	t.Parallel()
	_, c := start(t, Config{Versions: 3})
	var times []time.Time
	for i := range 5 {
		times = append(times, set(t, c.Doc("c/a"), map[string]any{"v": i}).UpdateTime)
	}
	if v := must[*firestore.DocumentSnapshot](t)(c.Doc("c/a").WithReadOptions(firestore.ReadTime(times[2])).Get(t.Context())).Data()["v"]; v != int64(2) {
		t.Errorf("read v=%v, want 2", v)
	}
	_, err := c.Doc("c/a").WithReadOptions(firestore.ReadTime(times[1])).Get(t.Context())
	wantStatus(t, err, codes.FailedPrecondition, "too old")
}

// Times come from one clock: they rise strictly from commit to commit though the clock stands still or goes back.
func TestStampsRise(t *testing.T) {
	t.Parallel()
	clock := NewManual(epoch)
	_, c := start(t, Config{Clock: clock})
	doc := c.Doc("c/a")
	var last time.Time
	for i := range 5 {
		at := set(t, doc, map[string]any{"v": i}).UpdateTime
		if !at.After(last) || at.Nanosecond()%1000 != 0 {
			t.Errorf("commit %d at %v after one at %v", i, at, last)
		}
		if snap := get(t, doc); snap.ReadTime.Before(at) {
			t.Errorf("read at %v what was committed at %v", snap.ReadTime, at)
		} else {
			last = snap.ReadTime
		}
		clock.Set(epoch.Add(-time.Hour))
	}
}
