package fault

import (
	"context"
	"sync"
)

// Gate stops the calls of a Hold rule until the test releases it. Make one with Plan.Hold or NewGate.
type Gate struct {
	arrived, released     chan struct{}
	arriveOnce, leaveOnce sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{arrived: make(chan struct{}), released: make(chan struct{})}
}

// Arrived is closed once the first call stands at the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Wait returns when a call stands at the gate, or with the context's error.
func (g *Gate) Wait(ctx context.Context) error {
	select {
	case <-g.arrived:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release opens the gate for good. It may be called more than once.
func (g *Gate) Release() { g.leaveOnce.Do(func() { close(g.released) }) }

func (g *Gate) pass(ctx context.Context) error {
	g.arriveOnce.Do(func() { close(g.arrived) })
	select {
	case <-g.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
