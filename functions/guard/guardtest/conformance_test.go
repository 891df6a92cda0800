package guardtest

import (
	"context"
	"testing"
)

// Memory must pass what every store must. R7, B1–B33.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	RunStoreTests(t, func(*testing.T) Harness {
		m := &Memory{}
		return Harness{
			Store: m, Advance: m.Advance, MaxBody: 8 << 20,
			Delete: func(_ context.Context, token string) error { m.Delete(token); return nil },
		}
	})
}
