package orders

import (
	"fmt"
	"net/http"

	"cloud.google.com/go/firestore"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

type shipRequest struct {
	OrderID  string `json:"order_id"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

func (r *shipRequest) validate() error {
	if err := required("order_id", r.OrderID, "sku", r.SKU); err != nil {
		return err
	}
	if r.Quantity < 1 {
		return errQuantity
	}
	return nil
}

// Shipment is one document of the collection "shipments".
type Shipment struct {
	ShipmentID string `json:"shipment_id" firestore:"-"`
	OrderID    string `json:"order_id" firestore:"order_id"`
	SKU        string `json:"sku" firestore:"sku"`
	Quantity   int64  `json:"quantity" firestore:"quantity"`
	Step       string `json:"-" firestore:"step"` // the token under which it was made
}

// Ship orders one line's shipment. Nothing has to be read first, so the documents and the marker go in one commit.
func (a *App) Ship(w http.ResponseWriter, r *http.Request) {
	var req shipRequest
	step, err := decode(w, r, &req)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	res, err := guard.Write(r.Context(), a.guard, a.store, step, func(b *guard.Batch) (Shipment, error) {
		s := Shipment{ShipmentID: tokens.UUID(step.Token), OrderID: req.OrderID, SKU: req.SKU, Quantity: req.Quantity, Step: step.Token}
		b.Create(a.db.Collection("shipments").Doc(s.ShipmentID), s)
		b.Set(a.db.Collection("orders").Doc(OrderID(req.OrderID)), map[string]any{
			"order_id": req.OrderID,
			"state":    "shipping",
			"units":    firestore.Increment(req.Quantity),
		}, firestore.MergeAll)
		return s, nil
	})
	if err != nil {
		a.fail(w, r, fmt.Errorf("ship: %w", err))
		return
	}
	a.answer(w, r, res.Value, res.Replayed)
}
