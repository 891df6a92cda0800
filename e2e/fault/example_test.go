package fault_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"example.com/runonce/e2e/fault"
)

// The second call is executed and its answer lost.
func Example() {
	var paid atomic.Int32
	plan := &fault.Plan{}
	plan.Add(fault.Rule{Method: "POST /pay", N: 2, Kind: fault.Lose})
	s := httptest.NewServer(plan.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { paid.Add(1) })))
	defer s.Close()
	for range 2 {
		resp, err := http.Post(s.URL+"/pay", "", nil)
		if err == nil {
			_ = resp.Body.Close()
		}
		fmt.Println("answered:", err == nil)
	}
	fmt.Println("paid:", paid.Load())
	for _, c := range plan.Calls() {
		fmt.Println(c.Method, c.N, c.Kind, c.Status)
	}
	// Output:
	// answered: true
	// answered: false
	// paid: 2
	// POST /pay 1 none 200
	// POST /pay 2 lose 0
}
