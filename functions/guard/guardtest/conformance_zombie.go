package guardtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"example.com/runonce/functions/guard"
)

// B5: a zombie that succeeds, and one that fails, after a takeover: record, replay and count stay the owner's.
func zombieChangesNothing(b *bench) {
	ends := map[string]func(context.Context) (string, error){
		"succeeds":          func(context.Context) (string, error) { return "zombie", nil },
		"fails":             func(context.Context) (string, error) { return "", errors.New("zombie") },
		"fails_permanently": func(context.Context) (string, error) { return "", guard.Permanent(errors.New("zombie")) },
	}
	for name, end := range ends {
		b.each(name+"_after_the_owner_finished", func(b *bench, token string) {
			var n atomic.Int64
			zombie := b.process().stick(token, end)
			b.later(benchLease)
			owner := b.process()
			got, err := owner.do(token, "owner", &n)
			b.want(got, err, "owner", false)
			before := b.snapshot(token)
			late, err := zombie.letGo()
			if err == nil && late.Value != "owner" {
				b.Errorf("the zombie was told %q", late.Value)
			}
			b.unchanged(before)
			got, err = b.process().do(token, "third", &n)
			b.want(got, err, "owner", true)
			b.wantCount(&n, 1)
		})
		b.each(name+"_while_the_owner_runs", func(b *bench, token string) {
			var n atomic.Int64
			zombie := b.process().stick(token, end)
			b.later(benchLease)
			owner := b.process().stick(token, func(context.Context) (string, error) { n.Add(1); return "owner", nil })
			before := b.snapshot(token)
			_, err := zombie.letGo()
			b.wantErr(err, guard.ErrLost)
			b.unchanged(before)
			got, err := owner.letGo()
			b.want(got, err, "owner", false)
			got, err = b.process().do(token, "third", &n)
			b.want(got, err, "owner", true)
			b.wantCount(&n, 1)
		})
	}
}

// B6: whoever is refused, or only replays, leaves the record equal in every byte, and its version too.
func refusedCallerChangesNothing(b *bench) {
	other := func(e *guard.Effect[string]) { e.Request.Fingerprint = "another payload" }
	never := func(e *guard.Effect[string]) { e.Repeat = guard.Never }
	made := map[string]func(b *bench, token string){
		"in_progress": func(b *bench, token string) {
			b.process().stick(token, func(context.Context) (string, error) { return "first", nil })
		},
		"completed": func(b *bench, token string) { b.finish(token, "first", nil) },
		"failed":    func(b *bench, token string) { b.finish(token, "", guard.Permanent(errors.New("declined"))) },
		"uncertain": func(b *bench, token string) { b.finish(token, "", errors.New("who knows"), never) },
	}
	for name, make := range made {
		for payload, tune := range map[string]func(*guard.Effect[string]){"same_payload": func(*guard.Effect[string]) {}, "other_payload": other} {
			b.each(name+"_"+payload, func(b *bench, token string) {
				make(b, token)
				before := b.snapshot(token)
				var n atomic.Int64
				e := step(token, "second", &n)
				tune(&e)
				_, _ = guard.Do(b.Context(), b.process().Guard, e)
				b.unchanged(before)
				b.wantCount(&n, 0)
			})
		}
	}
}

// finish runs a step to its end.
func (b *bench) finish(token, value string, err error, tune ...func(*guard.Effect[string])) (guard.Result[string], error) {
	b.Helper()
	e := guard.Effect[string]{
		Request: guard.Request{Token: token, Fingerprint: "payload"},
		Do:      func(context.Context, guard.Attempt) (string, error) { return value, err },
	}
	for _, f := range tune {
		f(&e)
	}
	return guard.Do(b.Context(), b.process().Guard, e)
}

// B21: an attempt that lost its claim does not go on: its context ends with ErrLost, and its later guard calls refuse.
func loserStops(b *bench) {
	var n atomic.Int64
	p := b.process()
	loser := p.stick(benchToken, func(ctx context.Context) (string, error) {
		_, err := guard.Do(context.WithoutCancel(ctx), p.Guard, step("run/later", "later", &n))
		return "", err
	})
	b.later(benchLease)
	var owner atomic.Int64
	got, err := b.process().do(benchToken, "owner", &owner)
	b.want(got, err, "owner", false)
	loser.clock.Advance(benchLease / 3) // its next renewal is due; by its own count its lease still lasts
	b.await(loser.ctx.Done(), "the loser's context does not end with the renewal that was refused")
	b.wantErr(context.Cause(loser.ctx), guard.ErrLost)
	_, err = loser.letGo()
	b.wantErr(err, guard.ErrLost)
	b.wantCount(&n, 0)
	if _, err := b.Store.Get(b.Context(), "run/later"); !errors.Is(err, guard.ErrNotFound) {
		b.Errorf("the loser claimed a later step (error %v)", err)
	}
}

// B30: a renewal whose answer was lost is recognised as one's own; the holder goes on.
func lostRenewalAnswer(b *bench) {
	for _, kind := range []Kind{Lose, Refuse, Duplicate} {
		b.each(string(kind), func(b *bench, token string) {
			var n atomic.Int64
			holder := b.process().stick(token, func(ctx context.Context) (string, error) {
				n.Add(1)
				return "mine", context.Cause(ctx)
			})
			claimed := b.snapshot(token)
			holder.faults.Add(Fault{Kind: kind, Method: Update, N: 1})
			for range 2 {
				b.later(benchLease / 3)
				holder.clock.Advance(benchLease / 3)
			}
			b.eventually("the holder does not renew", func() bool { return holder.events.count(guard.Renewed) >= 1 })
			if b.snapshot(token).Version == claimed.Version {
				b.Error("no renewal reached the store")
			}
			got, err := holder.letGo()
			b.want(got, err, "mine", false)
			b.wantCount(&n, 1)
		})
	}
}

// eventually polls for what another goroutine is about to do.
func (b *bench) eventually(problem string, ok func() bool) {
	b.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			b.Fatal(problem)
		}
		time.Sleep(time.Millisecond)
	}
}
