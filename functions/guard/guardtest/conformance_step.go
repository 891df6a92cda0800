package guardtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"example.com/runonce/functions/guard"
)

// B7: a handler that changes its input changes neither the record nor its key.
func handlerChangesItsInput(b *bench) {
	r := guard.Request{Token: benchToken, Fingerprint: "payload", Input: []byte("as it came")}
	_, err := guard.Do(b.Context(), b.process().Guard, guard.Effect[string]{
		Request: r,
		Do: func(context.Context, guard.Attempt) (string, error) {
			copy(r.Input, "CHANGED!!!")
			return "done", nil
		},
	})
	b.wantErr(err, nil)
	if got := string(b.snapshot(benchToken).Record.Input); got != "as it came" {
		b.Errorf("the record's input is %q", got)
	}
	var n atomic.Int64
	got, err := b.process().do(benchToken, "again", &n)
	b.want(got, err, "done", true)
}

// B8: a guard inside a guard, on one Guard: each completes and replays its own.
func nestedGuardsShareNothing(b *bench) {
	var inner, outer atomic.Int64
	p := b.process()
	e := guard.Effect[string]{
		Request: guard.Request{Token: "run/outer"},
		Do: func(ctx context.Context, a guard.Attempt) (string, error) {
			outer.Add(1)
			got, err := guard.Do(ctx, p.Guard, guard.Effect[string]{
				Request: guard.Request{Token: "run/inner"},
				Do: func(ctx context.Context, a guard.Attempt) (string, error) {
					inner.Add(1)
					if guard.TokenFrom(ctx) != "run/inner" || a.Token != "run/inner" {
						b.Errorf("inside: token %q and attempt of %q", guard.TokenFrom(ctx), a.Token)
					}
					return "inner", nil
				},
			})
			if at, ok := guard.AttemptFrom(ctx); !ok || at.ID != a.ID || guard.TokenFrom(ctx) != a.Token {
				b.Errorf("after the inner step the context is of attempt %+v", at)
			}
			return "outer of " + got.Value, err
		},
	}
	for _, replayed := range []bool{false, true} {
		got, err := guard.Do(b.Context(), p.Guard, e)
		b.want(got, err, "outer of inner", replayed)
	}
	e.Request.Token = "run/other"
	got, err := guard.Do(b.Context(), p.Guard, e)
	b.want(got, err, "outer of inner", false)
	b.wantCount(&outer, 2)
	b.wantCount(&inner, 1)
}

// B12: what is no token is refused before the store is asked, so that two such requests never meet.
func badTokenIsRefused(b *bench) {
	for name, token := range map[string]string{
		"empty": "", "blank": " ", "tab": "\t", "newline": "a\nb", "control": "a\x00b", "too_long": strings.Repeat("x", 2000), "not_utf8": "a\xff",
	} {
		b.each(name, func(b *bench, _ string) {
			var n atomic.Int64
			p := b.process()
			_, err := p.do(token, "x", &n)
			b.wantErr(err, guard.ErrBadToken)
			b.wantCount(&n, 0)
			if calls := p.faults.Count(""); calls != 0 {
				b.Errorf("%d store calls, want none", calls)
			}
		})
	}
}

// B13: the guard compares the fingerprint that it is given, byte for byte; making one is not the store's.
func canonicalFingerprint(b *bench) {
	b.Skip("a store gets fingerprints ready-made; tokens' golden vectors hold how they are made, B10 how they are compared")
}

// B14: the record is found by its token alone, whatever type, function or Guard asks.
func namesInCodeDoNotMatter(b *bench) {
	type before struct{ Order string }
	type renamed struct{ Order string }
	_, err := guard.Do(b.Context(), b.process().Guard, guard.Effect[before]{
		Request: guard.Request{Token: benchToken},
		Do:      func(context.Context, guard.Attempt) (before, error) { return before{"o1"}, nil },
	})
	b.wantErr(err, nil)
	got, err := guard.Do(b.Context(), b.process().Guard, guard.Effect[renamed]{
		Request: guard.Request{Token: benchToken},
		Do:      func(context.Context, guard.Attempt) (renamed, error) { return renamed{"again"}, nil },
	})
	if err != nil || !got.Replayed || got.Value.Order != "o1" {
		b.Errorf("after a refactoring: %+v, replayed %t, error %v", got.Value, got.Replayed, err)
	}
}

// B22: sub-steps that run concurrently, in any order, are known by name; each happens once and gets its own value.
func concurrentStepsByName(b *bench) {
	const steps = 12
	var counts [steps]atomic.Int64
	for round := range 3 {
		p := b.process()
		var wg sync.WaitGroup
		for _, i := range rand.Perm(steps) {
			wg.Go(func() {
				got, err := p.do(fmt.Sprintf("run/item/%d", i), fmt.Sprint("value ", i), &counts[i])
				b.want(got, err, fmt.Sprint("value ", i), round > 0)
			})
		}
		wg.Wait()
	}
	for i := range counts {
		b.wantCount(&counts[i], 1)
	}
}

// B24: a retry of a run keeps its token and replays; a run on purpose has another token and runs.
func retryKeepsRerunChanges(b *bench) {
	var n atomic.Int64
	for _, row := range []struct {
		token    string
		replayed bool
	}{{"run1/step", false}, {"run1/step", true}, {"run2/step", false}, {"run2/step", true}, {"run1/step", true}} {
		got, err := b.process().do(row.token, row.token, &n)
		b.want(got, err, row.token, row.replayed)
	}
	b.wantCount(&n, 2)
}

// B31: a duplicate is told the outcome, not an error; one that comes too early is told how long to wait.
func duplicateIsNoError(b *bench) {
	var n atomic.Int64
	first := b.process().stick(benchToken, func(context.Context) (string, error) { n.Add(1); return "first", nil })
	early := b.process()
	_, err := early.do(benchToken, "second", &n)
	b.wantInProgress(err)
	got, err := first.letGo()
	b.want(got, err, "first", false)
	late := b.process()
	got, err = late.do(benchToken, "second", &n)
	b.want(got, err, "first", true)
	b.wantCount(&n, 1)
	if r, p := early.events.count(guard.Refused), late.events.count(guard.Replayed); r != 1 || p != 1 {
		b.Errorf("%d refusals and %d replays were observed, want one each", r, p)
	}
}

// B33: the cache keeps as many outcomes as it may and no more, and a record's history likewise.
func localStateIsBounded(b *bench) {
	b.each("cache", func(b *bench, token string) {
		const size = 4
		p := b.process(func(c *guard.Config) { c.Cache = size })
		var n atomic.Int64
		name := func(i int) string { return fmt.Sprintf("%s/%d", token, i) }
		for i := range 5 * size {
			_, _ = p.do(name(i), "x", &n)
		}
		cached := 0
		for i := range 5 * size {
			before := p.faults.Count("")
			_, _ = p.do(name(5*size-1-i), "y", &n)
			if p.faults.Count("") == before {
				cached++
			}
		}
		if cached > size {
			b.Errorf("%d outcomes were cached, want %d at the most", cached, size)
		}
		b.wantCount(&n, 5*size)
	})
	b.each("history", func(b *bench, token string) {
		p := b.process(func(c *guard.Config) { c.MaxHistory = 3 })
		for range 9 {
			_, _ = guard.Do(b.Context(), p.Guard, guard.Effect[string]{
				Request: guard.Request{Token: token},
				Do:      func(context.Context, guard.Attempt) (string, error) { return "", errors.New("again") },
			})
		}
		rec := b.snapshot(token).Record
		if len(rec.Attempts) > 3 || rec.Fence != 9 {
			b.Errorf("%d attempts kept of %d, want 3 at the most of 9", len(rec.Attempts), rec.Fence)
		}
	})
}
