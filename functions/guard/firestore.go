package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// FirestoreConfig of a Firestore store. The zero value works.
type FirestoreConfig struct {
	// Collection holds the records. Default "runonce"; "scheduler_runs" for a fleet that moves over from Google's sample.
	Collection string
}

// Firestore keeps records as documents. It is safe for concurrent use.
//
// A document's id is the token where that already is a SHA-256 in hex, as a run_id is, else the SHA-256 of the token in
// hex: ids are spread over the key space, and no caller chooses a path.
type Firestore struct {
	client     *firestore.Client
	collection *firestore.CollectionRef
}

// NewFirestore returns a store over client.
func NewFirestore(client *firestore.Client, cfg FirestoreConfig) *Firestore {
	name := cfg.Collection
	if name == "" {
		name = "runonce"
	}
	return &Firestore{client: client, collection: client.Collection(name)}
}

var _ Store = (*Firestore)(nil)

// Doc is the document of a token.
func (f *Firestore) Doc(token string) *firestore.DocumentRef { return f.collection.Doc(docID(token)) }

func docID(token string) string {
	if len(token) == 64 {
		if b, err := hex.DecodeString(token); err == nil && hex.EncodeToString(b) == token {
			return token
		}
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Create implements Store: one Commit on the condition that there is no document.
func (f *Firestore) Create(ctx context.Context, rec Record) (Version, error) {
	var res *firestore.WriteResult
	err := notAppliedAgain(ctx, func() (err error) {
		res, err = f.Doc(rec.Token).Create(ctx, toDocument(rec))
		return err
	})
	if err != nil {
		return "", storeError(err)
	}
	return versionOf(res.UpdateTime), nil
}

// Get implements Store: one BatchGetDocuments, and one more where the outcome is spread over several documents.
func (f *Firestore) Get(ctx context.Context, token string) (Snapshot, error) {
	doc, err := f.Doc(token).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return Snapshot{}, ErrNotFound
	}
	if err != nil {
		return Snapshot{}, err
	}
	return f.snapshot(ctx, token, doc)
}

func (f *Firestore) snapshot(ctx context.Context, token string, doc *firestore.DocumentSnapshot) (Snapshot, error) {
	var d document
	if err := doc.DataTo(&d); err != nil {
		return Snapshot{}, fmt.Errorf("document %s is no record: %w", doc.Ref.ID, err)
	}
	rec := d.record(token)
	if d.Outcome != nil && d.Outcome.Parts > 0 {
		if err := f.readParts(ctx, token, d.Outcome.Parts, rec.Outcome); err != nil {
			return Snapshot{}, err
		}
	}
	return Snapshot{Record: rec, Version: versionOf(doc.UpdateTime), UpdatedAt: doc.UpdateTime, ReadAt: doc.ReadTime}, nil
}

// Update implements Store: one Commit on the condition that the document's update time is the version's.
func (f *Firestore) Update(ctx context.Context, v Version, rec Record) (Version, error) {
	at, err := v.time()
	if err != nil {
		return "", err
	}
	// WriteBatch is marked deprecated in favour of transactions and BulkWriter. It is the one way to send several writes in
	// one atomic Commit without BeginTransaction; a transaction would cost two calls more, and BulkWriter is not atomic.
	batch := f.client.Batch()
	doc := toDocument(rec)
	f.spill(rec.Token, &doc, func(ref *firestore.DocumentRef, p partDocument) { batch.Set(ref, p) })
	batch.Update(f.Doc(rec.Token), doc.updates(), firestore.LastUpdateTime(at))
	var res []*firestore.WriteResult
	err = notAppliedAgain(ctx, func() (err error) {
		res, err = batch.Commit(ctx)
		return err
	})
	if err != nil {
		return "", storeError(err)
	}
	return versionOf(res[len(res)-1].UpdateTime), nil
}

// storeError says what an error of a write means. What is not listed means that nobody knows.
func storeError(err error) error {
	switch status.Code(err) {
	case codes.AlreadyExists:
		return fmt.Errorf("%w: %w", ErrExists, err)
	case codes.FailedPrecondition, codes.NotFound:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// notAppliedAgain repeats a commit that was ABORTED, which means that it was not applied, a few times with growing pauses.
func notAppliedAgain(ctx context.Context, commit func() error) error {
	pause := 20 * time.Millisecond
	for try := 1; ; try++ {
		err := commit()
		if status.Code(err) != codes.Aborted || try == 5 {
			return err
		}
		if err := sleep(ctx, wallClock{}, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// A Version of Firestore is the document's update time, to the nanosecond as it was read.
func versionOf(t time.Time) Version { return Version(t.UTC().Format(time.RFC3339Nano)) }

func (v Version) time() (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, string(v))
	if err != nil {
		return time.Time{}, errors.New("version is not Firestore's")
	}
	return t, nil
}
