package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	executions "cloud.google.com/go/workflows/executions/apiv1"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/e2e/idtokentest"
	"example.com/runonce/e2e/schedulertest"
	"example.com/runonce/e2e/shoptest"
	"example.com/runonce/e2e/workflowstest"
	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/orders"
	"example.com/runonce/proxy"
	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/templates"
)

// The names of the sample on this machine.
const (
	Project  = "runonce-demo"
	Location = "europe-west1"
	Job      = "nightly-order"
	Workflow = "projects/" + Project + "/locations/" + Location + "/workflows/orders"
	Account  = "scheduler@" + Project + ".iam.gserviceaccount.com"
	Audience = "https://proxy.runonce-demo.example"
	// Path is what the job calls: the API's own.
	Path = "/v1/" + Workflow + "/executions"
)

// Config of a Stack. The zero value works.
type Config struct {
	// Lease of runs and steps. Default 30 s.
	Lease time.Duration
	// FirestoreAddr and ProxyAddr are fixed addresses, host:port. Default: free ports.
	FirestoreAddr, ProxyAddr string
	// Log gets the logs of proxy and functions. Default: nowhere.
	Log io.Writer
	// Record is told what happens. Default: nobody.
	Record *Recorder
}

// Stack is everything, running.
type Stack struct {
	Store     *firestoretest.Server
	Workflows *workflowstest.Server
	Scheduler *schedulertest.Server
	Issuer    *idtokentest.Issuer
	Shop      *shoptest.Shop
	Front     *Front // the address that the job calls
	Functions string // URL
	DB        *firestore.Client

	// Faults of the Executions API, the functions and the shop; the store has its own (Store.Faults).
	ExecutionFaults, FunctionFaults, ShopFaults *fault.Plan

	cfg     Config
	url     string // of Front
	log     *slog.Logger
	closers []func() error
}

// Start brings the stack up with one proxy in this process. It is stopped by Close, also after an error.
func Start(ctx context.Context, cfg Config) (s *Stack, err error) {
	if cfg.Lease == 0 {
		cfg.Lease = 30 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	if cfg.Record == nil {
		cfg.Record = NewRecorder(nil)
	}
	s = &Stack{
		cfg: cfg, Front: &Front{}, log: proxy.NewLogger(cfg.Log, Project),
		ExecutionFaults: &fault.Plan{}, FunctionFaults: &fault.Plan{}, ShopFaults: &fault.Plan{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.Store = firestoretest.New(firestoretest.Config{Addr: cfg.FirestoreAddr})
	s.closing(s.Store.Close)
	s.Issuer = idtokentest.New(idtokentest.Config{Email: Account, Project: Project})
	s.closing(s.Issuer.Close)
	s.Shop = shoptest.New(func(next http.Handler) http.Handler { return s.ShopFaults.HTTP(cfg.Record.shop(next)) })
	s.closing(s.Shop.Close)
	if s.DB, err = s.Store.Client(ctx, Project); err != nil {
		return s, fmt.Errorf("store client: %w", err)
	}
	s.closers = append(s.closers, s.DB.Close)
	if err := s.startFunctions(); err != nil {
		return s, err
	}
	if err := s.startWorkflows(ctx); err != nil {
		return s, err
	}
	p, err := s.StartProxy(ctx, cfg.ProxyAddr)
	if err != nil {
		return s, err
	}
	front := httptest.NewServer(s.Front)
	s.closing(front.Close)
	s.url = front.URL
	s.Front.Set("http://" + p.Addr())
	s.Scheduler = schedulertest.New(schedulertest.Config{
		Project: Project, Location: Location, Short: true,
		IDToken: func(_ context.Context, email, audience string) (string, error) {
			return s.Issuer.Token(idtokentest.Claims{Audience: audience, Email: email}), nil
		},
		OnAttempt: cfg.Record.delivery,
	})
	s.closing(s.Scheduler.Close)
	return s, nil
}

func (s *Stack) closing(f func()) { s.closers = append(s.closers, func() error { f(); return nil }) }

// Close stops everything, the last started first.
func (s *Stack) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// URL is the address of the proxies, as the job calls it.
func (s *Stack) URL() string { return s.url }

func (s *Stack) startFunctions() error {
	app, err := orders.New(s.DB, orders.Config{
		Project: Project, PaymentURL: s.Shop.URL(), MailURL: s.Shop.URL(), Lease: s.cfg.Lease, Logger: s.log,
	})
	if err != nil {
		return fmt.Errorf("functions: %w", err)
	}
	srv := httptest.NewServer(s.cfg.Record.lost(s.FunctionFaults.HTTP(s.cfg.Record.calls(app.Handler()))))
	s.closing(srv.Close)
	s.Functions = srv.URL
	return nil
}

func (s *Stack) startWorkflows(ctx context.Context) error {
	s.Workflows = workflowstest.New(workflowstest.Config{
		Faults: s.ExecutionFaults, Auth: s.Issuer, Engine: engine.Config{Endpoints: map[string]string{"firestore": s.Store.URL()}},
	})
	s.closing(s.Workflows.Close)
	source, err := templates.FS.ReadFile("orders.yaml")
	if err != nil {
		return fmt.Errorf("sample workflow: %w", err)
	}
	if err := s.Workflows.Deploy(ctx, Workflow, source, workflowstest.Deployment{Env: map[string]string{"ORDERS_URL": s.Functions}}); err != nil {
		return fmt.Errorf("deploy the sample workflow: %w", err)
	}
	return nil
}

// ProxyConfig is the configuration of every proxy of the stack.
func (s *Stack) ProxyConfig(addr string) proxy.Config {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return proxy.Config{
		Listen: addr, Project: Project, Targets: []string{Workflow}, ExecutionsEndpoint: s.Workflows.Addr(), LogProject: Project,
		Lease: s.cfg.Lease, Grace: 100 * time.Millisecond, DrainTimeout: time.Second,
		Auth: proxy.Auth{
			AuthMode: proxy.ModeVerify, AuthAudiences: []string{Audience}, AuthAccounts: []string{Account}, AuthJWKSURL: s.Issuer.JWKSURL(),
		},
	}
}

// StartProxy starts one more proxy in this process, behind no address of the job until Front.Set names it.
func (s *Stack) StartProxy(ctx context.Context, addr string) (*proxy.Server, error) {
	db, err := s.Store.Client(ctx, Project)
	if err != nil {
		return nil, fmt.Errorf("store client: %w", err)
	}
	var observer guard.Observer = s.cfg.Record
	p, err := proxy.New(ctx, s.ProxyConfig(addr), proxy.Deps{Firestore: db, Log: s.log, Observer: observer})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("proxy: %w", err), db.Close())
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(run) }()
	s.closers = append(s.closers, sync.OnceValue(func() error {
		stop()
		return errors.Join(<-ended, db.Close())
	}))
	return p, nil
}

// ExecutionsClient is a client of the Executions API, as the proxy has it.
func (s *Stack) ExecutionsClient(ctx context.Context) (*executions.Client, error) {
	return s.Workflows.Client(ctx)
}

// Stock puts units of a sku on hand.
func (s *Stack) Stock(ctx context.Context, sku string, units int64) error {
	_, err := s.DB.Collection("stock").Doc(orders.StockID(sku)).Set(ctx, orders.Stock{OnHand: units})
	if err != nil {
		return fmt.Errorf("stock %s: %w", sku, err)
	}
	return nil
}

// ChildEnv marks a process that is a proxy of somebody's stack. Its value is the proxy's address.
const ChildEnv = "RUNONCE_CHILD_PROXY"

// freeAddr is an address of loopback that nobody listened on a moment ago.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// IsChild reports whether this process was started by StartChild; then it must call Child and nothing else.
func IsChild() bool { return os.Getenv(ChildEnv) != "" }
