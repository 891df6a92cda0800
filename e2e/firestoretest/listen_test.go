package firestoretest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
)

// snapshots reads a query's snapshots in the background, each as "id=v id=v | changes".
func snapshots(t testing.TB, q firestore.Query) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	it := q.Snapshots(ctx)
	out := make(chan string, 16)
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		defer it.Stop()
		for {
			snap, err := it.Next()
			if err != nil {
				return
			}
			docs, err := snap.Documents.GetAll()
			if err != nil {
				return
			}
			var words []string
			for _, d := range docs {
				words = append(words, fmt.Sprintf("%s=%v", d.Ref.ID, d.Data()["v"]))
			}
			words = append(words, "|")
			for _, c := range snap.Changes {
				words = append(words, [...]string{"+", "-", "~"}[c.Kind]+c.Doc.Ref.ID)
			}
			out <- strings.Join(words, " ")
		}
	}()
	return out
}

func wantNext(t testing.TB, got <-chan string, want string) {
	t.Helper()
	select {
	case s := <-got:
		if s != want {
			t.Fatalf("got snapshot %q, want %q", s, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("no snapshot, want %q", want)
	}
}

func TestListenQuery(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, c := start(t, Config{})
	set(t, c.Doc("c/a"), map[string]any{"v": 1})
	set(t, c.Doc("other/x"), map[string]any{"v": 1})
	got := snapshots(t, c.Collection("c").Where("v", ">", 0).OrderBy("v", firestore.Asc).Limit(2))
	wantNext(t, got, "a=1 | +a")
	set(t, c.Doc("c/b"), map[string]any{"v": 3})
	wantNext(t, got, "a=1 b=3 | +b")
	set(t, c.Doc("other/x"), map[string]any{"v": 2})
	set(t, c.Doc("c/c"), map[string]any{"v": 2})
	wantNext(t, got, "a=1 c=2 | -b +c")
	set(t, c.Doc("c/a"), map[string]any{"v": 9})
	wantNext(t, got, "c=2 b=3 | -a +b")
	must[*firestore.WriteResult](t)(c.Doc("c/c").Delete(ctx))
	wantNext(t, got, "b=3 a=9 | -c +a")
	set(t, c.Doc("c/b"), map[string]any{"v": 4, "more": true})
	wantNext(t, got, "b=4 a=9 | ~b")

	// The stream breaks, documents change and go meanwhile, and the client comes back with its token.
	s.BreakListens()
	must[*firestore.WriteResult](t)(c.Doc("c/b").Delete(ctx))
	wantNext(t, got, "a=9 | -b")
	if n := s.Faults().Count("/Listen"); n != 2 {
		t.Errorf("%d listen streams, want the first and the resumed", n)
	}
}

func TestListenDocument(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, c := start(t, Config{})
	doc := c.Doc("c/a")
	it := doc.Snapshots(ctx)
	defer it.Stop()
	next := func() *firestore.DocumentSnapshot {
		t.Helper()
		snap, err := it.Next()
		if snap == nil {
			t.Fatal(err)
		}
		return snap
	}
	if next().Exists() {
		t.Error("the document exists before it was written")
	}
	w := set(t, doc, map[string]any{"v": 1})
	if snap := next(); snap.Data()["v"] != int64(1) || !snap.UpdateTime.Equal(w.UpdateTime) || snap.ReadTime.Before(w.UpdateTime) {
		t.Errorf("got %v, updated %v, read %v; want v=1, %v", snap.Data(), snap.UpdateTime, snap.ReadTime, w.UpdateTime)
	}
	must[*firestore.WriteResult](t)(doc.Delete(ctx))
	if next().Exists() {
		t.Error("the document exists after it was deleted")
	}
}

// A token that is older than what the server remembers starts the target anew.
func TestListenResetsOldTokens(t *testing.T) {
	t.Parallel()
	s, c := start(t, Config{Clock: NewManual(epoch)})
	set(t, c.Doc("c/a"), map[string]any{"v": 1})
	token := s.store.clock.read().token()
	s.Advance(2 * time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := raw(t, s).Listen(ctx)
	ok(t, err)
	target := &pb.Target{TargetId: 7, ResumeType: &pb.Target_ResumeToken{ResumeToken: token}, TargetType: &pb.Target_Documents{
		Documents: &pb.Target_DocumentsTarget{Documents: []string{docRoot + "c/a"}},
	}}
	ok(t, stream.Send(&pb.ListenRequest{Database: testDB, TargetChange: &pb.ListenRequest_AddTarget{AddTarget: target}}))
	var got []string
	for len(got) < 5 {
		r := must[*pb.ListenResponse](t)(stream.Recv())
		if r.GetDocumentChange() != nil {
			got = append(got, "document")
		} else {
			got = append(got, r.GetTargetChange().GetTargetChangeType().String())
		}
	}
	if s := strings.Join(got, " "); s != "ADD RESET document CURRENT NO_CHANGE" {
		t.Errorf("got %s", s)
	}
	target.TargetId = 8
	target.TargetType = &pb.Target_Documents{Documents: &pb.Target_DocumentsTarget{Documents: []string{"nonsense"}}}
	ok(t, stream.Send(&pb.ListenRequest{Database: testDB, TargetChange: &pb.ListenRequest_AddTarget{AddTarget: target}}))
	bad := must[*pb.ListenResponse](t)(stream.Recv()).GetTargetChange()
	if bad.GetTargetChangeType() != pb.TargetChange_REMOVE || codes.Code(bad.GetCause().GetCode()) != codes.InvalidArgument {
		t.Errorf("a bad target was answered %v, want REMOVE with a cause", bad)
	}
	ok(t, stream.Send(&pb.ListenRequest{Database: testDB, TargetChange: &pb.ListenRequest_RemoveTarget{RemoveTarget: 7}}))
	if r := must[*pb.ListenResponse](t)(stream.Recv()); r.GetTargetChange().GetTargetChangeType() != pb.TargetChange_REMOVE {
		t.Errorf("got %v, want REMOVE", r)
	}
}

// Documents that a TTL policy has marked are read until they are deleted late, and a listener hears of it.
func TestTTL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, c := start(t, Config{Clock: NewManual(epoch), TTL: []TTL{{Group: "runs", Field: "expire_at"}}})
	set(t, c.Doc("runs/a"), map[string]any{"v": 1, "expire_at": epoch.Add(time.Hour)})
	set(t, c.Doc("runs/later"), map[string]any{"v": 1, "expire_at": epoch.Add(time.Hour)})
	set(t, c.Doc("runs/later"), map[string]any{"v": 1, "expire_at": epoch.Add(100 * time.Hour)})
	set(t, c.Doc("other/a"), map[string]any{"v": 1, "expire_at": epoch.Add(time.Hour)})
	got := snapshots(t, c.Collection("runs").Query)
	wantNext(t, got, "a=1 later=1 | +a +later")
	s.Advance(24 * time.Hour)
	get(t, c.Doc("runs/a"))
	s.Advance(2 * time.Hour)
	wantNext(t, got, "later=1 | -a")
	_, err := c.Doc("runs/a").Get(ctx)
	wantStatus(t, err, codes.NotFound, "")
	get(t, c.Doc("runs/later"))
	get(t, c.Doc("other/a"))
}
