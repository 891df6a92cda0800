package firestoretest

import (
	"context"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/runonce/e2e/fault"
)

// dial is a client of an address.
func dial(ctx context.Context, addr string) (*firestore.Client, error) {
	return firestore.NewClient(ctx, "demo", option.WithEndpoint(addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
}

func TestEndpointOption(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	c := must[*firestore.Client](t)(firestore.NewClient(t.Context(), "demo", s.ClientOptions()...))
	defer c.Close()
	set(t, c.Doc("c/a"), map[string]any{"v": 1})
	get(t, c.Doc("c/a"))
}

func TestEmulatorVariable(t *testing.T) {
	s, _ := start(t, Config{})
	name, value, _ := strings.Cut(s.Env(), "=")
	t.Setenv(name, value)
	c := must[*firestore.Client](t)(firestore.NewClient(t.Context(), "demo"))
	defer c.Close()
	set(t, c.Doc("c/a"), map[string]any{"v": 1})
	get(t, connect(t, s).Doc("c/a"))
	named := must[*firestore.Client](t)(firestore.NewClientWithDatabase(t.Context(), "demo", "second"))
	defer named.Close()
	_, err := named.Doc("c/a").Get(t.Context())
	wantStatus(t, err, codes.NotFound, "")
}

func TestFixedAddress(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	addr := s.Addr()
	s.Close()
	again, err := Open(Config{Addr: addr})
	if err != nil {
		t.Skipf("the port went to somebody else: %v", err)
	}
	defer again.Close()
	if again.Addr() != addr {
		t.Errorf("listens on %s, want %s", again.Addr(), addr)
	}
	if _, err := Open(Config{Addr: addr}); err == nil {
		t.Error("two servers listen on one address")
	}
}

func TestUnimplemented(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Config{})
	c := raw(t, s)
	p, err := c.ExecutePipeline(t.Context(), &pb.ExecutePipelineRequest{Database: testDB})
	ok(t, err)
	_, err = p.Recv()
	wantStatus(t, err, codes.Unimplemented, "ExecutePipeline")
	w, err := c.Write(t.Context())
	ok(t, err)
	_, err = w.Recv()
	wantStatus(t, err, codes.Unimplemented, "Write")
}

// A commit whose answer is lost was made, and the client's own retry meets it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	plan := &fault.Plan{}
	s, c := start(t, Config{Faults: plan})
	plan.Add(fault.Rule{Method: "/Commit", N: 1, Kind: fault.Lose})
	_, err := c.Doc("c/a").Create(t.Context(), map[string]any{"v": 1})
	wantStatus(t, err, codes.AlreadyExists, "c/a")
	plan.Add(fault.Rule{Method: "/Commit", N: 1, Kind: fault.Lose, Code: codes.DeadlineExceeded})
	_, err = c.Doc("c/b").Create(t.Context(), map[string]any{"v": 1})
	wantStatus(t, err, codes.DeadlineExceeded, "fault")
	get(t, c.Doc("c/b"))
	plan.Add(fault.Rule{Method: "/BatchGetDocuments", N: 1, Kind: fault.Abort})
	_, err = c.Doc("c/b").Get(t.Context())
	wantStatus(t, err, codes.Aborted, "")
	if n := s.Faults().Count("/Commit"); n != 3 {
		t.Errorf("%d commits in the log, want 3", n)
	}
}

// What the client makes of a commit of a transaction whose answer was lost: it is told the transaction is over, and tries again.
func TestLostAnswerInTransaction(t *testing.T) {
	t.Parallel()
	plan := &fault.Plan{}
	_, c := start(t, Config{Faults: plan})
	plan.Add(fault.Rule{Method: "/Commit", N: 1, Kind: fault.Lose})
	runs := 0
	ok(t, c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
		runs++
		return tx.Set(c.Doc("c/a"), map[string]any{"n": firestore.Increment(1)}, firestore.MergeAll)
	}))
	if n := get(t, c.Doc("c/a")).Data()["n"]; runs != 2 || n != int64(2) {
		t.Errorf("the function ran %d times and counted to %v; a blind increment is applied twice", runs, n)
	}
}
