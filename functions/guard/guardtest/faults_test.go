package guardtest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/runonce/functions/guard"
)

func TestFaultKinds(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	tests := []struct {
		name   string
		fault  Fault
		want   error
		writes int64
	}{
		{"refuse", Fault{Kind: Refuse}, ErrInjected, 0},
		{"refuse with an error of its own", Fault{Kind: Refuse, Err: own}, own, 0},
		{"lose", Fault{Kind: Lose}, ErrInjected, 1},
		{"duplicate shows the second answer", Fault{Kind: Duplicate}, guard.ErrExists, 1},
		{"another method", Fault{Kind: Refuse, Method: Update}, nil, 1},
		{"another call", Fault{Kind: Refuse, N: 2}, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &Memory{}
			_, err := NewFaults(m, tt.fault).Create(t.Context(), guard.Record{Token: "t"})
			if !errors.Is(err, tt.want) || m.Writes() != tt.writes {
				t.Errorf("error %v and %d writes, want %v and %d", err, m.Writes(), tt.want, tt.writes)
			}
		})
	}
}

func TestFaultsNthCallAndLog(t *testing.T) {
	t.Parallel()
	f := NewFaults(&Memory{}, Fault{Kind: Refuse, Method: Get, N: 2})
	for range 3 {
		_, _ = f.Get(t.Context(), "t")
	}
	want := []Call{{Method: Get, Token: "t", Err: guard.ErrNotFound}, {Method: Get, Token: "t", Fault: Refuse, Err: ErrInjected}, {Method: Get, Token: "t", Err: guard.ErrNotFound}}
	if diff := cmp.Diff(want, f.Calls(), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestFaultsHold(t *testing.T) {
	t.Parallel()
	m, gate := &Memory{}, NewGate()
	f := NewFaults(m, Fault{Kind: Hold, Method: Create, Gate: gate})
	done := make(chan error)
	go func() {
		_, err := f.Create(t.Context(), guard.Record{Token: "t"})
		done <- err
	}()
	<-gate.Arrived()
	if m.Len() != 0 {
		t.Error("the store saw a call that is held before it")
	}
	gate.Open()
	if err := <-done; err != nil || m.Len() != 1 {
		t.Errorf("after the gate opened: error %v, %d records", err, m.Len())
	}
}

func TestFaultsHoldEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	m, gate := &Memory{}, NewGate()
	f := NewFaults(m, Fault{Kind: HoldAnswer, Gate: gate, Do: cancel})
	if v, err := f.Create(ctx, guard.Record{Token: "t"}); !errors.Is(err, context.Canceled) || v != "" || m.Len() != 1 {
		t.Errorf("version %q, error %v, %d records; want the write applied and its answer lost", v, err, m.Len())
	}
}
