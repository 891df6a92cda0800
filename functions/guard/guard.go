package guard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config tunes a Guard. The zero value works.
type Config struct {
	// Lease is how long a claim lasts unless renewed; it is renewed at a third of it while the effect runs, so it bounds how
	// long a crashed attempt blocks the next one, not how long an effect may take. Default 30 s, at least MinLease.
	Lease time.Duration
	// Margin is how much earlier than the store the holder counts its lease as over, for clocks that run at different
	// speeds. Default a tenth of Lease; below half of it.
	Margin time.Duration
	// Retention is how long a record is kept after its last write, for a TTL policy on expire_at. It must exceed the
	// longest chain of retries of whoever calls. Default 7 days.
	Retention time.Duration
	// MaxAttempts is how many attempts may run the effect before the step is recorded as failed. Default 0: no limit.
	MaxAttempts int
	// MaxHistory is how many attempts a record's history keeps. Default 10.
	MaxHistory int
	// Cache is how many finished outcomes this process remembers, each for a minute at the most, so that a duplicate costs
	// no store call. Default 0: none.
	Cache int
	// ReadFirst reads before it claims: one call less for a duplicate, one more for a first attempt. Default false.
	ReadFirst bool
	// Observer hears of every transition. Default none.
	Observer Observer
	// Clock is the local clock: it counts the holder's own lease and drives renewal and waiting, never a decision about
	// another's claim. Default the system's.
	Clock Clock
	// NewID names an attempt; names must never repeat. Default 32 random hex digits.
	NewID func() string
}

// MinLease is the shortest lease: below it, renewals would be most of what a step does.
const MinLease = 10 * time.Millisecond

// Clock is the local time. Now must carry a monotonic reading where leases count, as time.Now does.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Guard runs steps once per token over one Store. It is safe for concurrent use.
type Guard struct {
	store Store
	cfg   Config
	cache *cache
}

// New returns a Guard over store. The error names the setting that cannot work.
func New(store Store, cfg Config) (*Guard, error) {
	if store == nil {
		return nil, errors.New("guard: no store")
	}
	setDefault(&cfg.Lease, 30*time.Second)
	setDefault(&cfg.Margin, cfg.Lease/10)
	setDefault(&cfg.Retention, 7*24*time.Hour)
	setDefault(&cfg.MaxHistory, 10)
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	cfg.Lease = cfg.Lease.Truncate(time.Millisecond) // the record's unit
	switch {
	case cfg.Lease < MinLease:
		return nil, fmt.Errorf("guard: Lease is %v; set it to %v or more, or leave it zero for 30s", cfg.Lease, MinLease)
	case cfg.Margin < 0 || cfg.Margin >= cfg.Lease/2:
		return nil, fmt.Errorf("guard: Margin is %v; it must be between 0 and half of the lease of %v", cfg.Margin, cfg.Lease)
	case cfg.Retention <= cfg.Lease:
		return nil, fmt.Errorf("guard: Retention is %v; it must exceed the lease of %v, and every retry of the callers", cfg.Retention, cfg.Lease)
	case cfg.MaxAttempts < 0 || cfg.MaxHistory < 0 || cfg.Cache < 0:
		return nil, fmt.Errorf("guard: MaxAttempts %d, MaxHistory %d, Cache %d; none may be negative", cfg.MaxAttempts, cfg.MaxHistory, cfg.Cache)
	}
	return &Guard{store: store, cfg: cfg, cache: newCache(cfg.Cache)}, nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Request says which step is meant and by whom it is asked.
type Request struct {
	// Token names the step: 1 to 255 bytes of printable ASCII, not blank. Required.
	Token string
	// Fingerprint tells requests of one token apart: another one is refused with ErrMismatch. Empty: not compared.
	Fingerprint string
	// Input is kept in the record, as the first claimant gave it, for whoever takes up the work: at most 256 KiB, no secrets.
	Input []byte
	// Wait is how long to wait for an attempt in progress, to replay its outcome or to take over, before ErrInProgress.
	// Default 0: not at all.
	Wait time.Duration
}

// Get reads the record of a token: ErrNotFound where there is none, ErrNewerSchema beside what could be read of a newer one.
func (g *Guard) Get(ctx context.Context, token string) (Snapshot, error) {
	if err := checkToken(token); err != nil {
		return Snapshot{}, err
	}
	snap, err := g.store.Get(ctx, token)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the record of %q: %w", token, err)
	}
	if snap.Record.Schema > schema {
		return snap, fmt.Errorf("read the record of %q: %w", token, ErrNewerSchema)
	}
	return snap, nil
}

const (
	// MaxToken is the longest token, in bytes.
	MaxToken = 255
	maxInput = 256 << 10
)

func checkToken(token string) error {
	switch {
	case strings.Trim(token, " ") == "":
		return fmt.Errorf("%w: it is empty or blank", ErrBadToken)
	case len(token) > MaxToken:
		return fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrBadToken, len(token), MaxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("%w: %q is not printable ASCII", ErrBadToken, token)
	}
	return nil
}

// admit refuses what must not even reach the store.
func (g *Guard) admit(ctx context.Context, r Request) error {
	if err := checkToken(r.Token); err != nil {
		return err
	}
	if len(r.Input) > maxInput {
		return fmt.Errorf("step %q: an input of %d bytes is too long to keep; %d are allowed", r.Token, len(r.Input), maxInput)
	}
	if err := holding(ctx); err != nil {
		return fmt.Errorf("step %q: %w", r.Token, err)
	}
	return ctx.Err()
}

// now is the local time as a record holds it.
func (g *Guard) now() time.Time { return g.cfg.Clock.Now().UTC().Truncate(time.Microsecond) }

// sleep waits for d, or less if ctx ends first.
func sleep(ctx context.Context, clock Clock, d time.Duration) error {
	done := make(chan struct{})
	stop := clock.AfterFunc(d, func() { close(done) })
	select {
	case <-done:
		return ctx.Err()
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}

// detach is a context for what must be said to the store even if the caller has gone. It ends after d on the guard's clock.
func (g *Guard) detach(ctx context.Context, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := g.cfg.Clock.AfterFunc(d, cancel)
	return ctx, func() { stop(); cancel() }
}
