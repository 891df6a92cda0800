package guard

//lint:file-ignore SA1019 WriteBatch is the one way to send several writes in one atomic Commit; see Firestore.commit.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// FirestoreConfig of a Firestore store. The zero value works.
type FirestoreConfig struct {
	// Collection holds the records. Default "runonce"; "scheduler_runs" for a fleet that moves over from Google's sample.
	Collection string
	// Clock drives the pauses before a commit that was aborted is sent again. Default the system's.
	Clock Clock
}

// Firestore keeps records as documents. It is safe for concurrent use.
//
// A document's id is the token where that already is a SHA-256 in hex, as a run_id is, else the SHA-256 of the token in
// hex: ids are spread over the key space, and no caller chooses a path.
type Firestore struct {
	client     *firestore.Client
	collection *firestore.CollectionRef
	clock      Clock
}

var _ Store = (*Firestore)(nil)

// NewFirestore returns a store over client, which the caller closes.
func NewFirestore(client *firestore.Client, cfg FirestoreConfig) *Firestore {
	setDefault(&cfg.Collection, "runonce")
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	return &Firestore{client: client, collection: client.Collection(cfg.Collection), clock: cfg.Clock}
}

// Doc is the document of a token's record.
func (f *Firestore) Doc(token string) *firestore.DocumentRef { return f.collection.Doc(docID(token)) }

func docID(token string) string {
	if b, err := hex.DecodeString(token); err == nil && len(b) == sha256.Size && hex.EncodeToString(b) == token {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Create implements Store: one Commit on the condition that there is no document.
func (f *Firestore) Create(ctx context.Context, rec Record) (Version, error) {
	return f.put(ctx, nil, rec)
}

// Update implements Store: one Commit on the condition that the document's update time is the version's.
func (f *Firestore) Update(ctx context.Context, v Version, rec Record) (Version, error) {
	return f.put(ctx, &v, rec)
}

func (f *Firestore) put(ctx context.Context, over *Version, rec Record) (Version, error) {
	b := f.client.Batch()
	if err := f.add(batchWriter{b}, over, rec); err != nil {
		return "", err
	}
	res, err := f.commit(ctx, b)
	if err != nil {
		return "", storeError(err)
	}
	return versionOf(res[len(res)-1].UpdateTime), nil
}

// add puts the record into a commit, as the last of its writes: over a version, or as the first where over is nil.
func (f *Firestore) add(w writer, over *Version, rec Record) error {
	doc := toDocument(rec)
	for _, p := range doc.spill(rec.Token) {
		if err := w.set(f.part(rec.Token, p.N), p); err != nil {
			return err
		}
	}
	if over == nil {
		return w.create(f.Doc(rec.Token), doc)
	}
	at, err := over.time()
	if err != nil {
		return err
	}
	return w.update(f.Doc(rec.Token), doc.updates(), firestore.LastUpdateTime(at))
}

// commit sends a batch, again where it was ABORTED, which means that it was not applied.
//
// WriteBatch is marked deprecated in favour of transactions and BulkWriter. It is the one way to send several writes in one
// atomic Commit without BeginTransaction: a transaction costs two calls more, and BulkWriter is not atomic.
func (f *Firestore) commit(ctx context.Context, b *firestore.WriteBatch) ([]*firestore.WriteResult, error) {
	pause := 20 * time.Millisecond
	for try := 1; ; try++ {
		res, err := b.Commit(ctx)
		if status.Code(err) != codes.Aborted || try == 6 {
			return res, err
		}
		// Contenders that wait for equal times meet again.
		if err := sleep(ctx, f.clock, pause/2+rand.N(pause)); err != nil {
			return nil, err
		}
		pause *= 2
	}
}

// Get implements Store: one BatchGetDocuments, and one more where the outcome is spread over several documents.
func (f *Firestore) Get(ctx context.Context, token string) (Snapshot, error) {
	doc, err := f.Doc(token).Get(ctx)
	return f.snapshot(ctx, token, doc, err)
}

// snapshot reads what a Get of the client answered. doc is not nil where the server said that there is none; a missing
// database is the same code without it, and no reason to think that the record is gone.
func (f *Firestore) snapshot(ctx context.Context, token string, doc *firestore.DocumentSnapshot, err error) (Snapshot, error) {
	switch {
	case doc != nil && !doc.Exists():
		return Snapshot{}, ErrNotFound
	case err != nil:
		return Snapshot{}, err
	}
	s := Snapshot{Version: versionOf(doc.UpdateTime), UpdatedAt: doc.UpdateTime, ReadAt: doc.ReadTime}
	if v, _ := doc.DataAt("v"); newer(v) {
		s.Record = Record{Token: token, Schema: v.(int64)} // whatever else it says, its words may mean something else
		return s, nil
	}
	var d document
	if err := doc.DataTo(&d); err != nil {
		return Snapshot{}, fmt.Errorf("document %s is no record: %w", doc.Ref.ID, err)
	}
	if d.Token != "" && d.Token != token { // one is the SHA-256 of the other
		return Snapshot{}, fmt.Errorf("%w: document %s is the record of another token", ErrBadToken, doc.Ref.ID)
	}
	s.Record = d.record(token)
	if d.Outcome != nil && d.Outcome.Parts > 0 {
		return s, f.readParts(ctx, token, d.Outcome.Parts, s.Record.Outcome)
	}
	return s, nil
}

func newer(v any) bool {
	n, ok := v.(int64)
	return ok && n > schema
}

func (f *Firestore) part(token string, n int) *firestore.DocumentRef {
	return f.collection.Doc(fmt.Sprintf("%s.%d", docID(token), n))
}

func (f *Firestore) readParts(ctx context.Context, token string, n int, o *Outcome) error {
	refs := make([]*firestore.DocumentRef, n)
	for i := range refs {
		refs[i] = f.part(token, i)
	}
	docs, err := f.client.GetAll(ctx, refs)
	if err != nil {
		return fmt.Errorf("read the outcome's parts: %w", err)
	}
	for _, doc := range docs {
		var p part
		if !doc.Exists() { // TTL deletes in no order; what is left of the outcome is that it was
			*o = *o.tombstone()
			return nil
		}
		if err := doc.DataTo(&p); err != nil {
			return fmt.Errorf("read the outcome's parts: %w", err)
		}
		o.Body = append(o.Body, p.Outcome.Body...)
	}
	return nil
}

// storeError says what an error of a write means. What is not listed means that nobody knows.
func storeError(err error) error {
	switch status.Code(err) {
	case codes.AlreadyExists:
		return fmt.Errorf("%w: %w", ErrExists, err)
	case codes.FailedPrecondition, codes.NotFound:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case codes.InvalidArgument: // a document beyond 1 MiB, for all that a guard writes is valid but for its size
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return err
}

// A Version of Firestore is the document's update time, as precise as it was read.
func versionOf(t time.Time) Version { return Version(t.UTC().Format(time.RFC3339Nano)) }

func (v Version) time() (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, string(v))
	if err != nil {
		return time.Time{}, errors.New("version is not Firestore's")
	}
	return t, nil
}
