package guardtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/runonce/functions/guard"
)

const (
	benchLease = 30 * time.Second
	benchToken = "run/step"
	// slack is what may pass by itself on a store whose clock runs while it is tested.
	slack = 5 * time.Second
)

// bench is one subtest's store and what it needs to play several processes on it.
type bench struct {
	*testing.T
	Harness
	processes atomic.Int64
}

func newBench(t *testing.T, h Harness) *bench {
	if h.MaxBody == 0 {
		h.MaxBody = 256 << 10
	}
	if h.Coarse == 0 {
		h.Coarse = time.Nanosecond
	}
	return &bench{T: t, Harness: h}
}

// each runs one row of a table on the bench's own store, under a token of its own.
func (b *bench) each(name string, f func(b *bench, token string)) {
	b.Helper()
	b.Run(name, func(t *testing.T) {
		f(&bench{T: t, Harness: b.Harness}, "row/"+t.Name()[strings.LastIndex(t.Name(), "/")+1:])
	})
}

// later moves the server's clock on, or skips.
func (b *bench) later(d time.Duration) {
	b.Helper()
	if b.Advance == nil {
		b.Skip("the clock of this store cannot be moved; guardtest's own tests run this on Memory")
	}
	b.Advance(d)
}

// process is a guard as a process of its own has it: own clock, own ids, own faults before the common store.
type process struct {
	*guard.Guard
	bench  *bench
	clock  *Clock
	faults *Faults
	events *events
}

// process starts one. tune may change its configuration.
func (b *bench) process(tune ...func(*guard.Config)) *process {
	b.Helper()
	p := &process{bench: b, clock: &Clock{}, faults: NewFaults(b.Store), events: &events{}}
	n, ids := b.processes.Add(1), atomic.Int64{}
	cfg := guard.Config{
		Lease: benchLease, Clock: p.clock, Observer: p.events,
		NewID: func() string { return fmt.Sprintf("attempt-%d-%d", n, ids.Add(1)) },
	}
	for _, f := range tune {
		f(&cfg)
	}
	if c, ok := cfg.Clock.(*Clock); ok {
		p.clock = c
	}
	g, err := guard.New(p.faults, cfg)
	if err != nil {
		b.Fatal(err)
	}
	p.Guard = g
	return p
}

// do runs a step of that token whose effect returns value.
func (p *process) do(token, value string, count *atomic.Int64) (guard.Result[string], error) {
	return guard.Do(p.bench.Context(), p.Guard, step(token, value, count))
}

// step is an effect that counts itself.
func step(token, value string, count *atomic.Int64) guard.Effect[string] {
	return guard.Effect[string]{
		Request: guard.Request{Token: token, Fingerprint: "payload"},
		Do: func(context.Context, guard.Attempt) (string, error) {
			count.Add(1)
			return value, nil
		},
	}
}

// stuck is a delivery that stands inside its effect until it is let go.
type stuck struct {
	*process
	gate   *Gate
	result guard.Result[string]
	err    error
	done   chan struct{}
	ctx    context.Context // of the effect, once it runs
}

// stick delivers token to p and returns once the effect runs. What the effect returns after it was let go is end's.
func (p *process) stick(token string, end func(ctx context.Context) (string, error), tune ...func(*guard.Effect[string])) *stuck {
	p.bench.Helper()
	s := &stuck{process: p, gate: NewGate(), done: make(chan struct{})}
	e := guard.Effect[string]{
		Request: guard.Request{Token: token, Fingerprint: "payload"},
		Do: func(ctx context.Context, _ guard.Attempt) (string, error) {
			s.ctx = ctx
			_ = s.gate.Wait(context.WithoutCancel(ctx))
			return end(ctx)
		},
	}
	for _, f := range tune {
		f(&e)
	}
	go func() {
		defer close(s.done)
		s.result, s.err = guard.Do(context.WithoutCancel(p.bench.Context()), p.Guard, e)
	}()
	select {
	case <-s.gate.Arrived():
	case <-s.done:
		p.bench.Fatalf("the delivery ended before its effect: %v", s.err)
	case <-time.After(10 * time.Second):
		p.bench.Fatal("the effect does not begin")
	}
	p.bench.Cleanup(s.gate.Open)
	return s
}

// letGo ends the effect and waits for the delivery.
func (s *stuck) letGo() (guard.Result[string], error) {
	s.bench.Helper()
	s.gate.Open()
	s.bench.await(s.done, "the delivery does not end")
	return s.result, s.err
}

// crash is a delivery whose process dies inside the effect: the store never hears of it again.
func (p *process) crash(token string, tune ...func(*guard.Effect[string])) *stuck {
	p.bench.Helper()
	s := p.stick(token, func(context.Context) (string, error) { return "", errKilled }, tune...)
	p.faults.Add(Fault{Kind: Refuse, Err: errKilled})
	return s
}

func (b *bench) await(done <-chan struct{}, problem string) {
	b.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		b.Fatal(problem)
	}
}

// snapshot reads past every guard.
func (b *bench) snapshot(token string) guard.Snapshot {
	b.Helper()
	s, err := b.Store.Get(b.Context(), token)
	if err != nil {
		b.Fatalf("read the record of %s: %v", token, err)
	}
	return s
}

// unchanged fails if the record is another than before, in one byte or in its version.
func (b *bench) unchanged(before guard.Snapshot) {
	b.Helper()
	after := b.snapshot(before.Record.Token)
	if after.Version != before.Version || !reflect.DeepEqual(b.normal(after.Record), b.normal(before.Record)) {
		b.Errorf("the record changed\nfrom %+v\nto   %+v", before.Record, after.Record)
	}
}

// want checks how a delivery ended.
func (b *bench) want(got guard.Result[string], err error, value string, replayed bool) {
	b.Helper()
	if err != nil || got.Value != value || got.Replayed != replayed {
		b.Errorf("got %q, replayed %t, error %v; want %q, replayed %t", got.Value, got.Replayed, err, value, replayed)
	}
}

func (b *bench) wantErr(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("error %v, want %v", err, want)
	}
}

func (b *bench) wantCount(count *atomic.Int64, want int64) {
	b.Helper()
	if n := count.Load(); n != want {
		b.Errorf("%d effects, want %d", n, want)
	}
}

// wantInProgress checks the refusal and that the time left is above zero and within the lease.
func (b *bench) wantInProgress(err error) {
	b.Helper()
	var busy *guard.InProgressError
	if !errors.As(err, &busy) || !errors.Is(err, guard.ErrInProgress) {
		b.Errorf("error %v, want an InProgressError", err)
		return
	}
	if busy.RetryAfter <= 0 || busy.RetryAfter > benchLease {
		b.Errorf("RetryAfter %v, want it in (0, %v]", busy.RetryAfter, benchLease)
	}
}

// events is an observer that remembers.
type events struct {
	mu   sync.Mutex
	list []guard.Event
}

func (e *events) Observe(_ context.Context, ev guard.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, ev)
}

func (e *events) count(kind guard.Kind) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, ev := range e.list {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}
