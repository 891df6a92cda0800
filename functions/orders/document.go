package orders

import (
	"crypto/sha256"
	"encoding/hex"
)

// StockID is the id of a sku's document in the collection "stock": no slash, no dot, no length to worry about.
func StockID(sku string) string { return hashed(sku) }

// OrderID is the id of an order's document in the collection "orders".
func OrderID(order string) string { return hashed(order) }

func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
