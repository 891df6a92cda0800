package guard

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"
)

// mem is the smallest Store: a map. Its server clock is now, which is the bubble's in a synctest, plus ahead.
type mem struct {
	mu      sync.Mutex
	ahead   time.Duration
	n       int
	records map[string]Snapshot
	calls   []string
	// fault, if set, sees each call before it is carried out. lose: carry it out, and lose the answer.
	fault func(method string, n int) (err error, lose bool)
}

var errFault = errors.New("no answer")

func (m *mem) call(ctx context.Context, method string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, method)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if m.fault != nil {
		err, lose := m.fault(method, len(m.calls))
		if lose {
			_ = do()
		}
		if err != nil {
			return err
		}
	}
	return do()
}

func (m *mem) put(r Record) Version {
	m.n++
	now := time.Now().Add(m.ahead)
	r.Attempts = append([]AttemptEntry(nil), r.Attempts...)
	if m.records == nil {
		m.records = map[string]Snapshot{}
	}
	m.records[r.Token] = Snapshot{Record: r, Version: Version(strconv.Itoa(m.n)), UpdatedAt: now}
	return m.records[r.Token].Version
}

func (m *mem) Create(ctx context.Context, r Record) (v Version, err error) {
	return v, m.call(ctx, "create", func() error {
		if _, ok := m.records[r.Token]; ok {
			return ErrExists
		}
		v = m.put(r)
		return nil
	})
}

func (m *mem) Get(ctx context.Context, token string) (s Snapshot, err error) {
	err = m.call(ctx, "get", func() error {
		var ok bool
		if s, ok = m.records[token]; !ok {
			return ErrNotFound
		}
		s.ReadAt = time.Now().Add(m.ahead)
		return nil
	})
	return s, err
}

func (m *mem) Update(ctx context.Context, over Version, r Record) (v Version, err error) {
	return v, m.call(ctx, "update", func() error {
		if s, ok := m.records[r.Token]; !ok || s.Version != over {
			return ErrConflict
		}
		v = m.put(r)
		return nil
	})
}

// record reads past every fault.
func (m *mem) record(token string) Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[token].Record
}

func (m *mem) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += d
}

func (m *mem) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

func (m *mem) faults(f func(method string, n int) (error, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func newGuard(t testing.TB, s Store, cfg Config) *Guard {
	t.Helper()
	g, err := New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// effect is a step of that token that returns value and counts itself.
func effect(token, value string, count *int) Effect[string] {
	return Effect[string]{
		Request: Request{Token: token},
		Do:      func(context.Context, Attempt) (string, error) { *count++; return value, nil },
	}
}

// events is an observer that remembers kinds.
type events struct {
	mu    sync.Mutex
	kinds []Kind
}

func (e *events) Observe(_ context.Context, ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kinds = append(e.kinds, ev.Kind)
}

func (e *events) list() []Kind {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Kind(nil), e.kinds...)
}
