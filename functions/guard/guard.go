package guard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Config of a Guard. The zero value works.
type Config struct {
	// Lease is how long a claim lasts without being renewed; it is renewed every third of it. Default 30 s. A crash costs
	// at most this long, so it must be shorter than what the callers' retries span.
	Lease time.Duration
	// Margin is how much earlier than the store an attempt gives up its own lease. Default a tenth of the lease.
	Margin time.Duration
	// Retention is how long a record is kept at least, from its last write: longer than any retry chain above. Default 7 days.
	Retention time.Duration
	// MaxAttempts is after how many attempts a step that never finished counts as failed. Default 0: never.
	MaxAttempts int
	// MaxHistory is how many attempts a record remembers. Default 20.
	MaxHistory int
	// ReadFirst reads before it creates: one call less for a duplicate, one more for a fresh step. Default false.
	ReadFirst bool
	// Cache is how many finished outcomes this process remembers, so that a duplicate costs no call at all. Default 0: none.
	Cache int
	// Observer is told of every transition. Default none.
	Observer Observer
	// Clock is the local clock: timers, and stamps for people. No decision about another attempt reads it. Default the
	// real one.
	Clock Clock
	// NewID names attempts. Default 16 random bytes in hex.
	NewID func() string
}

// Clock is a local clock.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on its own goroutine once d has passed, unless stop is called first.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// MinLease is the shortest lease: below it, renewals would be most of what a step does.
const MinLease = 10 * time.Millisecond

// maxClaims bounds how often one call tries to claim while others change the record under it.
const maxClaims = 10

// Guard makes effects happen once per token. It is safe for concurrent use, and keeps no state between calls but its cache.
type Guard struct {
	store Store
	cfg   Config
	cache *cache
}

// New returns a guard over store. It fails on a configuration that could not hold the guard's promises.
func New(store Store, cfg Config) (*Guard, error) {
	if store == nil {
		return nil, errors.New("guard: no store")
	}
	cfg.Lease = orDefault(cfg.Lease, 30*time.Second)
	cfg.Margin = orDefault(cfg.Margin, cfg.Lease/10)
	cfg.Retention = orDefault(cfg.Retention, 7*24*time.Hour)
	if cfg.MaxHistory == 0 {
		cfg.MaxHistory = 20
	}
	if cfg.Clock == nil {
		cfg.Clock = wallClock{}
	}
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	switch {
	case cfg.Lease < MinLease:
		return nil, fmt.Errorf("guard: Lease is %s; set it to %s or more, or leave it zero for 30s", cfg.Lease, MinLease)
	case cfg.Lease%time.Millisecond != 0:
		return nil, fmt.Errorf("guard: Lease is %s; records keep whole milliseconds", cfg.Lease)
	case cfg.Margin < 0 || cfg.Margin >= cfg.Lease/2:
		return nil, fmt.Errorf("guard: Margin is %s; it must be less than half of the lease of %s", cfg.Margin, cfg.Lease)
	case cfg.Retention < cfg.Lease:
		return nil, fmt.Errorf("guard: Retention is %s; it must outlast the lease of %s and every retry above", cfg.Retention, cfg.Lease)
	case cfg.MaxAttempts < 0 || cfg.MaxHistory < 1 || cfg.Cache < 0:
		return nil, errors.New("guard: MaxAttempts and Cache must not be negative, and MaxHistory must be 1 or more")
	}
	return &Guard{store: store, cfg: cfg, cache: newCache(cfg.Cache)}, nil
}

// Get reads the record of a token, or returns ErrNotFound.
func (g *Guard) Get(ctx context.Context, token string) (Snapshot, error) {
	if err := (Request{Token: token}).check(); err != nil {
		return Snapshot{}, err
	}
	s, err := g.store.Get(ctx, token)
	if err != nil {
		return Snapshot{}, fmt.Errorf("get %s: %w", token, err)
	}
	return s, nil
}

// step is an effect without its type.
type step struct {
	Request
	do     func(context.Context, Attempt) (*Outcome, error)
	find   func(context.Context, Attempt) (*Outcome, bool, error)
	repeat Repeat
}

// done is a finished step: its record, and who did it.
type done struct {
	Record
	replayed, found bool
}

// run carries a step through claim, effect and finish.
func (g *Guard) run(ctx context.Context, s step) (done, error) {
	if err := s.check(); err != nil {
		return done{}, err
	}
	if err := lostAbove(ctx); err != nil {
		return done{}, fmt.Errorf("step %s: %w", s.Token, err) // a zombie starts nothing new (B21)
	}
	c, rec, err := g.claim(ctx, s)
	if err != nil {
		return done{Record: rec}, fmt.Errorf("claim %s: %w", s.Token, err)
	}
	if c == nil {
		return finished(rec, true, false)
	}
	found, err := c.perform(ctx, s)
	g.cache.put(c.rec)
	if err != nil {
		return done{Record: c.rec}, fmt.Errorf("step %s: %w", s.Token, err)
	}
	return finished(c.rec, found, found)
}

// finished turns a finished record into its outcome or its error.
func finished(rec Record, replayed, found bool) (done, error) {
	d := done{Record: rec, replayed: replayed, found: found}
	switch rec.Status {
	case Failed:
		f := &FailedError{}
		if rec.Failure != nil {
			f.Code, f.Message = rec.Failure.Code, rec.Failure.Message
		}
		return d, fmt.Errorf("step %s: %w", rec.Token, f)
	case Uncertain:
		return d, fmt.Errorf("step %s: %w", rec.Token, ErrUncertain)
	}
	return d, nil
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
