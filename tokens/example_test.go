package tokens

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

func ExampleRunID() {
	scope := Scope{Target: "projects/p/locations/l/workflows/orders"}
	a, _ := RunID("daily-orders", "2026-10-16T12:00:00Z", scope)
	b, _ := RunID("daily-orders", "2026-10-16T05:00:00-07:00", scope)
	fmt.Println(a == b, len(a))

	_, err := RunID("daily-orders", "noon", scope)
	fmt.Println(err)
	// Output:
	// true 64
	// schedule time "noon": want RFC 3339, like 2026-10-16T12:00:00Z
}

// A fleet that used Google's sample keeps its ids.
func ExampleRunID_unscoped() {
	id, _ := RunID("daily-orders", "2026-10-16T12:00:00Z", Scope{None: true})
	fmt.Println(id) // printf daily-orders/2026-10-16T12:00:00Z | sha256sum
	// Output:
	// 08ae9f450cac3fc080b3a86869220e559c5a1e80f76518547e65db5f91d07751
}

func ExampleKey() {
	id, err := Key{
		Kind: CloudTasks, Parts: []string{"orders", "task-17"},
		Scope: Scope{Target: "projects/p/locations/l/workflows/orders"},
	}.RunID()
	fmt.Println(len(id), err)
	// Output: 64 <nil>
}

func ExampleStep() {
	charge, _ := Step("run", "charge")
	line, _ := Step("run", "ship", "sku/7")
	call, _ := Step(charge, "card")
	fmt.Println(charge, line, call)
	// Output: run/charge run/ship/sku%2F7 run/charge//card
}

func ExampleUUID() {
	token, _ := Step("run", "start_vm")
	fmt.Println(UUID(token))
	// Output: 6627154c-9d54-8a1e-98e5-6c680e0d9252
}

func ExampleFingerprintJSON() {
	a, _ := FingerprintJSON([]byte(`{"sku": "a", "qty": 2}`))
	b, _ := FingerprintJSON([]byte(`{"qty":2.0,"sku":"\u0061"}`))
	fmt.Println(a == b)
	// Output: true
}

func ExampleTransport() {
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.Header.Get(Header))
	}))
	defer shop.Close()

	client := &http.Client{Transport: &Transport{
		Token: func(context.Context) string { return "run/charge" }, // guard.TokenFrom
	}}
	ctx := WithCall(context.Background(), "card")
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, shop.URL, strings.NewReader("{}"))
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
	}
	// Output: POST run/charge//card
}
