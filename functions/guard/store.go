package guard

import (
	"context"
	"errors"
	"time"
)

// Version names one write of one record, as the store spells it. It is opaque: only the store that gave it reads it.
type Version string

// Snapshot is a record as the store has it, with the store's own stamps.
type Snapshot struct {
	Record  Record
	Version Version
	// UpdatedAt is when the store took the record's last write, ReadAt when it answered this read.
	// Both are the store's clock, so their difference is the record's age whatever the callers' clocks say.
	UpdatedAt time.Time
	ReadAt    time.Time
}

// Store keeps one record per token. Every method is one atomic operation of the store.
//
// A write that returns [ErrExists] or [ErrConflict] was certainly not applied. Any other error of a write means that
// nobody knows: the caller reads before it does anything else.
type Store interface {
	// Create writes rec as the first record of rec.Token, or returns ErrExists and changes nothing.
	Create(ctx context.Context, rec Record) (Version, error)
	// Get reads the record of token, or returns ErrNotFound.
	Get(ctx context.Context, token string) (Snapshot, error)
	// Update replaces the record of rec.Token if its version still is v, or returns ErrConflict and changes nothing
	// (also where the record is gone). A record that differs from what is stored always gets a new version.
	Update(ctx context.Context, v Version, rec Record) (Version, error)
}

// What a store answers when it certainly did not write, or found nothing.
var (
	ErrExists   = errors.New("record exists")
	ErrConflict = errors.New("record changed since it was read")
	ErrNotFound = errors.New("no such record")
	// ErrTooLarge: the record is more than the store can hold, and was not written. After an effect the outcome's body is
	// left out, a tombstone; before it, nothing runs.
	ErrTooLarge = errors.New("record is too large for the store")
)
