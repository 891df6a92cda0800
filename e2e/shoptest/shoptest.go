// Package shoptest is the outside world of the sample: a payment service and a mail service that keep a ledger of what
// they were asked and what they did.
//
// Payments honour Idempotency-Key, as card processors do: a second charge of one key is answered with the first. Mail
// does not: whatever is asked is sent. So the ledger shows both what a token saves and what only the guard can.
package shoptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Entry is one request that changed, or could have changed, the world.
type Entry struct {
	Kind  string // charge or mail
	Token string // Idempotency-Key; empty where the caller sent none
	Body  string
	Did   bool // false: a payment that was answered from the ledger
}

// Shop serves both services on one address of loopback.
type Shop struct {
	srv *httptest.Server

	mu      sync.Mutex
	entries []Entry
	charges map[string]map[string]any // by token
}

// New starts a shop. middleware, where it is not nil, stands before both services (faults, a log).
func New(middleware func(http.Handler) http.Handler) *Shop {
	s := &Shop{charges: map[string]map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", s.charge)
	mux.HandleFunc("GET /charges", s.find)
	mux.HandleFunc("POST /messages", s.mail)
	var h http.Handler = mux
	if middleware != nil {
		h = middleware(mux)
	}
	s.srv = httptest.NewServer(h)
	return s
}

// URL is where both services answer.
func (s *Shop) URL() string { return s.srv.URL }

// Close stops the shop.
func (s *Shop) Close() { s.srv.Close() }

// Ledger returns what was asked so far, in order.
func (s *Shop) Ledger() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// Effects counts what was really done, by kind.
func (s *Shop) Effects() map[string]int {
	n := map[string]int{}
	for _, e := range s.Ledger() {
		if e.Did {
			n[e.Kind]++
		}
	}
	return n
}

func (s *Shop) charge(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var charge map[string]any
	if err := json.Unmarshal(body, &charge); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	token := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	known, again := s.charges[token]
	again = again && token != ""
	if again {
		charge = known
	} else {
		charge["charge_id"] = fmt.Sprintf("ch_%d", len(s.entries)+1)
		s.charges[token] = charge
	}
	s.entries = append(s.entries, Entry{Kind: "charge", Token: token, Body: string(body), Did: !again})
	s.mu.Unlock()
	reply(w, charge)
}

func (s *Shop) find(w http.ResponseWriter, r *http.Request) {
	found := []map[string]any{}
	s.mu.Lock()
	if charge, ok := s.charges[r.URL.Query().Get("key")]; ok {
		found = append(found, charge)
	}
	s.mu.Unlock()
	reply(w, found)
}

func (s *Shop) mail(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.entries = append(s.entries, Entry{Kind: "mail", Token: r.Header.Get("Idempotency-Key"), Body: string(body), Did: true})
	id := fmt.Sprintf("mail_%d", len(s.entries))
	s.mu.Unlock()
	reply(w, map[string]any{"mail_id": id})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a caller that hung up is one of the cases that tests are about
}
