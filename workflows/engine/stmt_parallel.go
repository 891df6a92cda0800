package engine

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"example.com/runonce/workflows/syntax"
)

type parallelStmt struct {
	shared   []string
	limit    valuer // nil: the service's
	branches []branch
	loop     *loop // for a parallel for, whose body is branches[0]
}

type branch struct {
	name string
	line int
	body *block
}

func (c *compiler) parallel(s *syntax.Parallel) stmt {
	compiled := &parallelStmt{shared: s.Shared}
	if s.Concurrency != nil {
		compiled.limit = c.value(s.Concurrency)
	}
	for _, b := range s.Branches {
		compiled.branches = append(compiled.branches, branch{b.Name, b.Pos.Line, c.block(b.Steps)})
	}
	if s.For != nil {
		l := c.loop(s.For)
		compiled.loop = &l
		compiled.branches = []branch{{line: s.For.Pos.Line, body: c.block(s.For.Steps)}}
	}
	return compiled
}

// exec runs all branches or turns, some at once, and waits for all of them: an error in one stops only that one
// (continueAll, the only documented policy).
func (s *parallelStmt) exec(f *frame, _ string) control {
	if n := f.x.cfg.Limits.Nesting; n > 0 && f.thread.nesting >= n {
		return f.fail(faultf(ParallelNestingError, "Maximum depth of nested parallel steps exceeded: %d", n))
	}
	run := &parallelRun{stmt: s, f: f, shared: map[string]bool{}, count: int64(len(s.branches))}
	if s.loop != nil {
		var err error
		if run.turns, err = s.loop.turns(f); err != nil {
			return f.fail(err)
		}
		run.count = run.turns.count
	}
	width, err := s.width(f)
	if err != nil {
		return f.fail(err)
	}
	if err := run.share(); err != nil {
		return f.fail(err)
	}
	run.all(int(min(run.count, width)))
	if f.ctx.Err() != nil {
		return control{kind: abortRun}
	}
	if len(run.errors) > 0 {
		return f.fail(run.unhandled())
	}
	return control{}
}

// width is how many branches run at once.
func (s *parallelStmt) width(f *frame) (int64, error) {
	width := int64(f.x.cfg.Limits.Branches)
	if width <= 0 {
		width = 1 << 30
	}
	if s.limit == nil {
		return width, nil
	}
	v, err := s.limit.eval(f)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, faultf(TypeError, "concurrency_limit must be an integer, not %s", typeName(v))
	}
	if n < 1 {
		return 0, faultf(ValueError, "concurrency_limit must be positive, not %d", n)
	}
	return min(n, width), nil
}

// parallelRun is one execution of a parallel step.
type parallelRun struct {
	stmt   *parallelStmt
	f      *frame // the parent, which waits
	shared map[string]bool
	turns  turns
	count  int64
	next   atomic.Int64
	left   atomic.Int64

	mu     sync.Mutex
	errors []branchError
}

type branchError struct {
	index int64
	id    string
	err   *Error
}

// share gives each shared variable its lock, before any branch can see it. One that an outer step shares has it already.
func (r *parallelRun) share() error {
	for _, name := range r.stmt.shared {
		r.shared[name] = true
		v, err := r.f.scope.findToAssign(name)
		if err != nil {
			return err
		}
		if v != nil && v.mu == nil {
			v.mu = new(sync.Mutex)
		}
	}
	return nil
}

// all starts so many workers, which take the branches in order, and waits for them.
func (r *parallelRun) all(workers int) {
	if workers == 0 {
		return
	}
	sched := r.f.x.sched
	joined := newParking(sched)
	r.left.Store(int64(workers))
	for range workers {
		turn := sched.enter()
		go func() {
			defer sched.leave()
			if turn != nil {
				<-turn
			}
			for i := r.next.Add(1) - 1; i < r.count; i = r.next.Add(1) - 1 {
				r.branch(i)
			}
			if r.left.Add(-1) == 0 {
				joined.wake()
			}
		}()
	}
	// Not ctx: the branches see a cancel themselves, and nothing may outlive the step.
	_ = joined.wait(context.Background())
}

func (r *parallelRun) branch(i int64) {
	b, id := r.stmt.branches[0], strconv.FormatInt(i, 10)
	if r.stmt.loop == nil {
		b = r.stmt.branches[i]
		id = b.name
	}
	f := r.child(i)
	c := r.bindAndRun(f, b, i)
	r.f.x.memory.Add(-f.scope.total())
	if e := r.outcome(f, c); e != nil {
		r.mu.Lock()
		r.errors = append(r.errors, branchError{i, id, e})
		r.mu.Unlock()
	}
}

func (r *parallelRun) child(i int64) *frame {
	p := r.f
	return &frame{
		x: p.x, ctx: p.ctx, routine: p.routine, depth: p.depth, current: p.current, entry: p.entry,
		thread: &thread{id: p.thread.id + "." + strconv.FormatInt(i, 10), nesting: p.thread.nesting + 1},
		scope:  &scope{parent: p.scope, barrier: true, shared: r.shared},
	}
}

func (r *parallelRun) bindAndRun(f *frame, b branch, i int64) control {
	if r.stmt.loop != nil {
		if err := r.stmt.loop.bind(f, r.turns, i); err != nil {
			return f.fail(err)
		}
	}
	if f.x.cfg.OnStep == nil {
		return f.runBlock(b.body, "")
	}
	if r.stmt.loop != nil {
		return f.within(StepForIteration, i, r.count, func() control { return f.runBlock(b.body, "") })
	}
	e := f.openEntry(StepBranchEntry, b.name, b.line)
	c := f.runBlock(b.body, "")
	f.closeEntry(e, c)
	return c
}

// outcome is the error that a branch ended with. A branch may end early, but not leave the step.
func (r *parallelRun) outcome(f *frame, c control) *Error {
	switch c.kind {
	case raising:
		return c.err
	case jump, brk:
		return f.fail(faultf(SystemError, "cannot jump out of a parallel branch")).err
	case end, back:
		if !f.x.cfg.Semantics.EndInBranch {
			return f.fail(faultf(SystemError, "cannot return from a parallel branch")).err
		}
	}
	return nil
}

// unhandled is the error of the step: its branches' errors in the order of the branches.
func (r *parallelRun) unhandled() error {
	slices.SortFunc(r.errors, func(a, b branchError) int { return cmp.Compare(a.index, b.index) })
	limit := r.f.x.cfg.Limits.BranchErrors
	kept := r.errors
	if limit > 0 && len(kept) > limit {
		kept = kept[:limit]
	}
	semantics := r.f.x.cfg.Semantics
	var list []any
	for _, b := range kept {
		b.err.finish(semantics)
		payload := b.err.Payload
		if semantics.BranchPayloadText {
			payload = string(b.err.PayloadJSON())
		}
		list = append(list, map[string]any{"id": b.id, "error": map[string]any{"payload": payload, "context": b.err.Context}})
	}
	return &fault{
		kind:    UnhandledBranchError,
		message: "One or more branches or iterations encountered an unhandled runtime error",
		extra:   map[string]any{"branches": list, "truncated": len(kept) < len(r.errors)},
	}
}
