package redisguard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/runonce/functions/guard"
)

// Config shapes a Store. The zero value works.
type Config struct {
	// Prefix of every key. Default "runonce:".
	Prefix string
	// Retention is how long a record is kept at the least after its last write. Default 24 h. It must outlast the last
	// possible retry of what it guards. A record whose ExpireAt lies further ahead is kept until then.
	Retention time.Duration
	// Now is the clock that ExpireAt is held against: that of the guard in this process. Default time.Now.
	Now func() time.Time
	// NewVersion makes a name for each write, which must never come twice. Default: 128 random bits.
	NewVersion func() string
}

// Store is a guard.Store in Redis.
type Store struct {
	client redis.Cmdable
	cfg    Config
}

var _ guard.Store = (*Store)(nil)

// New keeps records with client, which may be a *redis.Client, a *redis.ClusterClient or a *redis.Ring.
// The client's own retries are safe: a script that runs twice under one version name answers as if it had run once.
func New(client redis.Cmdable, cfg Config) *Store {
	if cfg.Prefix == "" {
		cfg.Prefix = "runonce:"
	}
	if cfg.Retention <= 0 {
		cfg.Retention = 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewVersion == nil {
		cfg.NewVersion = rand.Text
	}
	return &Store{client: client, cfg: cfg}
}

// Create implements guard.Store.
func (s *Store) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	return s.write(ctx, createScript, "", rec, guard.ErrExists)
}

// Update implements guard.Store.
func (s *Store) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	return s.write(ctx, updateScript, v, rec, guard.ErrConflict)
}

func (s *Store) write(ctx context.Context, script *redis.Script, old guard.Version, rec guard.Record, refusal error) (guard.Version, error) {
	key := s.Key(rec.Token)
	body, err := encode(rec)
	if err != nil {
		return "", fmt.Errorf("redis write %s: %w", key, err)
	}
	next := s.cfg.NewVersion()
	done, err := script.Run(ctx, s.client, []string{key}, next, body, s.ttl(rec).Milliseconds(), string(old)).Bool()
	if err != nil {
		return "", fmt.Errorf("redis write %s: %w", key, err)
	}
	if !done {
		return "", refusal
	}
	return guard.Version(next), nil
}

// ttl is a duration on one process's clock, so that no two clocks meet.
func (s *Store) ttl(rec guard.Record) time.Duration {
	return max(s.cfg.Retention, rec.ExpireAt.Sub(s.cfg.Now()))
}

// Get implements guard.Store.
func (s *Store) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	key := s.Key(token)
	answer, err := getScript.Run(ctx, s.client, []string{key}).StringSlice()
	if errors.Is(err, redis.Nil) {
		return guard.Snapshot{}, guard.ErrNotFound
	}
	if err != nil {
		return guard.Snapshot{}, fmt.Errorf("redis get %s: %w", key, err)
	}
	snap, err := snapshot(answer)
	if err != nil {
		return guard.Snapshot{}, fmt.Errorf("redis get %s: %w", key, err)
	}
	return snap, nil
}

// snapshot reads what getScript answers: version, record, seconds and microseconds of the last write and of this read.
func snapshot(answer []string) (guard.Snapshot, error) {
	if len(answer) != 6 {
		return guard.Snapshot{}, fmt.Errorf("the script answered %d values, want 6", len(answer))
	}
	rec, err := decode([]byte(answer[1]))
	if err != nil {
		return guard.Snapshot{}, err
	}
	updated, err := stamp(answer[2], answer[3])
	if err != nil {
		return guard.Snapshot{}, err
	}
	read, err := stamp(answer[4], answer[5])
	if err != nil {
		return guard.Snapshot{}, err
	}
	return guard.Snapshot{Record: rec, Version: guard.Version(answer[0]), UpdatedAt: updated, ReadAt: read}, nil
}

func stamp(seconds, micros string) (time.Time, error) {
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("server time: %w", err)
	}
	us, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("server time: %w", err)
	}
	return time.Unix(s, us*1000).UTC(), nil
}

// Key is the Redis key of token's record: the prefix, then the token itself where it is a SHA-256 in hex already, else
// the token's SHA-256, as guard names its documents.
func (s *Store) Key(token string) string {
	if len(token) == 64 && strings.Trim(token, "0123456789abcdef") == "" {
		return s.cfg.Prefix + token
	}
	sum := sha256.Sum256([]byte(token))
	return s.cfg.Prefix + hex.EncodeToString(sum[:])
}

// Check asks the server whether it may forget records: it is an error if maxmemory-policy is anything but noeviction.
// Call it once at start-up. On a cluster it asks one node.
func (s *Store) Check(ctx context.Context) error {
	info, err := s.client.Info(ctx, "memory").Result()
	if err != nil {
		return fmt.Errorf("redis info: %w", err)
	}
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok && policy != "noeviction" {
			return fmt.Errorf("redis evicts records: maxmemory-policy is %s, want noeviction", policy)
		}
	}
	return nil
}
