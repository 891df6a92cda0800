package guardtest

import (
	"context"
	"strconv"
	"sync"
	"time"

	"example.com/runonce/functions/guard"
)

// epoch is where clocks of this package start when nobody says otherwise.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Memory is a guard.Store in memory. Its server clock is its own: it stands still, or runs with Now, and Advance moves
// it on. Records go in and come out as deep copies. The zero value is ready; all methods may be called concurrently.
type Memory struct {
	// Now is what the server clock runs with. Nil: it stands, and only Advance moves it.
	Now func() time.Time

	mu      sync.Mutex
	offset  time.Duration
	writes  int64
	records map[string]stored
}

type stored struct {
	record  guard.Record
	version guard.Version
	updated time.Time
}

var _ guard.Store = (*Memory)(nil)

// Advance moves the server clock on by d.
func (m *Memory) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset += d
}

// Time is what the server clock shows.
func (m *Memory) Time() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

// Create implements guard.Store.
func (m *Memory) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.records[rec.Token]; ok {
		return "", guard.ErrExists
	}
	return m.put(rec), nil
}

// Get implements guard.Store.
func (m *Memory) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return guard.Snapshot{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.records[token]
	if !ok {
		return guard.Snapshot{}, guard.ErrNotFound
	}
	return guard.Snapshot{Record: Clone(s.record), Version: s.version, UpdatedAt: s.updated, ReadAt: m.now()}, nil
}

// Update implements guard.Store.
func (m *Memory) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.records[rec.Token]; !ok || s.version != v {
		return "", guard.ErrConflict
	}
	return m.put(rec), nil
}

// Delete removes a record without a condition, as a TTL policy does.
func (m *Memory) Delete(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, token)
}

// Put writes rec without a condition, as a program that knows nothing of the guard would.
func (m *Memory) Put(rec guard.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(rec)
}

// Len is how many records there are.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records)
}

// Writes is how many writes were applied since the start.
func (m *Memory) Writes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// put stores a copy of rec under a version that no record ever had.
func (m *Memory) put(rec guard.Record) guard.Version {
	if m.records == nil {
		m.records = map[string]stored{}
	}
	m.writes++
	v := guard.Version(strconv.FormatInt(m.writes, 10))
	m.records[rec.Token] = stored{record: Clone(rec), version: v, updated: m.now()}
	return v
}

func (m *Memory) now() time.Time {
	if m.Now == nil {
		return epoch.Add(m.offset)
	}
	return m.Now().Add(m.offset)
}
