package guardtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/runonce/functions/guard"
	"example.com/runonce/functions/guard/guardtest"
)

// sendMail is the function under test: it takes the store, so that a test can give it another.
func sendMail(ctx context.Context, store guard.Store, send func(), sent func() bool) error {
	g, err := guard.New(store, guard.Config{Lease: 30 * time.Second})
	if err != nil {
		return err
	}
	_, err = guard.Do(ctx, g, guard.Effect[string]{
		Request: guard.Request{Token: "run1/mail"},
		Do:      func(context.Context, guard.Attempt) (string, error) { send(); return "sent", nil },
		Find:    func(context.Context, guard.Attempt) (string, bool, error) { return "sent", sent(), nil },
	})
	return err
}

// TestSendMail is the whole proof: every crash of sendMail still sends one mail.
func TestSendMail(t *testing.T) {
	guardtest.Crash(t, guardtest.CrashConfig{}, func(ctx context.Context, d *guardtest.Delivery) error {
		return sendMail(ctx, d.Store, func() { d.Effect("mail") }, func() bool { return d.Happened("mail") })
	})
}

// A test of yours hands Crash the function as a handler would call it; see TestSendMail beside this example.
func ExampleCrash() {
	var _ = func(t *testing.T) {
		guardtest.Crash(t, guardtest.CrashConfig{}, func(ctx context.Context, d *guardtest.Delivery) error {
			return sendMail(ctx, d.Store, func() { d.Effect("mail") }, func() bool { return d.Happened("mail") })
		})
	}
}

// A lease runs out when the test says so: nothing has to wait.
func ExampleMemory() {
	store, ctx := &guardtest.Memory{}, context.Background()
	lease := 30 * time.Second
	_, _ = store.Create(ctx, guard.Record{Token: "run1/mail", Status: guard.InProgress, AttemptID: "crashed", Fence: 1, Lease: &lease})

	deliver := func() {
		err := sendMail(ctx, store, func() { fmt.Println("sending") }, func() bool { return false })
		fmt.Println("in progress:", errors.Is(err, guard.ErrInProgress), "· done:", err == nil)
	}
	deliver()
	store.Advance(lease)
	deliver()
	deliver()
	// Output:
	// in progress: true · done: false
	// sending
	// in progress: false · done: true
	// in progress: false · done: true
}

// A fault strikes the calls that it names: here the answer to the first write is lost.
func ExampleFaults() {
	store := guardtest.NewFaults(&guardtest.Memory{}, guardtest.Fault{Kind: guardtest.Lose, Method: guardtest.Create, N: 1})
	err := sendMail(context.Background(), store, func() { fmt.Println("sending") }, func() bool { return false })
	fmt.Println("error:", err)
	for _, call := range store.Calls() {
		fmt.Printf("%s %q\n", call.Method, call.Fault)
	}
	// Output:
	// sending
	// error: <nil>
	// Create "lose"
	// Get ""
	// Update ""
}

// A store of yours hands the suite an empty store for each test, and what moves its clock.
func ExampleRunStoreTests() {
	var _ = func(t *testing.T) {
		guardtest.RunStoreTests(t, func(*testing.T) guardtest.Harness {
			store := &guardtest.Memory{} // yours
			return guardtest.Harness{Store: store, Advance: store.Advance}
		})
	}
}
