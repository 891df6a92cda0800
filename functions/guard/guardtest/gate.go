package guardtest

import (
	"context"
	"fmt"
	"sync"
)

// Gate holds whoever comes to it until it is opened. Make one with NewGate.
type Gate struct {
	arrived, opened chan struct{}
	once, come      sync.Once
}

// NewGate makes a closed gate.
func NewGate() *Gate {
	return &Gate{arrived: make(chan struct{}), opened: make(chan struct{})}
}

// Arrived is closed once somebody waits at the gate, or went through it.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Open lets everyone through, now and later. It may be called twice.
func (g *Gate) Open() { g.once.Do(func() { close(g.opened) }) }

// Wait stands at the gate until it opens or ctx ends; then it returns ctx's error.
func (g *Gate) Wait(ctx context.Context) error {
	g.come.Do(func() { close(g.arrived) })
	select {
	case <-g.opened:
		return nil
	default:
	}
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Gate) pass(ctx context.Context) error {
	if g == nil {
		return fmt.Errorf("guardtest: a fault that holds needs a Gate")
	}
	return g.Wait(ctx)
}
