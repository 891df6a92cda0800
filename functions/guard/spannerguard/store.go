package spannerguard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/spanner"
	"google.golang.org/grpc/codes"

	"example.com/runonce/functions/guard"
)

// Config shapes a Store. The zero value works.
type Config struct {
	// Table holds the records. Default "runonce". It goes into statements as it is.
	Table string
	// Retention is how long a record without ExpireAt is kept after its last write. Default 24 h.
	Retention time.Duration
	// Now is the clock that Retention counts from. Default time.Now.
	Now func() time.Time
	// NewVersion makes a name for each write, which must never come twice. Default: 128 random bits.
	NewVersion func() string
}

// Store is a guard.Store in Spanner. It is safe for concurrent use.
type Store struct {
	client *spanner.Client
	cfg    Config
}

var _ guard.Store = (*Store)(nil)

// New keeps records with client, in a table that Schema made.
func New(client *spanner.Client, cfg Config) *Store {
	if cfg.Table == "" {
		cfg.Table = "runonce"
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

// Create implements guard.Store: one insert, which Spanner refuses where the row is there.
func (s *Store) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	version, values, err := s.row(rec)
	if err != nil {
		return "", err
	}
	_, err = s.client.Apply(ctx, []*spanner.Mutation{spanner.Insert(s.cfg.Table, columns, values)})
	switch {
	case spanner.ErrCode(err) == codes.AlreadyExists:
		return "", guard.ErrExists
	case err != nil:
		return "", fmt.Errorf("spanner insert %s: %w", ID(rec.Token), err)
	}
	return version, nil
}

// Update implements guard.Store: the version is read and the row replaced in one serializable transaction.
func (s *Store) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	version, values, err := s.row(rec)
	if err != nil {
		return "", err
	}
	id, refused := ID(rec.Token), false
	_, err = s.client.ReadWriteTransaction(ctx, func(ctx context.Context, tx *spanner.ReadWriteTransaction) error {
		refused = false // the client runs this again where the transaction was aborted
		row, err := tx.ReadRow(ctx, s.cfg.Table, spanner.Key{id}, []string{"version"})
		if spanner.ErrCode(err) == codes.NotFound {
			refused = true
			return nil
		}
		if err != nil {
			return err
		}
		var now string
		if err := row.Column(0, &now); err != nil {
			return err
		}
		if refused = now != string(v); refused {
			return nil
		}
		return tx.BufferWrite([]*spanner.Mutation{spanner.Update(s.cfg.Table, columns, values)})
	})
	switch {
	case refused:
		return "", guard.ErrConflict // nothing was buffered, so nothing was written, whatever became of the commit
	case err != nil:
		return "", fmt.Errorf("spanner update %s: %w", id, err)
	}
	return version, nil
}

// Get implements guard.Store: one strong read, stamped with the timestamp at which Spanner read.
func (s *Store) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	id := ID(token)
	read := s.client.Single()
	row, err := read.ReadRow(ctx, s.cfg.Table, spanner.Key{id}, []string{"version", "updated_at", "record", "input", "body"})
	if spanner.ErrCode(err) == codes.NotFound {
		return guard.Snapshot{}, guard.ErrNotFound
	}
	if err != nil {
		return guard.Snapshot{}, fmt.Errorf("spanner read %s: %w", id, err)
	}
	at, err := read.Timestamp()
	if err != nil {
		return guard.Snapshot{}, fmt.Errorf("spanner read %s: its timestamp: %w", id, err)
	}
	var version, record string
	var updated time.Time
	var input, body []byte
	if err := row.Columns(&version, &updated, &record, &input, &body); err != nil {
		return guard.Snapshot{}, fmt.Errorf("spanner read %s: %w", id, err)
	}
	rec, err := decode(record, input, body)
	if err != nil {
		return guard.Snapshot{}, fmt.Errorf("spanner read %s: %w", id, err)
	}
	return guard.Snapshot{Record: rec, Version: guard.Version(version), UpdatedAt: updated, ReadAt: at}, nil
}

// row is rec as the values of columns, under a new version.
func (s *Store) row(rec guard.Record) (guard.Version, []any, error) {
	record, body, err := encode(rec)
	if err != nil {
		return "", nil, err
	}
	if len(body) > maxCell || len(rec.Input) > maxCell {
		return "", nil, guard.ErrTooLarge
	}
	expire := rec.ExpireAt
	if expire.IsZero() {
		expire = s.cfg.Now().Add(s.cfg.Retention)
	}
	version := s.cfg.NewVersion()
	return guard.Version(version), []any{
		ID(rec.Token), version, spanner.CommitTimestamp, expire.UTC(), rec.Token, string(rec.Status), rec.Fence, record, rec.Input, body,
	}, nil
}

// ID is the primary key of token's record: the token itself where it is a SHA-256 in hex already, else the token's
// SHA-256, so that writes are spread over the key space.
func ID(token string) string {
	if len(token) == 64 && strings.Trim(token, "0123456789abcdef") == "" {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
