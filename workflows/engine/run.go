package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"example.com/runonce/workflows/syntax"
)

// Run compiles a workflow and runs one execution of it; see Program.Run.
func Run(ctx context.Context, w *syntax.Workflow, argument json.RawMessage, cfg Config) (json.RawMessage, error) {
	p, err := Compile(w)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, argument, cfg)
}

// Run runs one execution with the argument (JSON; empty is null) and returns its result as JSON.
//
// The error is an *Error where the workflow raised one that nobody caught, or broke a limit; ctx's error, wrapped, where
// it was cancelled, in which case an HTTP call under way was cancelled too; and another error where the argument is no
// JSON. Nothing is retried by the caller's leave: whether a run may be repeated is the workflow's matter.
func (p *Program) Run(ctx context.Context, argument json.RawMessage, cfg Config) (json.RawMessage, error) {
	x := &execution{program: p, cfg: cfg.withDefaults()}
	x.sched = schedulerOf(x.cfg.Clock)
	if turn := x.sched.enter(); turn != nil {
		<-turn
	}
	defer x.sched.leave()
	defer x.cfg.Callbacks.forget(x.cfg.ExecutionID)
	arg, err := x.argument(argument)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer x.expire(cancel)()
	return x.run(ctx, arg)
}

// expire ends the execution when its longest life is over. The time is held from then on, until the execution has noticed:
// a cancel wakes its goroutines one by one, and no timer may come between.
func (x *execution) expire(cancel context.CancelCauseFunc) (stop func()) {
	d := x.cfg.Limits.Duration
	if d <= 0 {
		return func() {}
	}
	held := make(chan func(), 1)
	stopTimer := x.cfg.Clock.AfterFunc(d, func() { held <- x.sched.Hold(); cancel(errExpired) })
	return func() {
		stopTimer()
		select {
		case release := <-held:
			release()
		default:
		}
	}
}

var errExpired = fmt.Errorf("execution exceeded its maximum duration")

// execution is one run of a program: what its threads share.
type execution struct {
	program *Program
	cfg     Config
	sched   scheduler
	steps   atomic.Int64
	memory  atomic.Int64
	entries stepLog
}

func (x *execution) argument(raw json.RawMessage) (any, error) {
	if n := x.cfg.Limits.Argument; n > 0 && int64(len(raw)) > n {
		e := x.errorOf(faultf(ResourceLimitError, "argument exceeds %d bytes", n))
		return nil, e.finish(x.cfg.Semantics)
	}
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("argument is no JSON: %w", err)
	}
	return v, nil
}

func (x *execution) run(ctx context.Context, arg any) (json.RawMessage, error) {
	main := x.program.main
	f := &frame{x: x, ctx: ctx, thread: &thread{id: "0"}, routine: main, scope: newScope(nil)}
	var args []any
	if len(main.params) > 0 && (arg != nil || main.params[0].fallback == nil) {
		args = []any{arg}
	}
	value, err := f.activate(args)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("execution %s cancelled: %w", x.cfg.ExecutionID, context.Cause(ctx))
	}
	if err != nil {
		return nil, x.raise(err).finish(x.cfg.Semantics)
	}
	result, err := encodeJSON(value)
	if err != nil {
		return nil, x.raise(err).finish(x.cfg.Semantics)
	}
	return result, nil
}

// callRoutine runs a subworkflow from the step under way. given tells which args were passed; nil means the first
// len(args).
func (f *frame) callRoutine(r *routine, args []any, given []bool) (any, error) {
	if n := f.x.cfg.Limits.Depth; n > 0 && f.depth+1 >= n {
		return nil, faultf(RecursionError, "Maximum call depth exceeded: %d", n)
	}
	if len(args) > len(r.params) {
		return nil, faultf(TypeError, "%s takes %d arguments, got %d", r.name, len(r.params), len(args))
	}
	sub := &frame{x: f.x, ctx: f.ctx, thread: f.thread, routine: r, scope: newScope(nil), depth: f.depth + 1, entry: f.entry}
	return sub.activateWith(args, given)
}

func (f *frame) activate(args []any) (any, error) { return f.activateWith(args, nil) }

// activateWith binds the parameters, runs the routine's body and returns its value. The error is an *Error, with the
// frames of this routine and those it called, or a context's error.
func (f *frame) activateWith(args []any, given []bool) (any, error) {
	defer func() { f.x.memory.Add(-f.scope.total()) }()
	for i, p := range f.routine.params {
		value, err := f.argumentFor(p, i, args, given)
		if err != nil {
			return nil, err
		}
		size := sizeOf(value)
		f.scope.declare(p.name, value, size)
		if err := f.charge(size); err != nil {
			return nil, err
		}
	}
	outermost := f.scope
	c := f.runBlock(f.routine.body, "")
	f.scope = outermost
	switch c.kind {
	case back:
		return c.value, nil
	case raising:
		return nil, c.err
	case abortRun:
		return nil, f.ctx.Err()
	case jump:
		return nil, faultf(SystemError, "jump to %q, which cannot be reached from here", c.target)
	}
	return nil, nil
}

func (f *frame) argumentFor(p param, i int, args []any, given []bool) (any, error) {
	if i < len(args) && (given == nil || given[i]) {
		return args[i], nil
	}
	if p.fallback == nil {
		return nil, faultf(TypeError, "%s: missing argument %q", f.routine.name, p.name)
	}
	return p.fallback.eval(f)
}
