package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/functions/guard"
)

// TestFirestoreBodies: around a document's limit and beyond, an outcome is replayed whole; the record stays one commit. B25.
func TestFirestoreBodies(t *testing.T) {
	t.Parallel()
	l := newLab(t, firestoretest.Pessimistic, guard.Config{})
	for _, size := range []int{0, 700<<10 - 2, 700 << 10, 1<<20 - 1, 1 << 20, 1<<20 + 1, 8<<20 - 2, 8 << 20} {
		e := guard.Effect[string]{
			Request: guard.Request{Token: fmt.Sprintf("run/%d", size), Input: make([]byte, 256<<10)},
			Do:      func(context.Context, guard.Attempt) (string, error) { return strings.Repeat("x", size), nil },
		}
		l.rpcs.take()
		first, err := guard.Do(t.Context(), l.guard, e)
		if err != nil || len(first.Value) != size || len(l.rpcs.take()) != 2 {
			t.Errorf("%d bytes: %d came back, %v", size, len(first.Value), err)
		}
		e.Do = func(context.Context, guard.Attempt) (string, error) {
			t.Errorf("%d bytes: ran again", size)
			return "", nil
		}
		again, err := guard.Do(t.Context(), l.guard, e)
		if kept := size+2 <= 8<<20; kept && (err != nil || again.Value != first.Value) || !kept && !errors.Is(err, guard.ErrNoResult) {
			t.Errorf("%d bytes: a duplicate got %d, %v", size, len(again.Value), err)
		}
	}
}

// TestGoldenRecords: the documents in testdata are read as the records beside them, and the other way round; Google's Python
// sample and this guard honour each other's. B14.
func TestGoldenRecords(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root(t), "functions", "guard", "testdata", "records.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Name, Token string
		Fields      map[string]any
		Record      guard.Record
		Theirs      bool
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	for _, row := range golden {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, firestoretest.Pessimistic, guard.Config{})
			fields := typed(t, row.Fields).(map[string]any)
			doc := l.store.Doc(row.Token)
			if _, err := doc.Set(t.Context(), fields); err != nil {
				t.Fatal(err)
			}
			snap, err := l.guard.Get(t.Context(), row.Token)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.Record, snap.Record); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if row.Theirs {
				if doc.ID != row.Token {
					t.Errorf("a run id is kept under %s, which the sample does not know", doc.ID)
				}
				return
			}
			if _, err := l.store.Update(t.Context(), snap.Version, row.Record); err != nil {
				t.Fatal(err)
			}
			got, err := doc.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fields, got.Data()); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

// typed turns the JSON of the golden documents into what Firestore holds.
func typed(t *testing.T, v any) any {
	switch v := v.(type) {
	case string:
		kind, text, _ := strings.Cut(v, ":")
		switch kind {
		case "time":
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			return at
		case "bytes":
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = typed(t, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = typed(t, v[k])
		}
	}
	return v
}

// sample is what Google's Python sample does to a document, in Go: claim in a transaction, by its own clock.
func sample(l *lab, runID, attempt string, now time.Time) (verdict string) {
	l.Helper()
	ref := l.store.Doc(runID)
	err := l.client.RunTransaction(l.Context(), func(_ context.Context, tx *firestore.Transaction) error {
		doc, err := tx.Get(ref)
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		if doc.Exists() {
			if doc.Data()["status"] == "completed" {
				verdict = "completed"
				return nil
			}
			if doc.Data()["lease_expires"].(time.Time).After(now) {
				verdict = "in_progress"
				return nil
			}
		}
		verdict = "claimed"
		return tx.Set(ref, map[string]any{"status": "in_progress", "attempt_id": attempt, "lease_expires": now.Add(5 * time.Minute), "expire_at": now.Add(24 * time.Hour)})
	})
	if err != nil {
		l.Fatal(err)
	}
	return verdict
}

// TestBesideTheSample: the guard and Google's Python sample on one collection, each finding what the other left.
func TestBesideTheSample(t *testing.T) {
	t.Parallel()
	runID := strings.Repeat("ab", 32)
	step := func(do func() error) guard.Effect[int] {
		return guard.Effect[int]{Request: guard.Request{Token: runID, Fingerprint: "f"}, Do: func(context.Context, guard.Attempt) (int, error) { return 1, do() }}
	}
	fine := func() error { return nil }
	t.Run("theirs first", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, firestoretest.Pessimistic, guard.Config{})
		if v := sample(l, runID, "python", l.server.Now()); v != "claimed" {
			t.Fatal(v)
		}
		var busy *guard.InProgressError
		if _, err := guard.Do(t.Context(), l.guard, step(fine)); !errors.As(err, &busy) || busy.RetryAfter <= 0 || busy.RetryAfter > 5*time.Minute {
			t.Errorf("their claim is alive: %v", err)
		}
		l.server.Advance(5 * time.Minute)
		if got, err := guard.Do(t.Context(), l.guard, step(fine)); err != nil || got.Fence != 2 || got.Replayed {
			t.Errorf("their claim ran out: %+v, %v", got, err)
		}
		if v := sample(l, runID, "python", l.server.Now().Add(24*time.Hour)); v != "completed" {
			t.Errorf("they find ours %s", v)
		}
	})
	t.Run("theirs completed", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, firestoretest.Pessimistic, guard.Config{})
		sample(l, runID, "python", l.server.Now())
		if _, err := l.store.Doc(runID).Update(t.Context(), []firestore.Update{{Path: "status", Value: "completed"}}); err != nil {
			t.Fatal(err)
		}
		if got, err := guard.Do(t.Context(), l.guard, step(func() error { t.Error("ran"); return nil })); err != nil || !got.Replayed || got.Value != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	for name, row := range map[string]struct {
		end  error
		want string
	}{"released": {errors.New("x"), "claimed"}, "failed": {guard.Permanent(errors.New("x")), "in_progress"}} {
		t.Run("ours "+name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, firestoretest.Pessimistic, guard.Config{})
			_, _ = guard.Do(t.Context(), l.guard, step(func() error {
				if v := sample(l, runID, "python", time.Now()); v != "in_progress" {
					t.Errorf("they find our live claim %s", v)
				}
				return row.end
			}))
			if v := sample(l, runID, "python", time.Now().Add(time.Second)); v != row.want {
				t.Errorf("they find it %s, want %s", v, row.want)
			}
		})
	}
}

// TestFencedSet: a zombie that was stopped inside its effect cannot undo what its successor wrote. B5.
func TestFencedSet(t *testing.T) {
	t.Parallel()
	l := newLab(t, firestoretest.Pessimistic, guard.Config{})
	ref := l.client.Doc("shop/order")
	old, successor := guard.Attempt{Token: labToken, Fence: 1}, guard.Attempt{Token: labToken, Fence: 2}
	for i, row := range []struct {
		by   guard.Attempt
		want error
		now  string
	}{{old, nil, "0"}, {old, nil, "1"}, {successor, nil, "2"}, {old, guard.ErrLost, "2"}, {successor, nil, "4"}, {guard.Attempt{Token: "another", Fence: 1}, nil, "5"}} {
		if err := l.store.FencedSet(t.Context(), ref, row.by, map[string]any{"by": fmt.Sprint(i), "runonce_fence": "mine"}); !errors.Is(err, row.want) {
			t.Errorf("write %d: %v, want %v", i, err, row.want)
		}
		doc, err := ref.Get(t.Context())
		if err != nil || doc.Data()["by"] != row.now {
			t.Errorf("after write %d: %v, %v", i, doc.Data(), err)
		}
	}
}

// TestTokensNeverMeet: a token that is the SHA-256 of another shares its document, and is refused.
func TestTokensNeverMeet(t *testing.T) {
	t.Parallel()
	l := newLab(t, firestoretest.Pessimistic, guard.Config{})
	if _, err := blindWrite(l, l.guard); err != nil {
		t.Fatal(err)
	}
	_, err := guard.Do(t.Context(), l.guard, guard.Effect[int]{Request: guard.Request{Token: l.store.Doc(labToken).ID}, Do: func(context.Context, guard.Attempt) (int, error) {
		t.Error("ran")
		return 0, nil
	}})
	if !errors.Is(err, guard.ErrBadToken) {
		t.Errorf("got %v", err)
	}
}

// TestNewerDocument: whatever a newer version wrote, in whatever types, is refused and left alone.
func TestNewerDocument(t *testing.T) {
	t.Parallel()
	l := newLab(t, firestoretest.Pessimistic, guard.Config{})
	if _, err := l.store.Doc(labToken).Set(t.Context(), map[string]any{"v": 2, "status": map[string]any{"new": true}, "fence": "two"}); err != nil {
		t.Fatal(err)
	}
	for _, f := range forms {
		if _, err := f.run(l, l.guard); !errors.Is(err, guard.ErrNewerSchema) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	if _, err := l.guard.Settle(t.Context(), labToken, guard.Settlement{Status: guard.Completed, Actor: "a", Reason: "r"}); !errors.Is(err, guard.ErrNewerSchema) {
		t.Errorf("Settle: %v", err)
	}
	if l.count() != 0 {
		t.Errorf("the counter is %d", l.count())
	}
}
