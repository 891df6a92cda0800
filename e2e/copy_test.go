package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopyGuard does what a user does: copies the guard's folder into a module of their own, under another path, and
// builds and tests it there unedited.
func TestCopyGuard(t *testing.T) { // R27
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a module from scratch")
	}
	dir := t.TempDir()
	src := filepath.Join(root(t), "functions", "guard")
	dst := filepath.Join(dir, "internal", "guard")
	copyFiles(t, src, dst)

	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The versions that this module was tested with; go mod tidy drops what the copy does not need.
	mod = []byte(strings.Replace(string(mod), "module "+module, "module shop.example/billing", 1))
	write(t, filepath.Join(dir, "go.mod"), string(mod))
	sum, err := os.ReadFile(filepath.Join(root(t), "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	write(t, filepath.Join(dir, "charge.go"), `package billing

import (
	"context"

	"cloud.google.com/go/firestore"

	"shop.example/billing/internal/guard"
)

// Charge charges once for each token.
func Charge(ctx context.Context, client *firestore.Client, token string, charge func(context.Context) (string, error)) (string, error) {
	g, err := guard.New(guard.NewFirestore(client, guard.FirestoreConfig{}), guard.Config{})
	if err != nil {
		return "", err
	}
	res, err := guard.Do(ctx, g, guard.Effect[string]{
		Request: guard.Request{Token: token},
		Do:      func(ctx context.Context, _ guard.Attempt) (string, error) { return charge(ctx) },
	})
	return res.Value, err
}
`)
	for _, args := range [][]string{{"mod", "tidy"}, {"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s in the copy: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// copyFiles copies the folder's own files and its testdata, but no other room below it.
func copyFiles(t *testing.T, src, dst string) {
	t.Helper()
	entries, err := os.ReadDir(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		from := filepath.Join(src, e.Name())
		switch {
		case e.IsDir() && e.Name() == "testdata":
			if err := os.CopyFS(filepath.Join(dst, e.Name()), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		case !e.IsDir():
			body, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dst, e.Name()), string(body))
		}
	}
}

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}
