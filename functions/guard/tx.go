package guard

//lint:file-ignore SA1019 WriteBatch is the one way to send several writes in one atomic Commit; see Firestore.commit.

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Batch takes the writes of a step. It is Firestore's WriteBatch under a name that no linter warns of; see Firestore.commit for
// why it is that one.
type Batch = firestore.WriteBatch

// Write puts the caller's blind writes and the step's finished record into one Commit: both happen, or neither, exactly once.
//
// build adds the writes to the batch and returns the result to record. It may be called again, so it must do nothing else.
// A fresh step is one call of Firestore, a duplicate two. If a precondition of the caller's own writes does not hold, the
// client's error comes back and nothing is recorded; if build returns a Permanent error, that is recorded and no write
// happens. Only Firestore can do this, hence the type; g must be a guard over f.
func Write[T any](ctx context.Context, g *Guard, f *Firestore, r Request, build func(b *Batch) (T, error)) (Result[T], error) {
	var value T
	end, err := g.once(ctx, f, r, func(ctx context.Context, m *marker) error {
		b := f.client.Batch()
		v, err := build(b)
		switch {
		case classify(err) == permanent:
			m.failed(err)
			b = f.client.Batch() // the failure is recorded, the writes are not
		case err != nil:
			return stopped{err}
		default:
			value = v
			m.completed(v)
		}
		if err := m.add(batchWriter{b}); err != nil {
			return stopped{err}
		}
		_, err = f.commit(ctx, b)
		return commitError(err)
	})
	return result(end, value, err)
}

// Tx runs fn in a transaction together with the step's finished record: what fn reads and writes, and the record, are one
// atomic change, exactly once. The record is read first, so that a duplicate replays instead of judging a changed world.
//
// fn may run several times, as the transaction is retried: it must do nothing but read and write through tx. A fresh step is
// three calls of Firestore and fn's own reads, a duplicate three. An error of fn rolls everything back, and nothing is
// recorded; a Permanent one is recorded afterwards.
func Tx[T any](ctx context.Context, g *Guard, f *Firestore, r Request, fn func(ctx context.Context, tx *firestore.Transaction) (T, error)) (Result[T], error) {
	var value T
	end, err := g.once(ctx, f, r, func(ctx context.Context, m *marker) error {
		var own error
		err := f.transaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
			own = nil
			if err := m.read(ctx, tx); err != nil {
				return err
			}
			v, err := fn(ctx, tx)
			if err != nil {
				own = err
				return err
			}
			value = v
			m.completed(v)
			return m.add(txWriter{tx})
		})
		switch {
		case err != nil && classify(own) == permanent:
			m.failed(own) // everything was rolled back; an outcome that came first stands
			_, err := f.put(ctx, m.over(), m.rec)
			return err
		case err != nil && own != nil:
			return stopped{own}
		}
		return commitError(err)
	})
	return result(end, value, err)
}

// transaction is RunTransaction, but a panic of fn rolls back before it goes on, so that its locks do not linger.
func (f *Firestore) transaction(ctx context.Context, fn func(context.Context, *firestore.Transaction) error) error {
	var panicked any
	err := f.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) (err error) {
		defer func() {
			if panicked = recover(); panicked != nil {
				err = errors.New("panic in the transaction")
			}
		}()
		return fn(ctx, tx)
	})
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// marker is the record of a step that claims and finishes in one commit.
type marker struct {
	bid
	f     *Firestore
	rec   Record
	cause error // of a failed one
}

// over is the version to write over; nil: none.
func (m *marker) over() *Version {
	if m.prev == nil {
		return nil
	}
	return &m.prev.Version
}

func (m *marker) completed(v any) {
	m.rec, m.cause = m.g.record(m.req, m.id, m.prev), nil
	m.g.settle(&m.rec, Completed, "completed", encode(v).bounded(), nil)
}

func (m *marker) failed(err error) {
	m.rec, m.cause = m.g.record(m.req, m.id, m.prev), err
	m.g.settle(&m.rec, Failed, "failed", nil, failureOf(err))
}

func (m *marker) add(w writer) error { return m.f.add(w, m.over(), m.rec) }

// read reads the record in a transaction. errSeen: it stands against this call.
func (m *marker) read(ctx context.Context, tx *firestore.Transaction) error {
	doc, err := tx.Get(m.f.Doc(m.req.Token))
	snap, err := m.f.snapshot(ctx, m.req.Token, doc, err)
	switch {
	case errors.Is(err, ErrNotFound):
		m.prev = nil
		return nil
	case err != nil:
		return err
	}
	if v, _ := decide(snap, m.id, m.req.Fingerprint, m.g.cfg.Lease); v != takeOver {
		m.seen = &snap
		return errSeen
	}
	m.prev = &snap
	return nil
}

var errSeen = errors.New("a record stands against the transaction")

// commitError tells what will never succeed, and was not applied, from what a read of the record must settle.
func commitError(err error) error {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.OutOfRange, codes.Unimplemented:
		return stopped{err}
	}
	return storeError(err)
}

// once is the common way of Write and Tx: try finishes the record in its own commit. What it failed with is settled by the
// record: finished by this very call, replayed, refused, or free to be tried again.
func (g *Guard) once(ctx context.Context, f *Firestore, r Request, try func(ctx context.Context, m *marker) error) (ending, error) {
	ctx = g.began(ctx)
	if err := g.admit(ctx, r); err != nil {
		return ending{}, err
	}
	if end, err, ok := g.cached(ctx, r); ok {
		return end, err
	}
	m := &marker{f: f, bid: bid{g: g, store: f, req: r, id: g.cfg.NewID(), own: true}}
	m.put = func(ctx context.Context) error { m.seen = nil; return try(ctx, m) }
	v, snap, _, err := m.run(ctx)
	switch {
	case err != nil:
		return ending{}, fmt.Errorf("step %q: %w", r.Token, err)
	case v != mine:
		return g.refuse(ctx, v, snap)
	case snap.Version != "": // the answer was lost
		m.rec = snap.Record
	}
	g.cache.put(m.rec, g.cfg.Clock.Now())
	if m.rec.Status == Failed {
		failed := m.rec.Failure.failed(m.cause)
		g.observe(ctx, Finished, &m.rec, failed)
		return endingOf(&m.rec), fmt.Errorf("step %q: %w", r.Token, failed)
	}
	g.observe(ctx, Finished, &m.rec, nil)
	return endingOf(&m.rec), nil
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
