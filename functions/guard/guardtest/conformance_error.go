package guardtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"example.com/runonce/functions/guard"
)

// B17: the store goes away after the effect. The caller hears it, and the next attempt does not repeat blindly.
func storeFailsAfterTheEffect(b *bench) {
	found := func(e *guard.Effect[string]) {
		e.Find = func(context.Context, guard.Attempt) (string, bool, error) { return "found", true, nil }
	}
	for name, row := range map[string]struct {
		tune func(*guard.Effect[string])
		ok   bool // whether the next attempt succeeds
	}{
		"find":  {found, true},
		"never": {func(e *guard.Effect[string]) { e.Repeat = guard.Never }, false},
	} {
		b.each(name, func(b *bench, token string) {
			var n atomic.Int64
			e := step(token, "done", &n)
			row.tune(&e)
			p := b.process()
			p.faults.Add(Fault{Kind: Refuse, Method: Update})
			p.faults.Add(Fault{Kind: Refuse, Method: Get})
			happened, ended := make(chan struct{}), make(chan struct{})
			counted := e.Do
			e.Do = func(ctx context.Context, a guard.Attempt) (string, error) {
				defer close(happened)
				return counted(ctx, a)
			}
			go func() {
				<-happened
				p.clock.drive(ended)
			}()
			_, err := guard.Do(b.Context(), p.Guard, e)
			close(ended)
			e.Do = counted
			if err == nil {
				b.Error("the caller was told that all is recorded")
			}
			b.wantCount(&n, 1)
			b.later(benchLease)
			got, err := guard.Do(b.Context(), b.process().Guard, e)
			b.wantCount(&n, 1)
			if !row.ok {
				b.wantErr(err, guard.ErrUncertain)
				return
			}
			if err != nil || got.Value != "found" || !got.Found {
				b.Errorf("the next attempt got %q, found %t, error %v", got.Value, got.Found, err)
			}
		})
	}
}

// drive moves the clock on while somebody waits for it, until ended is closed.
func (c *Clock) drive(ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		default:
			c.Advance(time.Millisecond)
			runtime.Gosched()
		}
	}
}

// B18: on every write in turn the answer is lost, or the call is refused without the caller knowing.
func lostAnswers(b *bench) {
	for _, kind := range []Kind{Lose, Refuse} {
		for _, method := range []string{Create, Update} {
			b.each(string(kind)+"_"+method, func(b *bench, token string) {
				var n atomic.Int64
				p := b.process()
				p.faults.Add(Fault{Kind: kind, Method: method, N: 1})
				got, err := p.do(token, "mine", &n)
				b.want(got, err, "mine", false)
				b.wantCount(&n, 1)
				if rec := b.snapshot(token).Record; rec.Status != guard.Completed || rec.Fence != 1 {
					b.Errorf("the record is %s with fence %d, want completed with 1", rec.Status, rec.Fence)
				}
			})
		}
		b.each(string(kind)+"_takeover", func(b *bench, token string) {
			b.process().crash(token)
			b.later(benchLease)
			var n atomic.Int64
			p := b.process()
			p.faults.Add(Fault{Kind: kind, Method: Update, N: 1})
			got, err := p.do(token, "mine", &n)
			b.want(got, err, "mine", false)
			b.wantCount(&n, 1)
			if rec := b.snapshot(token).Record; rec.Fence != 2 {
				b.Errorf("fence %d, want 2", rec.Fence)
			}
		})
		b.each(string(kind)+"_release", func(b *bench, token string) {
			p := b.process()
			p.faults.Add(Fault{Kind: kind, Method: Update, N: 1})
			_, err := guard.Do(b.Context(), p.Guard, guard.Effect[string]{
				Request: guard.Request{Token: token, Fingerprint: "payload"},
				Do:      func(context.Context, guard.Attempt) (string, error) { return "", errKilled },
			})
			b.wantErr(err, errKilled)
			b.later(benchLease)
			var n atomic.Int64
			got, err := b.process().do(token, "mine", &n)
			b.want(got, err, "mine", false)
		})
	}
}

// B19: a client library sends a call twice and hands up the second answer.
func clientSendsTwice(b *bench) {
	for _, method := range []string{Create, Get, Update} {
		b.each(method, func(b *bench, token string) {
			var n atomic.Int64
			p := b.process()
			p.faults.Add(Fault{Kind: Duplicate, Method: method})
			got, err := p.do(token, "mine", &n)
			b.want(got, err, "mine", false)
			got, err = p.do(token, "mine", &n)
			b.want(got, err, "mine", true)
			b.wantCount(&n, 1)
		})
	}
}

// B28: whatever fails between claim and effect, the claim is given up at once, and a success is never clobbered.
func earlyFailureFreesTheClaim(b *bench) {
	b.each("panic", func(b *bench, token string) {
		p := b.process()
		func() {
			defer func() { _ = recover() }()
			_, _ = guard.Do(b.Context(), p.Guard, guard.Effect[string]{
				Request: guard.Request{Token: token, Fingerprint: "payload"},
				Do:      func(context.Context, guard.Attempt) (string, error) { panic("in the effect") },
			})
		}()
		var n atomic.Int64
		got, err := b.process().do(token, "mine", &n)
		b.want(got, err, "mine", false)
	})
	b.each("cancelled_after_the_claim", func(b *bench, token string) {
		ctx, cancel := context.WithCancel(b.Context())
		p := b.process()
		var n atomic.Int64
		p.faults.Add(Fault{Kind: HoldAnswer, Method: Create, Gate: opened(), Do: cancel})
		_, _ = guard.Do(ctx, p.Guard, step(token, "first", &n))
		b.later(benchLease)
		got, err := b.process().do(token, "first", &n)
		if err != nil || got.Value != "first" {
			b.Errorf("the next delivery got %q, error %v", got.Value, err)
		}
		b.wantCount(&n, 1)
	})
	b.each("cancelled_in_the_effect", func(b *bench, token string) {
		ctx, cancel := context.WithCancel(b.Context())
		p := b.process()
		_, err := guard.Do(ctx, p.Guard, guard.Effect[string]{
			Request: guard.Request{Token: token, Fingerprint: "payload"},
			Do:      func(context.Context, guard.Attempt) (string, error) { cancel(); return "done", nil },
		})
		b.wantErr(err, nil)
		var n atomic.Int64
		got, err := b.process().do(token, "again", &n)
		b.want(got, err, "done", true)
		b.wantCount(&n, 0)
	})
}

// B29: which errors are recorded for good, which give the claim up, and which leave it open.
func classesOfErrors(b *bench) {
	plain := errors.New("plain")
	never := func(e *guard.Effect[string]) { e.Repeat = guard.Never }
	safe := func(*guard.Effect[string]) {}
	for name, row := range map[string]struct {
		err   error
		tune  func(*guard.Effect[string])
		next  error // what the next delivery gets; nil: it runs
		state guard.Status
	}{
		"plain":                     {plain, safe, nil, guard.InProgress},
		"context":                   {context.DeadlineExceeded, safe, nil, guard.InProgress},
		"permanent":                 {guard.Permanent(plain), safe, guard.ErrFailed, guard.Failed},
		"permanent_wrapped":         {fmt.Errorf("outer: %w", guard.Permanent(plain)), safe, guard.ErrFailed, guard.Failed},
		"never_plain":               {plain, never, guard.ErrUncertain, guard.Uncertain},
		"never_permanent":           {guard.Permanent(plain), never, guard.ErrFailed, guard.Failed},
		"never_not_applied":         {guard.NotApplied(plain), never, nil, guard.InProgress},
		"never_not_applied_wrapped": {fmt.Errorf("outer: %w", guard.NotApplied(plain)), never, nil, guard.InProgress},
	} {
		b.each(name, func(b *bench, token string) {
			_, err := b.finish(token, "", row.err, row.tune)
			if err == nil {
				b.Error("the failing delivery was told that all is well")
			}
			if !errors.Is(row.err, context.DeadlineExceeded) && !errors.Is(err, plain) {
				b.Errorf("the failing delivery got %v, which hides its own error", err)
			}
			if got := b.snapshot(token).Record.Status; got != row.state {
				b.Errorf("the record is %s, want %s", got, row.state)
			}
			var n atomic.Int64
			e := step(token, "second", &n)
			row.tune(&e)
			got, err := guard.Do(b.Context(), b.process().Guard, e)
			if row.next != nil {
				b.wantErr(err, row.next)
				b.wantCount(&n, 0)
				return
			}
			b.want(got, err, "second", false)
		})
	}
}

// B32: a permanent failure is the same to whoever caused it and to every duplicate, through wrapping and the store.
func errorsSurviveTheStore(b *bench) {
	declined := &guard.FailedError{Code: "card_declined", Message: "no funds"}
	cause := fmt.Errorf("charge: %w", guard.Permanent(fmt.Errorf("bank: %w", declined)))
	_, fresh := b.finish(benchToken, "", cause)
	_, replayed := b.finish(benchToken, "other", nil)
	for name, err := range map[string]error{"fresh": fresh, "replayed": replayed} {
		wrapped := fmt.Errorf("handler: %w", err)
		b.wantErr(wrapped, guard.ErrFailed)
		var failed *guard.FailedError
		if !errors.As(wrapped, &failed) || failed.Code != declined.Code {
			b.Errorf("%s: error %v holds %+v, want code %s", name, err, failed, declined.Code)
		}
	}
}
