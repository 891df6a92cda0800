package guardtest

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"example.com/runonce/functions/guard"
)

// normal is rec as a store may hand it back: times cut to its unit, and nothing as nothing, however it is spelled.
func (b *bench) normal(rec guard.Record) guard.Record {
	rec = Clone(rec)
	cut := func(t time.Time) time.Time {
		if t.IsZero() {
			return time.Time{}
		}
		return t.UTC().Truncate(b.Coarse)
	}
	rec.LeaseExpires, rec.ExpireAt = cut(rec.LeaseExpires), cut(rec.ExpireAt)
	for i, a := range rec.Attempts {
		rec.Attempts[i].ClaimedAt, rec.Attempts[i].EndedAt = cut(a.ClaimedAt), cut(a.EndedAt)
	}
	if len(rec.Attempts) == 0 {
		rec.Attempts = nil
	}
	if len(rec.Input) == 0 {
		rec.Input = nil
	}
	if o := rec.Outcome; o != nil {
		if len(o.Body) == 0 {
			o.Body = nil
		}
		if len(o.Headers) == 0 {
			o.Headers = nil
		}
	}
	return rec
}

// contractRecords are what a store must keep whole.
func contractRecords() map[string]guard.Record {
	lease, none := 30*time.Second, time.Duration(0)
	at := time.Date(2026, time.March, 1, 12, 0, 0, 123456789, time.UTC)
	base := func(change func(*guard.Record)) guard.Record {
		r := guard.Record{
			Status: guard.InProgress, AttemptID: "a", Fence: 1, Lease: &lease, LeaseExpires: at, ExpireAt: at.Add(time.Hour),
			Fingerprint: "f", Seq: 1, Schema: 1, Attempts: []guard.AttemptEntry{{AttemptID: "a", Fence: 1, ClaimedAt: at}},
		}
		change(&r)
		return r
	}
	return map[string]guard.Record{
		"claimed":  base(func(*guard.Record) {}),
		"released": base(func(r *guard.Record) { r.Lease = &none }),
		"no lease": base(func(r *guard.Record) { r.Lease = nil }),
		"input":    base(func(r *guard.Record) { r.Input = []byte{0, 255, '"'} }),
		"completed": base(func(r *guard.Record) {
			r.Status, r.Outcome = guard.Completed, &guard.Outcome{Body: []byte(`{"a":1}`)}
		}),
		"response": base(func(r *guard.Record) {
			r.Status = guard.Completed
			r.Outcome = &guard.Outcome{Body: []byte("\x1f\x8b\x00\xff"), Code: 201, Headers: map[string][]string{"Link": {"b", "a"}, "Etag": {""}}}
		}),
		"no body":   base(func(r *guard.Record) { r.Status, r.Outcome = guard.Completed, &guard.Outcome{Code: 204} }),
		"tombstone": base(func(r *guard.Record) { r.Status, r.Outcome = guard.Completed, &guard.Outcome{Tombstone: true} }),
		"failed": base(func(r *guard.Record) {
			r.Status, r.Failure = guard.Failed, &guard.Failure{Code: "card_declined", Message: "no ключ"}
		}),
		"uncertain": base(func(r *guard.Record) { r.Status, r.Failure = guard.Uncertain, &guard.Failure{Message: "m"} }),
		"history": base(func(r *guard.Record) {
			r.Fence, r.Seq = 3, 7
			r.Attempts = []guard.AttemptEntry{{AttemptID: "x", Fence: 2, ClaimedAt: at, EndedAt: at.Add(time.Second), Ended: "released", Note: "n"}, {AttemptID: "a", Fence: 3, ClaimedAt: at}}
		}),
	}
}

func contractRoundTrip(b *bench) {
	for name, rec := range contractRecords() {
		rec.Token = "token/" + name
		v, err := b.Store.Create(b.Context(), rec)
		if err != nil {
			b.Fatalf("%s: create: %v", name, err)
		}
		got := b.snapshot(rec.Token)
		if want := b.normal(rec); !reflect.DeepEqual(b.normal(got.Record), want) || got.Version != v {
			b.Errorf("%s: created\n     %+v\nread %+v\nversions %q and %q", name, want, b.normal(got.Record), v, got.Version)
		}
		rec.Seq++
		next, err := b.Store.Update(b.Context(), v, rec)
		if err != nil {
			b.Fatalf("%s: update: %v", name, err)
		}
		got = b.snapshot(rec.Token)
		if want := b.normal(rec); !reflect.DeepEqual(b.normal(got.Record), want) || got.Version != next || next == v {
			b.Errorf("%s: updated\n     %+v\nread %+v\nversions %q, then %q and %q", name, want, b.normal(got.Record), v, next, got.Version)
		}
	}
}

func contractConditions(b *bench) {
	ctx := b.Context()
	rec := contractRecords()["claimed"]
	rec.Token = benchToken
	_, err := b.Store.Get(ctx, rec.Token)
	b.wantErr(err, guard.ErrNotFound)
	v1, err := b.Store.Create(ctx, rec)
	if err != nil {
		b.Fatal(err)
	}
	rec.Seq = 2
	_, err = b.Store.Create(ctx, rec)
	b.wantErr(err, guard.ErrExists)
	v2, err := b.Store.Update(ctx, v1, rec)
	if err != nil {
		b.Fatal(err)
	}
	before := b.snapshot(rec.Token)
	rec.Seq = 3
	_, err = b.Store.Update(ctx, v1, rec)
	b.wantErr(err, guard.ErrConflict)
	b.unchanged(before)
	other := rec
	other.Token = "another/token"
	_, err = b.Store.Update(ctx, v2, other)
	b.wantErr(err, guard.ErrConflict)
	if b.Delete == nil {
		return
	}
	if err := b.Delete(ctx, rec.Token); err != nil {
		b.Fatal(err)
	}
	_, err = b.Store.Update(ctx, v2, rec)
	b.wantErr(err, guard.ErrConflict)
	_, err = b.Store.Get(ctx, rec.Token)
	b.wantErr(err, guard.ErrNotFound)
	v3, err := b.Store.Create(ctx, rec)
	if err != nil || v3 == v1 || v3 == v2 {
		b.Errorf("create after a delete: version %q after %q and %q, error %v", v3, v1, v2, err)
	}
}

func contractStamps(b *bench) {
	rec := contractRecords()["claimed"]
	rec.Token = benchToken
	v, err := b.Store.Create(b.Context(), rec)
	if err != nil {
		b.Fatal(err)
	}
	age := func() time.Duration {
		s := b.snapshot(benchToken)
		return s.ReadAt.Sub(s.UpdatedAt)
	}
	if a := age(); a < 0 || a > slack {
		b.Errorf("a new record is %v old", a)
	}
	b.later(time.Minute)
	if a := age(); a < time.Minute || a > time.Minute+slack {
		b.Errorf("a minute later the record is %v old", a)
	}
	rec.Seq++
	if _, err := b.Store.Update(b.Context(), v, rec); err != nil {
		b.Fatal(err)
	}
	if a := age(); a < 0 || a > slack {
		b.Errorf("a record that was just written is %v old", a)
	}
}

func contractOneWinner(b *bench) {
	rec := contractRecords()["claimed"]
	rec.Token = benchToken
	if won := race(func() error { _, err := b.Store.Create(b.Context(), rec); return b.not(err, guard.ErrExists) }); won != 1 {
		b.Errorf("%d concurrent creates won, want 1", won)
	}
	v := b.snapshot(benchToken).Version
	var seq atomic.Int64
	if won := race(func() error {
		mine := Clone(rec)
		mine.Seq = 100 + seq.Add(1)
		_, err := b.Store.Update(b.Context(), v, mine)
		return b.not(err, guard.ErrConflict)
	}); won != 1 {
		b.Errorf("%d concurrent updates of one version won, want 1", won)
	}
}

// not complains of an error that is neither nil nor the refusal.
func (b *bench) not(err, refusal error) error {
	if err != nil && !errors.Is(err, refusal) {
		b.Errorf("error %v, want nil or %v", err, refusal)
	}
	return err
}

// race calls f concurrently and counts who won.
func race(f func() error) (won int64) {
	var wg sync.WaitGroup
	var n atomic.Int64
	for range 12 {
		wg.Go(func() {
			if f() == nil {
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return n.Load()
}
