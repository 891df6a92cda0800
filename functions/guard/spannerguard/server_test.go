package spannerguard

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"cloud.google.com/go/spanner/spannertest"
	"cloud.google.com/go/spanner/spansql"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.com/runonce/functions/guard"
)

// newStore starts spannertest and makes a store in it.
func newStore(t *testing.T, cfg Config) (*Store, *spanner.Client) {
	t.Helper()
	server, err := spannertest.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.SetLogger(func(string, ...any) {})
	ddl, err := spansql.ParseDDL("schema", Schema("runonce"))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.UpdateDDL(ddl); err != nil {
		t.Fatal(err)
	}
	client, err := spanner.NewClientWithConfig(t.Context(), "projects/p/instances/i/databases/d", spanner.ClientConfig{DisableNativeMetrics: true},
		option.WithEndpoint(server.Addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithStreamInterceptor(stampReads)),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return New(client, cfg), client
}

// stampReads adds the read timestamp that the service gives to a single read and spannertest leaves out.
func stampReads(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &stamped{ClientStream: stream}, nil
}

type stamped struct {
	grpc.ClientStream
	single bool
}

func (s *stamped) SendMsg(m any) error {
	if r, ok := m.(*spannerpb.ReadRequest); ok {
		s.single = r.GetTransaction().GetSingleUse() != nil
	}
	return s.ClientStream.SendMsg(m)
}

func (s *stamped) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if r, ok := m.(*spannerpb.PartialResultSet); ok && err == nil && s.single && r.GetMetadata().GetTransaction() != nil {
		r.Metadata.Transaction.ReadTimestamp = timestamppb.Now()
	}
	return err
}

// serial lets one call through at a time: the isolation that spannertest lacks.
type serial struct {
	mu    *sync.Mutex
	store guard.Store
}

func (s serial) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.Create(ctx, rec)
}

func (s serial) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.Get(ctx, token)
}

func (s serial) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.Update(ctx, v, rec)
}

// age makes every record older, which nobody can tell from time that has passed.
func (s serial) age(t *testing.T, client *spanner.Client, d time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var older []*spanner.Mutation
	err := client.Single().Read(t.Context(), "runonce", spanner.AllKeys(), []string{"id", "updated_at"}).Do(func(r *spanner.Row) error {
		var id string
		var at time.Time
		if err := r.Columns(&id, &at); err != nil {
			return err
		}
		older = append(older, spanner.Update("runonce", []string{"id", "updated_at"}, []any{id, at.Add(-d)}))
		return nil
	})
	if err == nil {
		_, err = client.Apply(t.Context(), older)
	}
	if err != nil {
		t.Fatal(err)
	}
}
