package firestoretest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const installNode = "npm install --prefix DIR @google-cloud/firestore@8 && export RUNONCE_NODE_MODULES=DIR/node_modules"

// nodeModules is the folder with the Node client, or "" with the reason why not.
func nodeModules() (dir, reason string) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", "node is not installed"
	}
	dir = os.Getenv("RUNONCE_NODE_MODULES")
	if dir == "" {
		return "", "RUNONCE_NODE_MODULES is not set"
	}
	if _, err := os.Stat(filepath.Join(dir, "@google-cloud", "firestore", "package.json")); err != nil {
		return "", "there is no @google-cloud/firestore in " + dir
	}
	return dir, ""
}

// TestNodeClientAgrees lets another of Google's clients do the same as this one: what they see of the server must be the same.
func TestNodeClientAgrees(t *testing.T) {
	t.Parallel()
	dir, reason := nodeModules()
	switch {
	case reason != "" && os.Getenv("CI") == "true":
		t.Fatalf("%s; to install: %s", reason, installNode)
	case reason != "":
		t.Skipf("%s; to install: %s", reason, installNode)
	}
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := start(t, Config{Mode: mode})
			got := runNode(t, dir, s, "yard")
			want := normal(t, yardstick(t, c, "yard"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the clients disagree (-go +node):\n%s", diff)
			}
		})
	}
}

func runNode(t *testing.T, dir string, s *Server, root string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("testdata", "yardstick.cjs"))
	cmd.Env = append(os.Environ(), s.Env(), "NODE_PATH="+dir, "YARDSTICK_ROOT="+root, "NODE_NO_WARNINGS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, stderr.String())
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("node printed %q: %v", out, err)
	}
	return got
}

// normal sends a value through JSON, as the other side's went.
func normal(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	ok(t, err)
	var out map[string]any
	ok(t, json.Unmarshal(b, &out))
	return out
}

func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("code %d", statusCode(err))
}
