package fault

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
)

// Plan is a set of rules and the log of the calls that came by. The zero value is an empty plan; all methods may be used from
// several goroutines at once.
type Plan struct {
	mu    sync.Mutex
	rules []*counted
	calls []*Call
	seen  map[string]int
}

type counted struct {
	Rule
	seen int
}

// Call is one call as the log has it.
type Call struct {
	Method string // gRPC full method, or "POST /path" for HTTP
	N      int    // the how manieth call of that method it is, from 1
	Kind   Kind   // the fault that hit it, or None
	Done   bool   // false while it is executed or held
	// Code is how a gRPC call was answered, OK for one that is not done. Status is the same for HTTP, 0 when no answer went out.
	Code   codes.Code
	Status int
}

// Add puts a rule into the plan. When several rules mean the same call, the one added first hits it; all of them count it.
func (p *Plan) Add(r Rule) {
	if r.Kind == Hold && r.Gate == nil {
		r.Gate = NewGate()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &counted{Rule: r})
}

// Hold adds a rule that stops the n-th call of method before it is executed, and returns the gate it stands at.
func (p *Plan) Hold(method string, n int) *Gate {
	g := NewGate()
	p.Add(Rule{Method: method, N: n, Kind: Hold, Gate: g})
	return g
}

// HoldAnswer is Hold after the call was executed: the change is made, the answer is on its way.
func (p *Plan) HoldAnswer(method string, n int) *Gate {
	g := NewGate()
	p.Add(Rule{Method: method, N: n, Kind: Hold, After: true, Gate: g})
	return g
}

// Clear removes all rules and keeps the log. Calls that stand at a gate stay there.
func (p *Plan) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Reset removes all rules and empties the log.
func (p *Plan) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.calls, p.seen = nil, nil, nil
}

// Calls returns a copy of the log, in the order in which the calls arrived.
func (p *Plan) Calls() []Call {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Call, len(p.calls))
	for i, c := range p.calls {
		out[i] = *c
	}
	return out
}

// Count is the number of calls whose method ends in method; "" counts all.
func (p *Plan) Count(method string) int {
	return len(slices.DeleteFunc(p.Calls(), func(c Call) bool { return !strings.HasSuffix(c.Method, method) }))
}

// arrive logs a call and says which fault, if any, hits it.
func (p *Plan) arrive(method string) (*Call, Rule) {
	if p == nil {
		return &Call{}, Rule{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	p.seen[method]++
	c := &Call{Method: method, N: p.seen[method]}
	p.calls = append(p.calls, c)
	var hit Rule
	for _, r := range p.rules {
		if !r.matches(method) {
			continue
		}
		r.seen++
		if hit.Kind == None && r.hits(r.seen) {
			hit = r.Rule
		}
	}
	c.Kind = hit.Kind
	return c, hit
}

// leave completes the log entry.
func (p *Plan) leave(c *Call, code codes.Code, status int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Done, c.Code, c.Status = true, code, status
}
