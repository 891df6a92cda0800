package syntax

import (
	"os"
	"testing"

	"gopkg.in/yaml.v3"
)

func source(b *testing.B) []byte {
	src, err := os.ReadFile("testdata/tree.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	return src
}

func BenchmarkParse(b *testing.B) {
	src := source(b)
	for b.Loop() {
		if _, err := Parse("tree.yaml", src); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkYAML is the floor: what the YAML parser alone takes.
func BenchmarkYAML(b *testing.B) {
	src := source(b)
	for b.Loop() {
		var n yaml.Node
		if err := yaml.Unmarshal(src, &n); err != nil {
			b.Fatal(err)
		}
	}
}
