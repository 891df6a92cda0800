package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/functions/guard"
)

// rpcs counts what a Firestore client sends, by an interceptor of its own.
type rpcs struct {
	mu   sync.Mutex
	list []string
}

func (r *rpcs) note(method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, path.Base(method))
}

// take returns the calls since the last take.
func (r *rpcs) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func (r *rpcs) options() []option.ClientOption {
	return []option.ClientOption{
		option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			r.note(method)
			return invoke(ctx, method, req, reply, cc, opts...)
		})),
		option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			r.note(method)
			return stream(ctx, desc, cc, method, opts...)
		})),
	}
}

// lab is a Firestore of a test's own with a guard on it.
type lab struct {
	*testing.T
	server *firestoretest.Server
	client *firestore.Client
	store  *guard.Firestore
	guard  *guard.Guard
	rpcs   *rpcs
}

func newLab(t *testing.T, mode firestoretest.Mode, cfg guard.Config) *lab {
	t.Helper()
	l := &lab{T: t, server: firestoretest.New(firestoretest.Config{Mode: mode}), rpcs: &rpcs{}}
	t.Cleanup(l.server.Close)
	var err error
	if l.client, err = firestore.NewClient(t.Context(), "test", append(l.server.ClientOptions(), l.rpcs.options()...)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.client.Close() })
	l.store = guard.NewFirestore(l.client, guard.FirestoreConfig{})
	if l.guard, err = guard.New(l.store, cfg); err != nil {
		t.Fatal(err)
	}
	return l
}

// again is a second process on the same store.
func (l *lab) again() *guard.Guard {
	l.Helper()
	g, err := guard.New(l.store, guard.Config{})
	if err != nil {
		l.Fatal(err)
	}
	return g
}

const labToken = "run/step"

// form is one of the ways to guard a step, here each adding 1 to a counter in Firestore.
type form struct {
	name string
	run  func(l *lab, g *guard.Guard) (guard.Result[int], error)
}

func (l *lab) counter() *firestore.DocumentRef { return l.client.Doc("shop/counter") }

// count reads the counter past every fault.
func (l *lab) count() int64 {
	l.Helper()
	l.server.Faults().Clear()
	doc, err := l.counter().Get(l.Context())
	if status.Code(err) == codes.NotFound {
		return 0
	}
	if err != nil {
		l.Fatal(err)
	}
	n, _ := doc.Data()["n"].(int64)
	return n
}

func blindWrite(l *lab, g *guard.Guard) (guard.Result[int], error) {
	return guard.Write(l.Context(), g, l.store, guard.Request{Token: labToken}, func(b *guard.Batch) (int, error) {
		b.Set(l.counter(), map[string]any{"n": firestore.Increment(1)}, firestore.MergeAll)
		return 7, nil
	})
}

func transaction(l *lab, g *guard.Guard) (guard.Result[int], error) {
	return guard.Tx(l.Context(), g, l.store, guard.Request{Token: labToken}, func(_ context.Context, tx *firestore.Transaction) (int, error) {
		n := int64(0)
		doc, err := tx.Get(l.counter())
		switch {
		case status.Code(err) == codes.NotFound:
		case err != nil:
			return 0, err
		default:
			n = doc.Data()["n"].(int64)
		}
		return 7, tx.Set(l.counter(), map[string]any{"n": n + 1})
	})
}

var forms = []form{{"Write", blindWrite}, {"Tx", transaction}}

// TestRPCs counts what each form costs, fresh and as a duplicate, by what the client sends. It prints the table.
func TestRPCs(t *testing.T) {
	t.Parallel()
	do := func(l *lab, g *guard.Guard) (guard.Result[int], error) {
		return guard.Do(l.Context(), g, guard.Effect[int]{Request: guard.Request{Token: labToken}, Do: func(context.Context, guard.Attempt) (int, error) { return 7, nil }})
	}
	handler := func(l *lab, g *guard.Guard) (guard.Result[int], error) {
		r := httptest.NewRequestWithContext(l.Context(), http.MethodPost, "/", nil)
		r.Header.Set(guard.TokenHeader, labToken)
		w := httptest.NewRecorder()
		guard.Handler(g, guard.HandlerConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, 7) })).ServeHTTP(w, r)
		return guard.Result[int]{Value: int(w.Body.Bytes()[0] - '0'), Replayed: w.Header().Get(guard.ReplayedHeader) == "true"}, nil
	}
	const begin, get, commit, rollback = "BeginTransaction", "BatchGetDocuments", "Commit", "Rollback"
	for _, row := range []struct {
		name             string
		cfg              guard.Config
		run              func(*lab, *guard.Guard) (guard.Result[int], error)
		fresh, duplicate []string
	}{
		{"Write", guard.Config{}, blindWrite, []string{commit}, []string{commit, get}},
		{"Tx with one read", guard.Config{}, transaction, []string{begin, get, get, commit}, []string{begin, get, rollback}},
		{"Do", guard.Config{}, do, []string{commit, commit}, []string{commit, get}},
		{"Do, cached", guard.Config{Cache: 1}, do, []string{commit, commit}, nil},
		{"Do, read first", guard.Config{ReadFirst: true}, do, []string{get, commit, commit}, []string{get}},
		{"Handler", guard.Config{}, handler, []string{commit, commit}, []string{commit, get}},
		{"Write, cached", guard.Config{Cache: 1}, blindWrite, []string{commit}, nil},
		{"Tx, cached", guard.Config{Cache: 1}, transaction, []string{begin, get, get, commit}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, firestoretest.Pessimistic, row.cfg)
			for i, want := range [][]string{row.fresh, row.duplicate} {
				got, err := row.run(l, l.guard)
				if err != nil || got.Value != 7 || got.Replayed != (i == 1) {
					t.Errorf("got %+v, %v", got, err)
				}
				calls := l.rpcs.take()
				if diff := cmp.Diff(want, calls); diff != "" {
					t.Errorf("call %d (-want +got):\n%s", i+1, diff)
				}
				t.Logf("%-17s %-9s %d: %s", row.name, []string{"fresh", "duplicate"}[i], len(calls), strings.Join(calls, " "))
			}
		})
	}
}
