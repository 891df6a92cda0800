package engine

import (
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
)

// TestOrdersTemplate runs the sample workflow against four functions that each fail once, and wants every call to carry
// the same token again.
func TestOrdersTemplate(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../templates/orders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	calls := map[string]int{}
	once := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			token := r.Header.Get("Idempotency-Key")
			if calls[token]++; calls[token] == 1 {
				w.WriteHeader(code)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, body)
		}
	}
	o := runCase(t, string(source), `{"run_id": "r", "functions_url": "http://base.test",
		"order": {"id": "o", "email": "e@x.test", "currency": "EUR", "amount_cents": 5, "lines": [{"sku": "a", "quantity": 1}, {"sku": "a", "quantity": 2}]}}`,
		func(_ *Config, s *callee) {
			s.extra["/reserve"] = once(409, `{"reserved": true}`)
			s.extra["/charge"] = once(500, `{"charge_id": "c"}`)
			s.extra["/ship"] = once(503, `{"shipped": true}`)
			s.extra["/notify"] = once(429, `{"sent": true}`)
		})
	if o.err != nil {
		t.Fatal(o.err)
	}
	for _, token := range []string{"r/reserve", "r/charge", "r/ship/0", "r/ship/1", "r/notify"} {
		if calls[token] != 2 {
			t.Errorf("%s was sent %d times, want 2", token, calls[token])
		}
	}
	if len(calls) != 5 || o.seconds != 5 {
		t.Errorf("calls %v after %v s", calls, o.seconds)
	}
}
