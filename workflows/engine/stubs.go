package engine

import (
	"context"
	"maps"
	"sync"
)

// Stubs are connectors that keep their state in memory and answer as the APIs do, for runs without a cloud: a name that is
// taken is 409, one that is missing 404, a failed precondition 412 (Cloud Storage) or 400 (Firestore). They record every
// call. Make one with NewStubs and pass Connectors() as Config.Connectors; several executions may share one.
type Stubs struct {
	mu    sync.Mutex
	calls []StubCall
	names map[string]map[string]any // resources by API and name
	count int                       // of generated ids
}

// StubCall is one call that a stub was asked.
type StubCall struct {
	Name string
	Args map[string]any
	Err  error // what it answered with
}

// NewStubs returns stubs that know nothing yet.
func NewStubs() *Stubs { return &Stubs{names: map[string]map[string]any{}} }

// Calls returns the calls so far, in order. Each attempt of the built-in retry is one.
func (s *Stubs) Calls() []StubCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]StubCall(nil), s.calls...)
}

// SetSecret makes a secret version that secretmanager access answers with. name is the version's resource name.
func (s *Stubs) SetSecret(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names["secret "+name] = map[string]any{"name": name, "data": data}
}

// Connectors returns the stubs by connector name.
func (s *Stubs) Connectors() map[string]Connector {
	all := map[string]Connector{}
	for _, table := range []map[string]stub{bigqueryStubs, cloudtasksStubs, firestoreStubs, pubsubStubs, secretStubs, storageStubs} {
		for name, answer := range table {
			all[name] = s.connector(answer)
		}
	}
	return all
}

// stub answers a call; the lock is held.
type stub func(s *Stubs, c ConnectorCall) (any, error)

func (s *Stubs) connector(answer stub) Connector {
	return func(_ context.Context, c ConnectorCall) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		value, err := answer(s, c)
		s.calls = append(s.calls, StubCall{Name: c.Name, Args: maps.Clone(c.Args), Err: err})
		return value, err
	}
}

func (s *Stubs) nextID() int64 {
	s.count++
	return int64(s.count)
}

// keep stores a resource under a name that must be free.
func (s *Stubs) keep(kind, name string, resource map[string]any) (any, error) {
	if s.names[kind+" "+name] != nil {
		return nil, APIError(409, "ALREADY_EXISTS", "Already exists: "+name)
	}
	s.names[kind+" "+name] = resource
	return resource, nil
}

func (s *Stubs) find(kind, name string) (any, error) {
	if r := s.names[kind+" "+name]; r != nil {
		return r, nil
	}
	return nil, APIError(404, "NOT_FOUND", "Not found: "+name)
}

// argText reads a string argument that must be there.
func argText(c ConnectorCall, name string) (string, error) {
	text, ok := c.Args[name].(string)
	if !ok || text == "" {
		return "", APIError(400, "INVALID_ARGUMENT", "missing "+name)
	}
	return text, nil
}

func argMap(c ConnectorCall, name string) map[string]any {
	m, _ := c.Args[name].(map[string]any)
	return m
}
