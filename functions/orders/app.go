package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

// Config is what the functions need to know. Its fields say the environment variable that FromEnv reads.
type Config struct {
	Project    string        // GOOGLE_CLOUD_PROJECT; required
	Collection string        // RUNONCE_COLLECTION; default "runonce"
	PaymentURL string        // PAYMENT_URL, the payment service; required
	MailURL    string        // MAIL_URL, the mail service; required
	Lease      time.Duration // RUNONCE_LEASE; default 30s
	Logger     *slog.Logger  // default slog.Default
}

// App serves the functions. It is safe for concurrent use.
type App struct {
	cfg   Config
	db    *firestore.Client
	store *guard.Firestore
	guard *guard.Guard
	http  *http.Client
	log   *slog.Logger
}

// New returns the functions over db. It fails on a configuration that could not work.
func New(db *firestore.Client, cfg Config) (*App, error) {
	for name, value := range map[string]string{"PAYMENT_URL": cfg.PaymentURL, "MAIL_URL": cfg.MailURL} {
		if u, err := url.Parse(value); err != nil || u.Host == "" {
			return nil, fmt.Errorf("%s is %q: set it to the service's address, as in https://payments.example", name, value)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	store := guard.NewFirestore(db, guard.FirestoreConfig{Collection: cfg.Collection})
	g, err := guard.New(store, guard.Config{Lease: cfg.Lease})
	if err != nil {
		return nil, fmt.Errorf("step guard: %w", err)
	}
	// What a guarded step calls can deduplicate too: the transport hands each state-changing request a token of its own.
	client := &http.Client{
		Transport: &tokens.Transport{Base: http.DefaultTransport, Token: guard.TokenFrom},
		Timeout:   20 * time.Second,
	}
	return &App{cfg: cfg, db: db, store: store, guard: g, http: client, log: cfg.Logger}, nil
}

// Handler serves all four functions, each under its name in lower case.
func (a *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reserve", a.Reserve)
	mux.HandleFunc("POST /charge", a.Charge)
	mux.HandleFunc("POST /ship", a.Ship)
	mux.Handle("POST /notify", a.notifyHandler())
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// FromEnv makes the functions from the environment. The Firestore client honours FIRESTORE_EMULATOR_HOST.
func FromEnv(ctx context.Context) (*App, error) {
	cfg := Config{
		Project:    os.Getenv("GOOGLE_CLOUD_PROJECT"),
		Collection: os.Getenv("RUNONCE_COLLECTION"),
		PaymentURL: os.Getenv("PAYMENT_URL"),
		MailURL:    os.Getenv("MAIL_URL"),
	}
	if cfg.Project == "" {
		return nil, errors.New("GOOGLE_CLOUD_PROJECT is not set: name the project whose Firestore holds the records")
	}
	if s := os.Getenv("RUNONCE_LEASE"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return nil, fmt.Errorf("RUNONCE_LEASE is %q: write a duration such as 30s", s)
		}
		cfg.Lease = d
	}
	db, err := firestore.NewClient(ctx, cfg.Project)
	if err != nil {
		return nil, fmt.Errorf("firestore client: %w", err)
	}
	app, err := New(db, cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return app, nil
}

// Close closes the Firestore client.
func (a *App) Close() error { return a.db.Close() }

// fromEnv is the one App of a deployed function, made at its first request: a function has no main of its own.
var fromEnv = sync.OnceValues(func() (*App, error) { return FromEnv(context.Background()) })

// The names by which a deployment picks its function (FUNCTION_TARGET).
func init() {
	functions.HTTP("Reserve", deployed((*App).Reserve))
	functions.HTTP("Charge", deployed((*App).Charge))
	functions.HTTP("Ship", deployed((*App).Ship))
	functions.HTTP("Notify", deployed(func(a *App, w http.ResponseWriter, r *http.Request) { a.notifyHandler().ServeHTTP(w, r) }))
}

func deployed(serve func(*App, http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		app, err := fromEnv()
		if err != nil {
			slog.ErrorContext(r.Context(), "function is not configured", "error", err)
			guard.WriteProblem(w, guard.Problem{Status: http.StatusInternalServerError, Code: "not-configured", Detail: "the function is not configured; its log says what is missing"})
			return
		}
		serve(app, w, r)
	}
}
