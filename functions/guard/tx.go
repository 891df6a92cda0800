package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Write puts the caller's blind writes and the step's marker into one Commit: both happen, or neither does, exactly once.
//
// build adds the writes to the batch and returns the result to record. It may be called again, so it must do nothing else.
// A fresh step is one call of Firestore, a duplicate two. A precondition of the caller's own writes that does not hold comes
// back as the client's error, and nothing is recorded. Only Firestore can do this, so only a *Firestore is taken.
func Write[T any](ctx context.Context, g *Guard, f *Firestore, r Request, build func(b *firestore.WriteBatch) (T, error)) (Result[T], error) {
	m, err := newMarker(ctx, g, f, r)
	if err != nil {
		return Result[T]{}, err
	}
	for m.tries = 0; m.tries < maxClaims; m.tries++ {
		batch := f.client.Batch() // see Firestore.Update for why this and not a transaction
		value, err := build(batch)
		var failed *FailedError
		switch {
		case errors.As(err, &failed):
			batch = f.client.Batch() // the failure is recorded, the writes are not
		case err != nil:
			return Result[T]{}, fmt.Errorf("write %s: %w", r.Token, err)
		}
		rec := m.record(value, failed)
		m.add(rec, batchWriter{batch})
		err = notAppliedAgain(ctx, func() error { _, err := batch.Commit(ctx); return err })
		if err == nil {
			return markerResult(ctx, m, rec, value, false)
		}
		mine, rec, err := m.afterwards(ctx, err)
		if err != nil {
			return Result[T]{}, fmt.Errorf("write %s: %w", r.Token, err)
		}
		if rec.Status != InProgress {
			return markerResult(ctx, m, rec, value, !mine)
		}
	}
	return Result[T]{}, fmt.Errorf("write %s: the record kept changing: %w", r.Token, &InProgressError{RetryAfter: g.cfg.Lease})
}

// Tx runs fn in a transaction together with the step's marker: what fn reads and writes, and the marker, are one atomic
// change, exactly once. The marker is read first, so that a duplicate replays instead of judging a changed world.
//
// fn may run several times, when the transaction is retried: it must do nothing but read and write through tx. A fresh step
// is three calls of Firestore and fn's own reads, a duplicate three. An error of fn rolls everything back; a Permanent one is
// recorded afterwards and replayed.
func Tx[T any](ctx context.Context, g *Guard, f *Firestore, r Request, fn func(ctx context.Context, tx *firestore.Transaction) (T, error)) (Result[T], error) {
	m, err := newMarker(ctx, g, f, r)
	if err != nil {
		return Result[T]{}, err
	}
	for m.tries = 0; m.tries < maxClaims; m.tries++ {
		var value T
		var rec Record
		var refused error // the transaction is rolled back: there is nothing to write
		replayed := false
		err := f.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) (err error) {
			replayed, refused = false, nil
			if rec, replayed, refused = m.read(ctx, tx); replayed || refused != nil {
				return refused
			}
			if value, err = fn(ctx, tx); err != nil {
				refused = err
				return err
			}
			rec = m.record(value, nil)
			m.add(rec, txWriter{tx})
			return m.err
		})
		var failed *FailedError
		switch {
		case err == nil:
			return markerResult(ctx, m, rec, value, replayed)
		case refused != nil && errors.As(refused, &failed):
			return recordFailure[T](ctx, m, refused, failed)
		case refused != nil:
			if again, err := m.patience(ctx, refused); !again {
				return Result[T]{}, fmt.Errorf("transaction %s: %w", r.Token, err)
			}
		default:
			mine, rec, err := m.afterwards(ctx, err)
			if err != nil {
				return Result[T]{}, fmt.Errorf("transaction %s: %w", r.Token, err)
			}
			if rec.Status != InProgress {
				return markerResult(ctx, m, rec, value, !mine)
			}
		}
	}
	return Result[T]{}, fmt.Errorf("transaction %s: the record kept changing: %w", r.Token, &InProgressError{RetryAfter: g.cfg.Lease})
}

// marker is a claim that is finished in the commit that makes it.
type marker struct {
	*claim
	f     *Firestore
	prior *Snapshot // a claim of Do under the same token that was released or ran out; nil: no record
	err   error     // of adding the marker to a transaction
}

func newMarker(ctx context.Context, g *Guard, f *Firestore, r Request) (*marker, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := lostAbove(ctx); err != nil {
		return nil, fmt.Errorf("step %s: %w", r.Token, err) // a zombie starts nothing new (B21)
	}
	c := &claim{g: g, began: g.cfg.Clock.Now(), id: g.cfg.NewID(), request: r}
	c.waitUntil = c.began.Add(r.Wait)
	return &marker{claim: c, f: f}, nil
}

// record is the finished record, over the prior one if there is one.
func (m *marker) record(value any, failed *FailedError) Record {
	base := Record{Fingerprint: m.request.Fingerprint, Input: m.request.Input}
	if m.prior != nil {
		base = m.prior.Record
		base.Attempts = endLast(base.Attempts, base.AttemptID, "taken_over", m.g.cfg.Clock.Now())
	}
	rec := m.newRecord(base)
	if failed != nil {
		return m.settled(Failed, nil, &Failure{Code: failed.Code, Message: failed.Message})(rec)
	}
	return m.settled(Completed, encode(value), nil)(rec)
}

// add puts the record into a commit, on the condition that what was read, or nothing, is still there.
func (m *marker) add(rec Record, w writer) {
	doc := toDocument(rec)
	m.err = nil
	keep := func(err error) { m.err = errors.Join(m.err, err) }
	m.f.spill(rec.Token, &doc, func(ref *firestore.DocumentRef, p partDocument) { keep(w.set(ref, p)) })
	if m.prior == nil {
		keep(w.create(m.f.Doc(rec.Token), doc))
		return
	}
	at, err := m.prior.Version.time()
	keep(err)
	keep(w.update(m.f.Doc(rec.Token), doc.updates(), firestore.LastUpdateTime(at)))
}

// afterwards reads the record after a commit that failed. It returns a finished record and whether this attempt wrote it, or
// an in-progress one: try again. A commit whose answer was lost is told from a refused one by the attempt id.
func (m *marker) afterwards(ctx context.Context, cause error) (mine bool, rec Record, err error) {
	switch status.Code(cause) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.OutOfRange, codes.Unimplemented:
		return false, Record{}, cause // certainly not applied, and never will be
	}
	if ctx.Err() != nil {
		return false, Record{}, cause
	}
	refused := errors.Is(storeError(cause), ErrExists) || errors.Is(storeError(cause), ErrConflict)
	snap, err := m.f.Get(ctx, m.request.Token)
	switch {
	case errors.Is(err, ErrNotFound) && refused:
		return false, Record{}, cause // the marker is not there, so it was the caller's own precondition
	case errors.Is(err, ErrNotFound):
		m.prior = nil
		return false, Record{Status: InProgress}, nil
	case err != nil:
		return false, Record{}, errors.Join(cause, err)
	case snap.Record.AttemptID == m.id:
		return true, snap.Record, nil
	case refused && m.prior != nil && m.prior.Version == snap.Version:
		return false, Record{}, cause // the marker's condition held: again the caller's own
	}
	_, err = m.consider(ctx, snap)
	if err != nil {
		again, err := m.patience(ctx, err)
		if !again {
			return false, Record{}, err
		}
	}
	return false, snap.Record, nil
}

// consider judges the record that is there. Finished: replayed is true. An error refuses. Else the record may be taken over.
func (m *marker) consider(ctx context.Context, snap Snapshot) (replayed bool, err error) {
	switch v, left := decide(snap, m.request, m.id); v {
	case replay:
		return true, nil
	case mismatch:
		return false, ErrMismatch
	case newer:
		return false, fmt.Errorf("%w: version %d, status %q", ErrNewerSchema, snap.Record.Schema, snap.Record.Status)
	case busy:
		if left <= 0 {
			left = m.g.cfg.Lease
		}
		return false, &InProgressError{RetryAfter: max(left, time.Millisecond), AttemptID: snap.Record.AttemptID, Fence: snap.Record.Fence}
	}
	m.prior = &snap
	return false, nil
}

// read reads the marker in a transaction. A record is replayed, refuses, or becomes the prior one.
func (m *marker) read(ctx context.Context, tx *firestore.Transaction) (rec Record, replayed bool, err error) {
	doc, err := tx.Get(m.f.Doc(m.request.Token))
	if status.Code(err) == codes.NotFound {
		m.prior = nil
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	snap, err := m.f.snapshot(ctx, m.request.Token, doc)
	if err != nil {
		return Record{}, false, err
	}
	replayed, err = m.consider(ctx, snap)
	return snap.Record, replayed, err
}

// patience waits for another attempt where the caller asked for it.
func (m *marker) patience(ctx context.Context, err error) (again bool, _ error) {
	var b *InProgressError
	if !errors.As(err, &b) {
		if errors.Is(err, ErrMismatch) {
			m.g.observe(ctx, Refused, Record{Token: m.request.Token}, m.began, err)
		}
		return false, err
	}
	again, err = m.wait(ctx, Record{Token: m.request.Token, AttemptID: b.AttemptID, Fence: b.Fence}, b.RetryAfter)
	return again && err == nil, err
}

// markerResult turns a finished record into the caller's result.
func markerResult[T any](ctx context.Context, m *marker, rec Record, value T, replayed bool) (Result[T], error) {
	kind := Finished
	if replayed {
		kind = Replayed
	}
	m.g.observe(ctx, kind, rec, m.began, nil)
	d, err := finished(rec, replayed, false)
	if err != nil {
		return Result[T]{Replayed: replayed, Fence: rec.Fence, AttemptID: rec.AttemptID}, err
	}
	return decode(d, value)
}

// recordFailure writes down a failure for good, after the transaction that found it was rolled back. Somebody else's record
// that came first stands, and the caller still gets its own failure: nothing of it was written.
func recordFailure[T any](ctx context.Context, m *marker, cause error, failed *FailedError) (Result[T], error) {
	var zero T
	rec := m.record(zero, failed)
	var err error
	if m.prior == nil {
		_, err = m.f.Create(ctx, rec)
	} else {
		_, err = m.f.Update(ctx, m.prior.Version, rec)
	}
	if err != nil {
		return Result[T]{}, fmt.Errorf("transaction %s: %w", m.request.Token, errors.Join(cause, fmt.Errorf("record the failure: %w", err)))
	}
	m.g.observe(ctx, Finished, rec, m.began, cause)
	return Result[T]{Fence: rec.Fence, AttemptID: rec.AttemptID}, fmt.Errorf("transaction %s: %w", m.request.Token, cause)
}

// writer is a batch or a transaction: two ways of the client to spell one commit.
type writer interface {
	set(*firestore.DocumentRef, any) error
	create(*firestore.DocumentRef, any) error
	update(*firestore.DocumentRef, []firestore.Update, firestore.Precondition) error
}

type batchWriter struct{ b *firestore.WriteBatch }

func (w batchWriter) set(ref *firestore.DocumentRef, v any) error    { w.b.Set(ref, v); return nil }
func (w batchWriter) create(ref *firestore.DocumentRef, v any) error { w.b.Create(ref, v); return nil }
func (w batchWriter) update(ref *firestore.DocumentRef, u []firestore.Update, p firestore.Precondition) error {
	w.b.Update(ref, u, p)
	return nil // a batch keeps its errors until Commit
}

type txWriter struct{ tx *firestore.Transaction }

func (w txWriter) set(ref *firestore.DocumentRef, v any) error    { return w.tx.Set(ref, v) }
func (w txWriter) create(ref *firestore.DocumentRef, v any) error { return w.tx.Create(ref, v) }
func (w txWriter) update(ref *firestore.DocumentRef, u []firestore.Update, p firestore.Precondition) error {
	return w.tx.Update(ref, u, p)
}
