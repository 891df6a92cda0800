package orders

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cloud.google.com/go/firestore"

	"example.com/runonce/functions/guard"
)

// Line is one line of an order.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

type reserveRequest struct {
	OrderID string `json:"order_id"`
	Lines   []Line `json:"lines"`
}

func (r *reserveRequest) validate() error {
	if err := required("order_id", r.OrderID); err != nil {
		return err
	}
	if len(r.Lines) == 0 {
		return errors.New("lines is empty")
	}
	for i, line := range r.Lines {
		if err := required(fmt.Sprintf("lines[%d].sku", i), line.SKU); err != nil {
			return err
		}
		if line.Quantity < 1 {
			return fmt.Errorf("lines[%d]: %w", i, errQuantity)
		}
	}
	return nil
}

// Reservation says what was taken out of stock.
type Reservation struct {
	OrderID string `json:"order_id"`
	Units   int64  `json:"units"`
}

// Stock is one document of the collection "stock", its id StockID of the sku.
type Stock struct {
	OnHand int64 `firestore:"on_hand"`
}

// Reserve takes an order's lines out of stock, all or none. The amount on hand decides, so the step is a transaction.
func (a *App) Reserve(w http.ResponseWriter, r *http.Request) {
	var req reserveRequest
	step, err := decode(w, r, &req)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	res, err := guard.Tx(r.Context(), a.guard, a.store, step, func(_ context.Context, tx *firestore.Transaction) (Reservation, error) {
		return a.reserve(tx, req)
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, r, res.Value, res.Replayed)
}

func (a *App) reserve(tx *firestore.Transaction, req reserveRequest) (Reservation, error) {
	want := map[string]int64{} // one sku may stand in several lines
	var refs []*firestore.DocumentRef
	for _, line := range req.Lines {
		if want[line.SKU] == 0 {
			refs = append(refs, a.db.Collection("stock").Doc(StockID(line.SKU)))
		}
		want[line.SKU] += line.Quantity
	}
	snaps, err := tx.GetAll(refs)
	if err != nil {
		return Reservation{}, fmt.Errorf("read stock: %w", err)
	}
	left := map[string]int64{}
	for _, snap := range snaps {
		var s Stock
		if snap.Exists() {
			if err := snap.DataTo(&s); err != nil {
				return Reservation{}, fmt.Errorf("read stock: %w", err)
			}
		}
		left[snap.Ref.ID] = s.OnHand
	}
	out := Reservation{OrderID: req.OrderID}
	for sku, n := range want {
		have := left[StockID(sku)]
		if have < n {
			return Reservation{}, guard.Permanent(&guard.FailedError{
				Code:    "out_of_stock",
				Message: fmt.Sprintf("%d of %s wanted, %d on hand", n, sku, have),
			})
		}
		if err := tx.Update(a.db.Collection("stock").Doc(StockID(sku)), []firestore.Update{{Path: "on_hand", Value: have - n}}); err != nil {
			return Reservation{}, fmt.Errorf("write stock: %w", err)
		}
		out.Units += n
	}
	return out, nil
}
