package firestoretest_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/status"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/firestoretest"
)

// A create whose answer is lost was made all the same: the client's own retry meets it.
func Example() {
	ctx := context.Background()
	s := firestoretest.New(firestoretest.Config{Clock: firestoretest.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))})
	defer s.Close()
	client, err := s.Client(ctx, "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	s.Faults().Add(fault.Rule{Method: "/Commit", N: 1, Kind: fault.Lose})
	_, err = client.Doc("runonce/token").Create(ctx, map[string]any{"status": "in_progress"})
	fmt.Println(status.Code(err))
	s.Advance(time.Minute)
	snap, err := client.Doc("runonce/token").Get(ctx)
	fmt.Println(snap.Data()["status"], snap.ReadTime.Sub(snap.UpdateTime).Round(time.Second), err)
	// Output:
	// AlreadyExists
	// in_progress 1m0s <nil>
}
