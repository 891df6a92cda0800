package guard

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
)

// FenceHeader hands Attempt.Fence to a callee that remembers the highest it saw for a token and refuses an older one.
const FenceHeader = "Runonce-Fence"

// fenceField is where FencedSet keeps whose write a document holds.
const fenceField = "runonce_fence"

// FencedSet replaces the document ref with data, unless an attempt of the same token with a higher fence wrote it before:
// then it is ErrLost, and nothing changes. So a zombie that was stopped inside its effect cannot undo what its successor
// wrote. The document keeps the token and fence of its last write in the field runonce_fence; between different tokens
// there is no order, and the later write stands. It is one transaction, three calls.
func (f *Firestore) FencedSet(ctx context.Context, ref *firestore.DocumentRef, a Attempt, data map[string]any) error {
	err := f.transaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		doc, err := tx.Get(ref)
		if err != nil && (doc == nil || doc.Exists()) {
			return err
		}
		var last struct {
			By struct {
				Token string `firestore:"token"`
				Fence int64  `firestore:"fence"`
			} `firestore:"runonce_fence"`
		}
		if doc.Exists() {
			if err := doc.DataTo(&last); err != nil {
				return err
			}
		}
		if last.By.Token == a.Token && last.By.Fence > a.Fence {
			return fmt.Errorf("%w: attempt %d wrote %s before attempt %d", ErrLost, last.By.Fence, ref.ID, a.Fence)
		}
		fenced := map[string]any{fenceField: map[string]any{"token": a.Token, "fence": a.Fence}}
		for k, v := range data {
			if k != fenceField {
				fenced[k] = v
			}
		}
		return tx.Set(ref, fenced)
	})
	if err != nil {
		return fmt.Errorf("set %s under fence %d: %w", ref.ID, a.Fence, err)
	}
	return nil
}
