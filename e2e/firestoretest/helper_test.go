package firestoretest

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// start runs a server and a real client of it for one test.
func start(t testing.TB, cfg Config) (*Server, *firestore.Client) {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, connect(t, s)
}

func connect(t testing.TB, s *Server) *firestore.Client {
	t.Helper()
	c, err := s.Client(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func set(t testing.TB, d *firestore.DocumentRef, data map[string]any) *firestore.WriteResult {
	t.Helper()
	r, err := d.Set(t.Context(), data)
	if err != nil {
		t.Fatalf("set %s: %v", d.Path, err)
	}
	return r
}

func get(t testing.TB, d *firestore.DocumentRef) *firestore.DocumentSnapshot {
	t.Helper()
	s, err := d.Get(t.Context())
	if err != nil {
		t.Fatalf("get %s: %v", d.Path, err)
	}
	return s
}

// wantStatus fails unless err has the code and its message holds the text.
func wantStatus(t testing.TB, err error, code codes.Code, text string) {
	t.Helper()
	if got := status.Code(err); got != code || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("got error %v (%v), want %v with %q", err, got, code, text)
	}
}

func isAborted(err error) bool { return status.Code(err) == codes.Aborted }
