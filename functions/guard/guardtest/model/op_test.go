package model

import (
	"context"
	"errors"
	"fmt"

	"example.com/runonce/functions/guard"
)

var (
	errUnknown = errors.New("no answer came")
	errDead    = errors.New("the process is dead")
	errRefused = errors.New("the callee refused the request")
)

// reply is the answer to an op; which fields count depends on the op.
type reply struct {
	version guard.Version
	snap    guard.Snapshot
	value   string
	found   bool
	err     error
}

// op is a call that waits at its scheduling point. After it was abandoned it is a ghost: it may still be carried out,
// and nobody hears the answer.
type op struct {
	name   string // unique in a schedule: actor, number, method
	actor  *actor
	effect bool        // Do or Find, not a store call
	lost   func() bool // whether the context of the call has ended
	exec   func() reply
	late   *reply // the answer, where it was made but is still on its way
	answer chan reply
}

// call stops at a scheduling point until the explorer decides. A caller whose context ends leaves a ghost behind.
func (a *actor) call(ctx context.Context, method string, effect bool, exec func() reply) reply {
	if a.dead() {
		return reply{err: errDead}
	}
	if !effect && ctx.Err() != nil {
		return reply{err: context.Cause(ctx)}
	}
	o := &op{actor: a, effect: effect, exec: exec, answer: make(chan reply, 1), lost: func() bool { return ctx.Err() != nil }}
	a.world.post(o, method)
	done := ctx.Done()
	if effect {
		done = nil // an effect that looks away from its context: the worst that a zombie can do
	}
	select {
	case r := <-o.answer:
		return r
	case <-done:
		a.world.abandon(o)
		return reply{err: context.Cause(ctx)}
	}
}

// port is the store as one process sees it.
type port struct{ *actor }

func (p port) Create(ctx context.Context, rec guard.Record) (guard.Version, error) {
	r := p.call(ctx, "Create", false, func() reply { return p.world.server.create(p.actor, rec) })
	return r.version, r.err
}

func (p port) Get(ctx context.Context, token string) (guard.Snapshot, error) {
	r := p.call(ctx, "Get", false, func() reply { return p.world.server.get(token) })
	return r.snap, r.err
}

func (p port) Update(ctx context.Context, v guard.Version, rec guard.Record) (guard.Version, error) {
	r := p.call(ctx, "Update", false, func() reply { return p.world.server.update(p.actor, v, rec) })
	return r.version, r.err
}

// describe puts what a caller learnt into its history, so that equal histories mean equal callers.
func (r reply) describe(s *server) string {
	content := uint64(0)
	if r.snap.Version != "" {
		content = s.contents[r.snap.Version]
	}
	return fmt.Sprint(r.version, r.snap.Version, content, r.snap.ReadAt.UnixNano(), r.value, r.found, r.err)
}
