package firestoretest

import (
	"context"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/runonce/e2e/fault"
)

// Server is a running Firestore. It is safe for use by several goroutines.
type Server struct {
	cfg   Config
	store *store
	lis   net.Listener
	grpc  *grpc.Server
	done  chan struct{} // closed when serving has ended
	rest  rest

	mu  sync.Mutex
	cut chan struct{} // closed to break the listen streams
}

// New starts a server, or panics as httptest.NewServer does when it cannot listen. Close it.
func New(cfg Config) *Server {
	s, err := Open(cfg)
	if err != nil {
		panic(err)
	}
	return s
}

// Open starts a server; the error says that it cannot listen, or cannot read Config.Dir.
func Open(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	st, err := openStore(cfg)
	if err != nil {
		return nil, fmt.Errorf("open firestore: %w", err)
	}
	lis, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("open firestore: %w", err)
	}
	s := &Server{cfg: cfg, store: st, lis: lis, done: make(chan struct{}), cut: make(chan struct{})}
	s.grpc = grpc.NewServer(
		grpc.ChainUnaryInterceptor(cfg.Faults.UnaryServer(), s.sweepUnary),
		grpc.ChainStreamInterceptor(cfg.Faults.StreamServer(), s.sweepStream),
		grpc.MaxRecvMsgSize(4*maxRequest), grpc.MaxSendMsgSize(math.MaxInt32),
	)
	pb.RegisterFirestoreServer(s.grpc, &service{store: st, cut: s.cutSignal})
	go func() {
		defer close(s.done)
		_ = s.grpc.Serve(lis) // ends with an error by Close, which is what is wanted
	}()
	return s, nil
}

// Close ends all calls and stops listening. With Config.Dir the documents are kept.
func (s *Server) Close() {
	s.BreakListens()
	s.rest.close()
	s.grpc.Stop()
	<-s.done
	_ = s.store.log.close() // every answered commit is on disk already
}

// Addr is host:port of the listener.
func (s *Server) Addr() string { return s.lis.Addr().String() }

// Env is the line that points any client library at this server: FIRESTORE_EMULATOR_HOST=host:port.
func (s *Server) Env() string { return "FIRESTORE_EMULATOR_HOST=" + s.Addr() }

// Faults is the plan that fails calls, and the log of all of them.
func (s *Server) Faults() *fault.Plan { return s.cfg.Faults }

// ClientOptions are what firestore.NewClient needs to talk to this server, whatever the environment says.
func (s *Server) ClientOptions() []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(s.Addr()),
		option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

// Client is a real client of the project's default database. The caller closes it; calls after Server.Close fail with UNAVAILABLE.
func (s *Server) Client(ctx context.Context, project string) (*firestore.Client, error) {
	conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("dial firestore: %w", err)
	}
	client, err := firestore.NewClient(ctx, project, option.WithGRPCConn(conn))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("make a firestore client: %w", err)
	}
	return client, nil
}

// Now is the server's time.
func (s *Server) Now() time.Time { return s.store.clock.now().time() }

// Advance moves the server's clock: transactions expire, and what a TTL policy has marked goes.
func (s *Server) Advance(d time.Duration) {
	s.store.clock.advance(d)
	s.store.sweep()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.locks.wake()
}

// BreakListens cuts every listen stream with UNAVAILABLE, as a front end of the service does now and then. Clients come back by themselves.
func (s *Server) BreakListens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

func (s *Server) cutSignal() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// sweepUnary and sweepStream let a moved clock take its effect before a call is served.
func (s *Server) sweepUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	s.store.sweep()
	return handler(ctx, req)
}

func (s *Server) sweepStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	s.store.sweep()
	return handler(srv, ss)
}
