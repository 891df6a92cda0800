package guardtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/runonce/functions/guard"
)

// Kind is what happens to a store call.
type Kind string

const (
	// Refuse: the call fails before the store sees it. The caller cannot know that.
	Refuse Kind = "refuse"
	// Lose: the store carries the call out, and the answer is lost.
	Lose Kind = "lose"
	// Duplicate: the store carries the call out twice, and the caller gets the second answer.
	Duplicate Kind = "duplicate"
	// Hold: the call waits until Fault.Gate opens or its context ends, then goes on. After the context has ended the store
	// never sees it.
	Hold Kind = "hold"
	// HoldAnswer: the store carries the call out at once, and the answer waits for Fault.Gate. If the context ends
	// first, the answer is lost.
	HoldAnswer Kind = "hold answer"
)

// ErrInjected is the error of a refused or lost call, where Fault.Err is nil.
var ErrInjected = errors.New("injected fault")

// The methods of guard.Store, for Fault.Method and Call.Method.
const (
	Create = "Create"
	Get    = "Get"
	Update = "Update"
)

// Fault says which calls go wrong, and how.
type Fault struct {
	Kind Kind
	// Method is Create, Get or Update; empty means any of them.
	Method string
	// N is which call it is, from 1, counted over those of Method since the fault was added; 0 means each one.
	N int
	// Err is what a refused or lost call returns. Nil: ErrInjected, of which a guard can only think "unknown".
	Err error
	// Gate is what a held call waits for.
	Gate *Gate
	// Do, if set, is called where the fault strikes: before the store for Refuse and Hold, after it for the others.
	Do func()
}

// Call is one call that reached a Faults.
type Call struct {
	Method string
	Token  string
	Fault  Kind  // empty: none
	Err    error // what the caller got
}

// Faults is a guard.Store that stands before another and spoils the calls that its faults name. It logs every call.
// All methods may be called concurrently.
type Faults struct {
	store guard.Store

	mu     sync.Mutex
	faults []*armed
	calls  []Call
}

type armed struct {
	Fault
	seen int
}

var _ guard.Store = (*Faults)(nil)

// NewFaults stands before store. Without faults it only logs.
func NewFaults(store guard.Store, faults ...Fault) *Faults {
	f := &Faults{store: store}
	for _, fault := range faults {
		f.Add(fault)
	}
	return f
}

// Add arms a fault. Where several match one call, the one that was added first strikes.
func (f *Faults) Add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &armed{Fault: fault})
}

// Clear disarms every fault and keeps the log.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Calls is the log, in the order in which the calls came.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Count is how many calls of method came; empty counts all.
func (f *Faults) Count(method string) int {
	n := 0
	for _, c := range f.Calls() {
		if method == "" || c.Method == method {
			n++
		}
	}
	return n
}

// Create implements guard.Store.
func (f *Faults) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	return through(ctx, f, Create, rec.Token, func(ctx context.Context) (guard.Version, error) {
		return f.store.Create(ctx, rec)
	})
}

// Get implements guard.Store.
func (f *Faults) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	return through(ctx, f, Get, token, func(ctx context.Context) (guard.Snapshot, error) {
		return f.store.Get(ctx, token)
	})
}

// Update implements guard.Store.
func (f *Faults) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	return through(ctx, f, Update, rec.Token, func(ctx context.Context) (guard.Version, error) {
		return f.store.Update(ctx, v, rec)
	})
}

// strike logs the call and says which fault it meets.
func (f *Faults) strike(method, token string) (int, Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hit Fault
	for _, a := range f.faults {
		if a.Method != "" && a.Method != method {
			continue
		}
		a.seen++
		if hit.Kind == "" && (a.N == 0 || a.N == a.seen) {
			hit = a.Fault
		}
	}
	f.calls = append(f.calls, Call{Method: method, Token: token, Fault: hit.Kind})
	return len(f.calls) - 1, hit
}

func (f *Faults) answered(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[i].Err = err
}

// through carries one call out under its fault.
func through[T any](ctx context.Context, f *Faults, method, token string, call func(context.Context) (T, error)) (answer T, err error) {
	i, fault := f.strike(method, token)
	defer func() { f.answered(i, err) }()
	switch fault.Kind {
	case "":
		return call(ctx)
	case Refuse:
		fault.did()
		return answer, fault.err(method)
	case Hold:
		fault.did()
		if err := fault.Gate.pass(ctx); err != nil {
			return answer, err
		}
		return call(ctx)
	case Lose:
		_, _ = call(ctx)
		fault.did()
		return answer, fault.err(method)
	case Duplicate:
		_, _ = call(ctx)
		fault.did()
		return call(ctx)
	case HoldAnswer:
		answer, err = call(ctx)
		fault.did()
		if lost := fault.Gate.pass(ctx); lost != nil {
			var zero T
			return zero, lost
		}
		return answer, err
	default:
		return answer, fmt.Errorf("guardtest: fault of unknown kind %q", fault.Kind)
	}
}

func (f Fault) did() {
	if f.Do != nil {
		f.Do()
	}
}

func (f Fault) err(method string) error {
	if f.Err != nil {
		return f.Err
	}
	return fmt.Errorf("%s %s: %w", f.Kind, method, ErrInjected)
}
