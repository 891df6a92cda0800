package model

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"time"

	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/guard/guardtest"
)

// server is the one store of a world. It knows who writes, and holds every write that was applied to the protocol.
type server struct {
	memory   *guardtest.Memory
	store    guard.Store // memory, or something broken around it
	seed     maphash.Seed
	contents map[guard.Version]uint64
	violated []string
}

func newServer(seed maphash.Seed, spoil func(guard.Store) guard.Store) *server {
	start, began := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), time.Now()
	m := &guardtest.Memory{Now: func() time.Time { return start.Add(time.Since(began)) }} // each run's time starts anew
	s := &server{memory: m, store: m, seed: seed, contents: map[guard.Version]uint64{}}
	if spoil != nil {
		s.store = spoil(m)
	}
	return s
}

func (s *server) get(token string) reply {
	snap, err := s.store.Get(context.Background(), token)
	return reply{snap: snap, err: err}
}

func (s *server) create(by *actor, rec guard.Record) reply {
	before, found := s.truth(rec.Token)
	v, err := s.store.Create(context.Background(), rec)
	if err == nil {
		s.applied(by, before, found, v, rec)
	}
	return reply{version: v, err: err}
}

func (s *server) update(by *actor, old guard.Version, rec guard.Record) reply {
	before, found := s.truth(rec.Token)
	v, err := s.store.Update(context.Background(), old, rec)
	if err == nil {
		s.applied(by, before, found, v, rec)
	}
	return reply{version: v, err: err}
}

// truth reads past whatever is broken.
func (s *server) truth(token string) (guard.Snapshot, bool) {
	snap, err := s.memory.Get(context.Background(), token)
	return snap, err == nil
}

func (s *server) applied(by *actor, before guard.Snapshot, found bool, v guard.Version, rec guard.Record) {
	by.writes++
	body, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	s.contents[v] = maphash.Bytes(s.seed, body)
	if problem := judge(by, before, found, rec); problem != "" {
		s.violated = append(s.violated, fmt.Sprintf("%s wrote: %s", by.name, problem))
	}
}

// judge says what is wrong with a write that the store applied. It knows the record before it and the server's time.
func judge(by *actor, before guard.Snapshot, found bool, rec guard.Record) string {
	old := before.Record
	switch {
	case !by.owns(rec.AttemptID) && rec.Status != guard.Uncertain:
		return fmt.Sprintf("a record of attempt %s, which is not its own", rec.AttemptID)
	case !found && rec.Fence != 1:
		return fmt.Sprintf("a first record with fence %d", rec.Fence)
	case !found:
		return ""
	case old.Status == guard.Completed || old.Status == guard.Failed:
		return fmt.Sprintf("over a record that was %s", old.Status)
	case rec.Fence < old.Fence || rec.Fence > old.Fence+1:
		return fmt.Sprintf("fence %d over fence %d", rec.Fence, old.Fence)
	case rec.Fence == old.Fence && rec.AttemptID != old.AttemptID:
		return fmt.Sprintf("attempt %s over attempt %s without a new fence", rec.AttemptID, old.AttemptID)
	case !by.owns(old.AttemptID) && alive(before):
		return fmt.Sprintf("over attempt %s, whose lease was alive", old.AttemptID)
	case old.Status == guard.Uncertain:
		return "over an uncertain record, which only an operator settles"
	}
	return ""
}

// alive is the rule of the design, spelled again here on purpose: the server's age of the record against its lease.
func alive(s guard.Snapshot) bool {
	return s.Record.Lease != nil && s.ReadAt.Sub(s.UpdatedAt) < *s.Record.Lease
}

// state is what of the server a caller can tell apart.
func (s *server) state() string {
	snap, found := s.truth(token)
	return fmt.Sprint(found, snap.Version, s.contents[snap.Version], snap.UpdatedAt.UnixNano(), s.memory.Time().UnixNano())
}

const lease = 30 * time.Second
