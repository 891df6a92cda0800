// Package orders is the sample: four functions that each change the world once for one step token.
//
//	Reserve  guard.Tx      takes the order's lines out of stock: it reads what is there, so it needs a transaction
//	Charge   guard.Do      asks the payment service, hands it the token, and can find a charge again
//	Ship     guard.Write   writes one line's shipment and the order's state blindly: one RPC with the marker
//	Notify   guard.Handler wraps an ordinary handler that sends the confirmation
//
// They are Functions Framework handlers. Each decodes, validates, guards and encodes; the effect stands inside the
// guard, and its token goes to whatever it calls. cmd/orders serves all four from one binary; deployed one by one, the
// framework picks the function by its name.
package orders
