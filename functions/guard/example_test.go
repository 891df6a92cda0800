package guard

//lint:file-ignore SA1019 see Firestore.commit.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A step whose effect is somewhere else: a claim, the effect, a recorded outcome. The duplicate gets the first one's.
func ExampleDo() {
	ctx := context.Background()
	g, err := New(&mem{}, Config{}) // in a function: New(NewFirestore(client, FirestoreConfig{}), Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	charge := Effect[string]{
		Request: Request{Token: "run42/charge", Fingerprint: "order 7, 12.50 EUR"},
		Do: func(ctx context.Context, a Attempt) (string, error) {
			fmt.Println("charging with token", a.Token)
			return "ch_1", nil // the payment service gets the token, so that it can deduplicate too
		},
	}
	for range 2 {
		got, err := Do(ctx, g, charge)
		fmt.Println(got.Value, got.Replayed, err)
	}
	charge.Request.Fingerprint = "order 8, 99.00 EUR"
	_, err = Do(ctx, g, charge)
	fmt.Println(errors.Is(err, ErrMismatch))
	// Output:
	// charging with token run42/charge
	// ch_1 false <nil>
	// ch_1 true <nil>
	// true
}

// A callee that cannot deduplicate, but can be asked: every attempt after the first asks before it acts.
func ExampleDo_find() {
	sent := map[string]string{} // what the mail service has under each token
	g, err := New(&mem{}, Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	mail := Effect[string]{
		Request: Request{Token: "run42/mail"},
		Do: func(_ context.Context, a Attempt) (string, error) {
			sent[a.Token] = "m1"
			return "", errors.New("the answer was lost")
		},
		Find: func(_ context.Context, a Attempt) (string, bool, error) {
			id, found := sent[a.Token]
			return id, found, nil
		},
	}
	_, err = Do(context.Background(), g, mail)
	fmt.Println(err)
	got, err := Do(context.Background(), g, mail)
	fmt.Println(got.Value, got.Found, err)
	// Output:
	// the answer was lost
	// m1 true <nil>
}

// A failure for good is an outcome like any other: recorded once, the same for every duplicate.
func ExamplePermanent() {
	g, err := New(&mem{}, Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_, err := Do(context.Background(), g, Effect[int]{
			Request: Request{Token: "run42/charge"},
			Do: func(context.Context, Attempt) (int, error) {
				fmt.Println("asking the bank")
				return 0, Permanent(&FailedError{Code: "card_declined", Message: "no funds"})
			},
		})
		var failed *FailedError
		fmt.Println(errors.As(err, &failed) && failed.Code == "card_declined")
	}
	// Output:
	// asking the bank
	// true
	// true
}

// Writes to Firestore alone: they and the record are one commit, so they happen exactly once. One call of Firestore.
func ExampleWrite() {
	ship := func(ctx context.Context, client *firestore.Client, g *Guard, f *Firestore, orderID string) error {
		_, err := Write(ctx, g, f, Request{Token: "run42/ship/" + orderID}, func(b *Batch) (struct{}, error) {
			b.Create(client.Collection("shipments").Doc(orderID), map[string]any{"state": "packed"})
			b.Update(client.Collection("stats").Doc("today"), []firestore.Update{{Path: "shipped", Value: firestore.Increment(1)}})
			return struct{}{}, nil
		})
		return err
	}
	_ = ship
}

// Reads and writes of Firestore in one transaction with the record. What the duplicate would judge has changed by then, so it
// is not asked again: it gets the outcome.
func ExampleTx() {
	reserve := func(ctx context.Context, client *firestore.Client, g *Guard, f *Firestore, sku string, n int64) (int64, error) {
		stock := client.Collection("stock").Doc(sku)
		got, err := Tx(ctx, g, f, Request{Token: "run42/reserve/" + sku}, func(_ context.Context, tx *firestore.Transaction) (int64, error) {
			doc, err := tx.Get(stock)
			if status.Code(err) == codes.NotFound {
				return 0, Permanent(&FailedError{Code: "no_such_item", Message: sku})
			}
			if err != nil {
				return 0, err // ABORTED among them: the client runs this again
			}
			left, err := doc.DataAt("left")
			if err != nil {
				return 0, err
			}
			rest := left.(int64) - n
			if rest < 0 {
				return 0, Permanent(&FailedError{Code: "sold_out", Message: fmt.Sprint("left: ", left)})
			}
			return rest, tx.Update(stock, []firestore.Update{{Path: "left", Value: rest}})
		})
		return got.Value, err
	}
	_ = reserve
}

// An ordinary handler becomes a step. For a Functions Framework function, register the handler that Handler returns.
func ExampleHandler() {
	g, err := New(&mem{}, Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	notify := Handler(g, HandlerConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("sending for", TokenFrom(r.Context()))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "m1")
	}))
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/notify", nil)
		r.Header.Set(TokenHeader, "run42/notify")
		w := httptest.NewRecorder()
		notify.ServeHTTP(w, r)
		fmt.Printf("%d %s, replayed %q\n", w.Code, w.Body, w.Header().Get(ReplayedHeader))
	}
	// Output:
	// sending for run42/notify
	// 201 m1, replayed ""
	// 201 m1, replayed "true"
}

// A CloudEvent function that gets its event decoded makes the token of the event's source and id.
func ExampleEventToken() {
	onEvent := func(ctx context.Context, g *Guard, source, id string, handle func(context.Context) error) error {
		_, err := Do(ctx, g, Effect[struct{}]{
			Request: Request{Token: EventToken(source, id)},
			Do:      func(ctx context.Context, _ Attempt) (struct{}, error) { return struct{}{}, handle(ctx) },
		})
		return err
	}
	g, err := New(&mem{}, Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		err := onEvent(context.Background(), g, "//storage.googleapis.com/b", "1", func(context.Context) error { fmt.Println("handled"); return nil })
		fmt.Println(err)
	}
	// Output:
	// handled
	// <nil>
	// <nil>
}

// A table that remembers the highest fence it saw refuses a zombie: the row changes only for the same or a later attempt of
// the step, whatever was still on its way when the lease ran out.
func ExampleAttempt() {
	setPrice := func(ctx context.Context, db *sql.DB, a Attempt, item string, cents int64) error {
		res, err := db.ExecContext(ctx, `
			UPDATE price SET cents = $1, by_token = $2, by_fence = $3
			WHERE item = $4 AND (by_token IS DISTINCT FROM $2 OR by_fence <= $3)`, cents, a.Token, a.Fence, item)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return fmt.Errorf("%w: a later attempt set the price of %s (%v)", ErrLost, item, err)
		}
		return nil
	}
	callee := func(r *http.Request, a Attempt) { // and over HTTP
		r.Header.Set(TokenHeader, a.Token)
		r.Header.Set(FenceHeader, fmt.Sprint(a.Fence))
	}
	_, _ = setPrice, callee
}
