package guardtest

import (
	"context"
	"errors"
	"sync/atomic"

	"example.com/runonce/functions/guard"
)

// historyTellsTheStory: each attempt leaves a line: a release, a crash, an end.
func historyTellsTheStory(b *bench) {
	if _, err := b.finish(benchToken, "", errors.New("not today")); err == nil {
		b.Error("the first attempt did not fail")
	}
	b.process().crash(benchToken)
	b.later(benchLease)
	var n atomic.Int64
	got, err := b.process().do(benchToken, "done", &n)
	b.want(got, err, "done", false)
	rec := b.snapshot(benchToken).Record
	var ended []string
	for i, a := range rec.Attempts {
		ended = append(ended, a.Ended)
		if a.Fence != int64(i+1) || a.AttemptID == "" || a.ClaimedAt.IsZero() {
			b.Errorf("line %d of the history is %+v", i+1, a)
		}
	}
	want := []string{"released", "taken_over", "completed"}
	if len(ended) != len(want) {
		b.Fatalf("the attempts ended %q, want %q", ended, want)
	}
	for i := range want {
		if ended[i] != want[i] {
			b.Errorf("the attempts ended %q, want %q", ended, want)
			break
		}
	}
	if rec.Token != benchToken {
		b.Errorf("the record's token is %q", rec.Token)
	}
}

// newerSchemaIsRefused: a record that a newer version wrote is neither misread nor changed.
func newerSchemaIsRefused(b *bench) {
	for _, status := range []guard.Status{guard.InProgress, guard.Completed, "a word that is not known yet"} {
		name := string(status)
		if len(name) > 12 {
			name = "unknown"
		}
		b.each(name, func(b *bench, token string) {
			rec := contractRecords()["released"]
			rec.Token, rec.Status, rec.Schema = token, status, 99
			if _, err := b.Store.Create(b.Context(), rec); err != nil {
				b.Fatal(err)
			}
			before := b.snapshot(token)
			var n atomic.Int64
			_, err := b.process().do(token, "mine", &n)
			b.wantErr(err, guard.ErrNewerSchema)
			b.wantCount(&n, 0)
			b.unchanged(before)
		})
	}
}

// settleByAnOperator: an uncertain step is settled by hand, conditionally; a live attempt is not settled over.
func settleByAnOperator(b *bench) {
	never := func(e *guard.Effect[string]) { e.Repeat = guard.Never }
	settled := guard.Settlement{
		Status: guard.Completed, Outcome: &guard.Outcome{Body: []byte(`"by hand"`)}, Actor: "ops", Reason: "the bank says it was paid",
	}
	b.each("uncertain_to_completed", func(b *bench, token string) {
		_, err := b.finish(token, "", errors.New("who knows"), never)
		b.wantErr(err, guard.ErrUncertain)
		if _, err := b.process().Settle(b.Context(), token, settled); err != nil {
			b.Fatal(err)
		}
		var n atomic.Int64
		got, err := b.process().do(token, "again", &n)
		b.want(got, err, "by hand", true)
		b.wantCount(&n, 0)
	})
	b.each("live_is_refused", func(b *bench, token string) {
		run := b.process().stick(token, func(context.Context) (string, error) { return "mine", nil })
		before := b.snapshot(token)
		if _, err := b.process().Settle(b.Context(), token, settled); err == nil {
			b.Error("a live attempt was settled over")
		}
		b.unchanged(before)
		got, err := run.letGo()
		b.want(got, err, "mine", false)
	})
	b.each("loses_to_a_newer_write", func(b *bench, token string) {
		_, err := b.finish(token, "", errors.New("who knows"), never)
		b.wantErr(err, guard.ErrUncertain)
		p := b.process()
		p.faults.Add(Fault{Kind: Hold, Method: Update, N: 1, Gate: opened(), Do: func() {
			other := settled
			other.Outcome = &guard.Outcome{Body: []byte(`"by another hand"`)}
			if _, err := b.process().Settle(b.Context(), token, other); err != nil {
				b.Error(err)
			}
		}})
		if _, err := p.Settle(b.Context(), token, settled); err == nil {
			b.Error("the slower hand was told that it settled the step")
		}
		var n atomic.Int64
		got, err := b.process().do(token, "again", &n)
		b.want(got, err, "by another hand", true)
	})
}
