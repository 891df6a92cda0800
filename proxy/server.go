package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	build "cloud.google.com/go/cloudbuild/apiv1/v2"
	"cloud.google.com/go/firestore"
	executions "cloud.google.com/go/workflows/executions/apiv1"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"example.com/runonce/functions/guard"
)

// Deps are what a test replaces. The zero value is for production: clients made from the configuration, the wall clock, a log on stderr.
type Deps struct {
	Firestore  *firestore.Client
	Executions *executions.Client
	Jobs       JobsClients
	Builds     *build.Client
	Clock      guard.Clock
	NewID      func() string
	Log        *slog.Logger
	Observer   guard.Observer
	// Meters and Tracers take the metrics and traces. nil: an exporter to Config.OTLPEndpoint, if that is set.
	Meters  metric.MeterProvider
	Tracers oteltrace.TracerProvider
	// KeyTransport fetches the issuer's keys. nil: http.DefaultTransport.
	KeyTransport http.RoundTripper
}

// Server is the proxy. Make it with New, serve with Run.
type Server struct {
	cfg      Config
	rules    []rule
	aliases  map[string]string
	db       *firestore.Client
	auth     *authenticator
	guard    *guard.Guard
	routes   []route
	limit    *limiter
	tel      *telemetry
	clock    guard.Clock
	log      *slog.Logger
	http     *http.Server
	listener net.Listener
	draining atomic.Bool
	stopWork context.CancelFunc
	closers  []func() error
}

// New checks the configuration, makes the clients and opens the port, so that Addr is known; connections wait until Run serves them.
func New(ctx context.Context, cfg Config, deps Deps) (*Server, error) {
	warnings, err := cfg.Validate()
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	cfg = cfg.WithDefaults()
	s := &Server{cfg: cfg, log: deps.Log, clock: deps.Clock, limit: newLimiter(cfg.MaxConcurrent)}
	if s.log == nil {
		s.log = NewLogger(os.Stderr, cfg.LogProject)
	}
	if s.clock == nil {
		s.clock = wallClock{}
	}
	for _, w := range warnings {
		s.log.WarnContext(ctx, "configuration: "+w)
	}
	if s.rules, err = parseRules(cfg.Targets); err != nil {
		return nil, err
	}
	if s.aliases, err = parseAliases(cfg.Aliases, s.rules); err != nil {
		return nil, err
	}
	s.auth = newAuthenticator(cfg.Auth, s.clock.Now, deps.KeyTransport)
	if s.tel, err = s.newTelemetry(ctx, deps); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.connect(ctx, deps); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen); err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), s.close())
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopWork = stop
	s.http = &http.Server{
		Handler: s.handler(), BaseContext: func(net.Listener) context.Context { return work },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: cfg.HandlerTimeout + 10*time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 96 << 10, // Cloud Scheduler sends up to 80 KB
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// Addr is where the server listens, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, then drains: no new connections, work in flight goes on for DrainTimeout, then its context is cancelled, so
// that its claims are released, and all is closed before the platform's ten seconds are over.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	s.log.InfoContext(ctx, "serving", "address", s.Addr())
	select {
	case err := <-failed:
		s.stopWork()
		return errors.Join(fmt.Errorf("serve: %w", err), s.close())
	case <-ctx.Done():
	}
	s.draining.Store(true)
	giveUp := time.AfterFunc(s.cfg.DrainTimeout, s.stopWork)
	defer giveUp.Stop()
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout+2*time.Second)
	defer cancel()
	err := s.http.Shutdown(wait)
	s.stopWork()
	if err != nil {
		err = errors.Join(fmt.Errorf("drain: %w", err), s.http.Close())
	}
	s.log.InfoContext(ctx, "drained")
	return errors.Join(err, s.close())
}

func (s *Server) close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
