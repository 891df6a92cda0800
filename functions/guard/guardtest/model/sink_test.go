package model

import (
	"context"
	"fmt"

	"example.com/runonce/functions/guard"
)

const token = "run/step"

// sink is the world that effects change. applied lists each change that was really made.
type sink struct {
	kind    sinkKind
	applied []string
	floor   int64 // fenced: the highest fence that came
}

type sinkKind string

const (
	// plain makes a change per request; the step says Repeat: Never.
	plain sinkKind = "plain callee, Repeat: Never"
	// dedup makes one change per token and answers a duplicate with the first; the step says Repeat: Safe.
	dedup sinkKind = "callee that takes the token, Repeat: Safe"
	// fenced refuses a fence that is older than one it saw, and can be asked; the step has Find.
	fenced sinkKind = "callee that takes the fence, Find"
)

func (s *sink) do(a guard.Attempt) reply {
	switch {
	case s.kind == dedup && len(s.applied) > 0:
		return reply{value: s.applied[0]}
	case s.kind == fenced && a.Fence < s.floor:
		return reply{err: errRefused}
	case s.kind == fenced && len(s.applied) > 0 && a.Fence == s.floor:
		return reply{value: s.applied[len(s.applied)-1]}
	}
	s.floor = a.Fence
	value := fmt.Sprintf("effect %d by %s", len(s.applied)+1, a.ID)
	s.applied = append(s.applied, value)
	return reply{value: value}
}

func (s *sink) find(a guard.Attempt) reply {
	s.floor = max(s.floor, a.Fence)
	if len(s.applied) == 0 {
		return reply{}
	}
	return reply{value: s.applied[0], found: true}
}

// effect is the guarded step of one actor.
func (a *actor) effect(kind sinkKind) guard.Effect[string] {
	s := a.world.sink
	e := guard.Effect[string]{
		Request: guard.Request{Token: token, Fingerprint: a.fingerprint},
		Do: func(ctx context.Context, at guard.Attempt) (string, error) {
			r := a.call(ctx, "Do", true, func() reply { return s.do(at) })
			return r.value, r.err
		},
	}
	switch kind {
	case plain:
		e.Repeat = guard.Never
	case fenced:
		e.Find = func(ctx context.Context, at guard.Attempt) (string, bool, error) {
			r := a.call(ctx, "Find", true, func() reply { return s.find(at) })
			return r.value, r.found, r.err
		}
	}
	return e
}
