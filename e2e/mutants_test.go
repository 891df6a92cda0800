package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mutant removes one guard of the protocol. The test that it names must turn red.
type mutant struct {
	name  string
	file  string
	old   string // stands in the file exactly once
	new   string
	tests []string // arguments of go test
	vital bool     // run by make test; all of them by make mutants
}

// The suites that hold the protocol.
var (
	onMemory    = []string{"./functions/guard/guardtest", "-run", "MemoryConforms"}
	onFirestore = []string{"./functions/guard/guardtest", "-run", "FirestoreConforms"}
	inDemo      = []string{"./e2e/stack", "-run", "TestDemo"}
)

var mutants = []mutant{
	{
		name: "the attempt check: a claim, a renewal or an end is written over whatever is there", vital: true,
		file: "functions/guard/firestore.go", old: "	return w.update(f.Doc(rec.Token), doc.updates(), firestore.LastUpdateTime(at))", new: "	_ = at\n	return w.set(f.Doc(rec.Token), doc)",
		tests: inDemo,
	}, {
		name: "create first: a claim is written without asking for absence",
		file: "functions/guard/firestore.go", old: "return w.create(f.Doc(rec.Token), doc)", new: "return w.set(f.Doc(rec.Token), doc)",
		tests: onFirestore,
	}, {
		name: "own attempt recognised: a claim whose answer was lost is taken for another's", vital: true,
		file: "functions/guard/decide.go", old: "		if r.AttemptID == id {\n			return mine, left\n		}\n", new: "",
		tests: onMemory,
	}, {
		name: "fingerprint: another request gets this one's outcome", vital: true,
		file: "functions/guard/decide.go", old: "r.Fingerprint != fingerprint:", new: "false:",
		tests: onMemory,
	}, {
		name: "a record without a lease is locked",
		file: "functions/guard/decide.go", old: "left = fallback // no word about its end: locked", new: "left = 0",
		tests: onMemory,
	}, {
		name: "the store's clock: age counts from the reader's write, not from the store's stamp",
		file: "functions/guard/decide.go", old: "left = min(*r.Lease, *r.Lease-s.ReadAt.Sub(s.UpdatedAt))", new: "left = r.LeaseExpires.Sub(s.ReadAt)",
		tests: onMemory,
	}, {
		name: "a lost attempt's later steps refuse", vital: true,
		file: "functions/guard/lease.go", old: "		if err := c.check(); err != nil {\n			return err\n		}\n", new: "		_ = c.check\n",
		tests: onMemory,
	}, {
		name: "an end that is not mine is not written: ownership is read after a refused write", vital: true,
		file: "functions/guard/lease.go", old: "	case r.AttemptID != rec.AttemptID || r.Fence != rec.Fence:\n		return false, ErrLost\n", new: "",
		tests: onMemory,
	}, {
		name: "Find is asked before a second attempt does it",
		file: "functions/guard/run.go", old: "if a.Fence > 1 && w.s.find != nil {", new: "if false {",
		tests: onMemory,
	}, {
		name: "the fence grows with each attempt",
		file: "functions/guard/claim.go", old: "rec.Fence = max(old.Fence, 1) + 1", new: "rec.Fence = max(old.Fence, 1)",
		tests: onMemory,
	}, {
		name: "input is frozen at the claim",
		file: "functions/guard/claim.go", old: "Input: bytes.Clone(r.Input)", new: "Input: append(bytes.Clone(nil), r.Input...)[:0:0]",
		tests: onMemory,
	}, {
		name: "a newer schema is refused",
		file: "functions/guard/decide.go", old: "	case r.Schema > schema:\n		return refuseSchema, 0\n", new: "",
		tests: onMemory,
	}, {
		name: "uncertain: a step that must not be repeated is repeated",
		file: "functions/guard/claim.go", old: "if s.blind() && prev != nil && !prev.Record.released() {", new: "if false {",
		tests: onMemory,
	},
}

// TestMutants shows that the suites can fail: each guard of the protocol, removed, turns one red. With RUNONCE_MUTANTS=all it
// runs the whole list, else the vital ones.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a suite for each mutant")
	}
	all := os.Getenv("RUNONCE_MUTANTS") == "all"
	killed := 0
	for _, m := range mutants {
		if !m.vital && !all {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			out, err := runMutant(t, m)
			if err == nil {
				t.Errorf("survived: go test %s stays green without it\n%s", strings.Join(m.tests, " "), out)
				return
			}
			if !strings.Contains(out, "--- FAIL") {
				t.Errorf("died of something else than a failing test: %v\n%s", err, out)
				return
			}
			killed++
		})
	}
	t.Logf("%d mutants killed", killed)
}

// runMutant runs the mutant's tests on a tree in which one file is replaced; the tree itself stays as it is.
func runMutant(t *testing.T, m mutant) (string, error) {
	t.Helper()
	path := filepath.Join(root(t), filepath.FromSlash(m.file))
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), m.old); n != 1 {
		t.Fatalf("%q stands %d times in %s, want once: the list of mutants must follow the code", m.old, n, m.file)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(m.file))
	write(t, changed, strings.Replace(string(src), m.old, m.new, 1))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := append([]string{"test", "-overlay", filepath.Join(dir, "overlay.json"), "-count=1", "-failfast"}, m.tests...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root(t)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(out), fmt.Errorf("go test did not end: %w", ctx.Err())
	}
	return string(out), err
}
