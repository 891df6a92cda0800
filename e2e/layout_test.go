package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "example.com/runonce"

// room is the law for one package: what of ours it may import, and whose modules.
// A name that ends in /... stands for the package and all below it.
type room struct {
	ours  []string
	third []string
}

// rooms is the import table of the toolkit, the longest matching prefix wins. Tests may import e2e's fakes on top.
// A change here is a change of design.
var rooms = map[string]room{
	"tokens":                       {},
	"functions/guard":              {third: []string{"cloud.google.com/go/firestore/...", "google.golang.org/grpc/codes", "google.golang.org/grpc/status"}},
	"functions/guard/guardtest":    {ours: []string{"functions/guard"}, third: []string{"github.com/anishathalye/porcupine"}},
	"functions/guard/redisguard":   {ours: []string{"functions/guard"}, third: []string{"github.com/redis/go-redis/v9"}},
	"functions/guard/spannerguard": {ours: []string{"functions/guard"}, third: []string{"cloud.google.com/go/spanner/...", "google.golang.org/grpc/...", "google.golang.org/api/..."}},
	"functions/orders":             {ours: []string{"tokens", "functions/guard", "functions/orders"}, third: []string{"github.com/GoogleCloudPlatform/functions-framework-go/...", "cloud.google.com/go/firestore/..."}},
	"proxy": {ours: []string{"tokens", "functions/guard", "proxy/..."}, third: []string{
		"cloud.google.com/go/firestore/...", "cloud.google.com/go/workflows/...", "cloud.google.com/go/run/...", "cloud.google.com/go/cloudbuild/...",
		"cloud.google.com/go/longrunning/...", "google.golang.org/api/...", "google.golang.org/genproto/...", "google.golang.org/grpc/...", "google.golang.org/protobuf/...", "github.com/googleapis/gax-go/...",
		"github.com/coreos/go-oidc/...", "go.opentelemetry.io/...", "github.com/caarlos0/env/...", "github.com/alecthomas/kong", "github.com/robfig/cron/v3",
	}},
	"workflows/expr":      {},
	"workflows/syntax":    {ours: []string{"workflows/expr"}, third: []string{"gopkg.in/yaml.v3"}},
	"workflows/catalog":   {},
	"workflows/engine":    {ours: []string{"workflows/syntax", "workflows/expr", "workflows/catalog"}},
	"workflows/lint":      {ours: []string{"workflows/syntax", "workflows/expr", "workflows/catalog"}},
	"workflows/thread":    {ours: []string{"workflows/syntax", "workflows/expr", "workflows/catalog", "workflows/lint"}},
	"workflows/prove":     {ours: []string{"workflows/engine", "workflows/syntax", "workflows/expr", "workflows/catalog"}},
	"workflows/templates": {},
	"workflows/cmd":       {ours: []string{"workflows/...", "tokens"}, third: []string{"github.com/alecthomas/kong", "gopkg.in/yaml.v3"}},
	"e2e/workflowstest":   {ours: []string{"workflows/engine", "workflows/syntax", "e2e/fault", "e2e/workflowstest"}, third: []string{"*"}},
	// The other fakes know no room of ours but the shared faults.
	"e2e/fault":         {third: []string{"*"}},
	"e2e/firestoretest": {ours: []string{"e2e/fault"}, third: []string{"*"}},
	"e2e/schedulertest": {ours: []string{"e2e/fault"}, third: []string{"*"}},
	"e2e/idtokentest":   {ours: []string{"e2e/fault"}, third: []string{"*"}},
	"e2e/shoptest":      {ours: []string{"e2e/fault"}},
	"e2e/timeline":      {},
	"e2e":               {ours: []string{"..."}, third: []string{"*"}},
}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// TestLayout holds every package to the import table of the design.
func TestLayout(t *testing.T) {
	t.Parallel()
	pkgs := listPackages(t)
	for _, p := range pkgs {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		key, law, ok := roomOf(name)
		if !ok {
			t.Errorf("package %q is in no room; add it to the table in layout_test.go", name)
			continue
		}
		for _, imp := range p.Imports {
			check(t, name, key, law, imp)
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			// A fake may help any test; everything else a test imports is the room's own business.
			if own, ok := strings.CutPrefix(imp, module+"/"); ok && strings.HasPrefix(name, "tokens") && !strings.HasPrefix(own, "tokens") {
				t.Errorf("tests of %s import %s: tokens stands alone, so that it can be copied", name, own)
			}
		}
	}
}

func check(t *testing.T, name, key string, law room, imp string) {
	t.Helper()
	own, ours := strings.CutPrefix(imp, module+"/")
	switch {
	case ours && (own == name || matches(law.ours, own)):
	case ours:
		t.Errorf("%s imports %s: the room %s may import of ours %v", name, own, key, law.ours)
	case !strings.Contains(strings.SplitN(imp, "/", 2)[0], "."): // the standard library
	case !matches(law.third, imp):
		t.Errorf("%s imports %s: the room %s may import %v", name, imp, key, law.third)
	}
}

func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if p == "*" || p == "..." {
			return true
		}
		if prefix, ok := strings.CutSuffix(p, "/..."); ok {
			return path == prefix || strings.HasPrefix(path, prefix+"/")
		}
		return path == p
	})
}

func roomOf(name string) (string, room, bool) {
	for key := name; key != "." && key != ""; key = filepath.Dir(key) {
		if law, ok := rooms[key]; ok {
			return key, law, true
		}
	}
	return "", room{}, false
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 10 {
		t.Fatalf("go list found %d packages; is the test running inside the module?", len(pkgs))
	}
	return pkgs
}

// TestTopLevel keeps the top level as it was laid out.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, name := range strings.Fields("go.mod go.sum proxy functions workflows tokens e2e Makefile README.md LICENSE CHANGELOG.md") {
		want[name] = true
	}
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "out" {
			continue
		}
		if !want[e.Name()] {
			t.Errorf("%s stands at the top level; the fixed list is %v", e.Name(), slices.Sorted(maps.Keys(want)))
		}
		delete(want, e.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("%s is missing at the top level", name)
	}
}

// TestPackageComments asks each package for the lines that say what it does and for whom.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}}\t{{.Doc}}{{end}}", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		path, doc, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if path != "" && doc == "" {
			t.Errorf("%s has no package comment", path)
		}
	}
}

// root is the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
}
