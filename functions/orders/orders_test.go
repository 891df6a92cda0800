package orders

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/e2e/shoptest"
)

// world is the functions with a store and a shop of a test's own.
type world struct {
	t      *testing.T
	db     *firestore.Client
	shop   *shoptest.Shop
	faults *fault.Plan // of the shop
	url    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store := firestoretest.New(firestoretest.Config{})
	t.Cleanup(store.Close)
	db, err := store.Client(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	w := &world{t: t, db: db, faults: &fault.Plan{}}
	w.shop = shoptest.New(w.faults.HTTP)
	t.Cleanup(w.shop.Close)
	app, err := New(db, Config{PaymentURL: w.shop.URL(), MailURL: w.shop.URL(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(app.Handler())
	t.Cleanup(srv.Close)
	w.url = srv.URL
	if _, err := db.Collection("stock").Doc(StockID("lamp")).Set(t.Context(), Stock{OnHand: 5}); err != nil {
		t.Fatal(err)
	}
	return w
}

type reply struct {
	status   int
	body     string
	replayed bool
}

func (w *world) call(function, token, body string) reply {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/"+function, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Idempotency-Key", token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{resp.StatusCode, string(b), resp.Header.Get("Idempotent-Replayed") == "true"}
}

func (w *world) onHand(ctx context.Context) int64 {
	w.t.Helper()
	doc, err := w.db.Collection("stock").Doc(StockID("lamp")).Get(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	var s Stock
	if err := doc.DataTo(&s); err != nil {
		w.t.Fatal(err)
	}
	return s.OnHand
}

var bodies = map[string]string{
	"reserve": `{"order_id":"A-1","lines":[{"sku":"lamp","quantity":1},{"sku":"lamp","quantity":1}]}`,
	"charge":  `{"order_id":"A-1","amount_cents":4990,"currency":"EUR"}`,
	"ship":    `{"order_id":"A-1","sku":"lamp","quantity":1}`,
	"notify":  `{"order_id":"A-1","email":"ada@example.com","charge_id":"ch_1"}`,
}

// Each function changes the world once for a token, answers a duplicate with the same bytes, and refuses another request
// under that token. R8, R20, R21; B10, B26.
func TestOncePerToken(t *testing.T) {
	t.Parallel()
	for function, body := range bodies {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			token := "run-1/" + function
			first := w.call(function, token, body)
			if first.status != http.StatusOK || first.replayed {
				t.Fatalf("first: got %+v", first)
			}
			again := w.call(function, token, body)
			if again.status != first.status || again.body != first.body || !again.replayed {
				t.Errorf("again: got %+v, want a replay of %+v", again, first)
			}
			other := strings.Replace(body, "A-1", "A-2", 1)
			if got := w.call(function, token, other); got.status != http.StatusUnprocessableEntity {
				t.Errorf("another order under the same token: got %+v, want 422", got)
			}
			w.expectOnce(function)
		})
	}
}

// expectOnce looks at the world: the function's effect happened once.
func (w *world) expectOnce(function string) {
	w.t.Helper()
	switch function {
	case "reserve":
		if got := w.onHand(w.t.Context()); got != 3 {
			w.t.Errorf("%d lamps on hand, want 3: two lines of one sku were reserved once", got)
		}
	case "ship":
		docs, err := w.db.Collection("shipments").Documents(w.t.Context()).GetAll()
		if err != nil || len(docs) != 1 {
			w.t.Errorf("%d shipments, %v; want 1", len(docs), err)
		}
	default:
		kind := map[string]string{"charge": "charge", "notify": "mail"}[function]
		ledger := w.shop.Ledger()
		if w.shop.Effects()[kind] != 1 || len(ledger) != 1 {
			w.t.Errorf("the shop's ledger is %+v, want one %s", ledger, kind)
		} else if !strings.HasPrefix(ledger[0].Token, "run-1/"+function) {
			w.t.Errorf("the shop got the token %q, want one made of the step's", ledger[0].Token)
		}
	}
}

// Sixteen at once are one: the others are refused or replayed. R9, B5.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for function, body := range bodies {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if got := w.call(function, "run-1/"+function, body); got.status != http.StatusOK && got.status != http.StatusConflict {
						t.Errorf("got %+v, want 200 or 409", got)
					}
				})
			}
			wg.Wait()
			w.expectOnce(function)
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tt := range map[string]struct{ function, token, body, want string }{
		"no token":       {"reserve", "", bodies["reserve"], "Idempotency-Key"},
		"no JSON":        {"charge", "run-1/charge", "nonsense", "JSON"},
		"unknown field":  {"charge", "run-1/charge", `{"order":"A-1"}`, "unknown field"},
		"no order":       {"ship", "run-1/ship", `{"sku":"lamp","quantity":1}`, "order_id is missing"},
		"no lines":       {"reserve", "run-1/reserve", `{"order_id":"A-1","lines":[]}`, "lines is empty"},
		"no quantity":    {"reserve", "run-1/reserve", `{"order_id":"A-1","lines":[{"sku":"lamp"}]}`, "quantity"},
		"no money":       {"charge", "run-1/charge", `{"order_id":"A-1","currency":"EUR"}`, "amount_cents"},
		"no address":     {"notify", "run-1/notify", `{"order_id":"A-1","charge_id":"c","email":"nobody"}`, "email"},
		"notify untoken": {"notify", "", bodies["notify"], "Idempotency-Key"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.call(tt.function, tt.token, tt.body)
			var p struct {
				Status int
				Detail string
			}
			if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != http.StatusBadRequest || p.Status != 400 || !strings.Contains(p.Detail, tt.want) {
				t.Errorf("got %+v, want a problem with 400 and %q", got, tt.want)
			}
		})
	}
	if n := len(w.shop.Ledger()); n != 0 {
		t.Errorf("bad input reached the shop %d times", n)
	}
}

// What cannot be reserved fails for good, takes nothing, and says so again.
func TestOutOfStock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		got := w.call("reserve", "run-1/reserve", `{"order_id":"A-1","lines":[{"sku":"lamp","quantity":6}]}`)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "out_of_stock") {
			t.Fatalf("got %+v, want 422 out_of_stock", got)
		}
	}
	if got := w.onHand(t.Context()); got != 5 {
		t.Errorf("%d lamps on hand, want all 5", got)
	}
}

// The payment went through and its answer was lost: the next attempt asks before it charges. R16's way, for a step. B17.
func TestLostPaymentAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.Add(fault.Rule{Method: "POST /charges", N: 1, Kind: fault.Lose})
	if got := w.call("charge", "run-1/charge", bodies["charge"]); got.status != http.StatusInternalServerError {
		t.Fatalf("got %+v, want 500: try again", got)
	}
	if got := w.call("charge", "run-1/charge", bodies["charge"]); got.status != http.StatusOK {
		t.Fatalf("got %+v, want 200", got)
	}
	w.expectOnce("charge")
}

// A payment service that is busy, and one that declines, are told apart. B29.
func TestPaymentAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.Add(fault.Rule{Method: "POST /charges", N: 1, Kind: fault.Refuse, Status: http.StatusTooManyRequests})
	if got := w.call("charge", "run-1/charge", bodies["charge"]); got.status != http.StatusInternalServerError {
		t.Errorf("busy: got %+v, want 500: try again", got)
	}
	if got := w.call("charge", "run-1/charge", bodies["charge"]); got.status != http.StatusOK {
		t.Errorf("after busy: got %+v, want 200", got)
	}
	w.faults.Add(fault.Rule{Method: "POST /charges", N: 1, Kind: fault.Refuse, Status: http.StatusPaymentRequired})
	for range 2 {
		if got := w.call("charge", "run-2/charge", bodies["charge"]); got.status != http.StatusUnprocessableEntity {
			t.Errorf("declined: got %+v, want 422, recorded", got)
		}
	}
}

func TestNewRefusesBadAddresses(t *testing.T) {
	t.Parallel()
	if _, err := New(nil, Config{PaymentURL: "payments", MailURL: "http://mail.example"}); err == nil || !strings.Contains(err.Error(), "PAYMENT_URL") {
		t.Errorf("got %v, want an error about PAYMENT_URL", err)
	}
}
