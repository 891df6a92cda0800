package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme holds the README to the tree: every make target, folder and file that it names is there, and the Go snippet uses
// names that exist.
func TestReadme(t *testing.T) { // R24
	t.Parallel()
	readme := read(t, "README.md")
	makefile := read(t, "Makefile")
	for _, m := range regexp.MustCompile("(?:`|    )make ([a-z-]+)").FindAllStringSubmatch(readme, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("the README names make %s, which the Makefile does not have", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`((?:tokens|functions|proxy|workflows|e2e)(?:/[A-Za-z0-9_.-]+)*)`").FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("the README names %s: %v", m[1], err)
		}
	}
	for _, m := range regexp.MustCompile(`go run \./([a-z0-9/]+)`).FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(m[1]), "main.go")); err != nil {
			t.Errorf("the README runs %s: %v", m[1], err)
		}
	}
	var exported strings.Builder
	files, err := filepath.Glob(filepath.Join(root(t), "functions", "guard", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		exported.Write(src)
	}
	for _, m := range regexp.MustCompile(`\bguard\.([A-Z]\w+)`).FindAllStringSubmatch(readme, -1) {
		if !regexp.MustCompile(`(?m)^(?:func|type|var|const|\t)\s*` + m[1] + `\b`).MatchString(exported.String()) {
			t.Errorf("the README uses guard.%s, which is not there", m[1])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
