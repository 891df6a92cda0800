package firestoretest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// Whatever a client sends as a field path is read or refused; a quoted path reads back as itself.
func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a", "a.b", "`a.b`.c", "`a\\`b`", "a..b", "`", "``", "__name__", "a`b", "`a`b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePath(s)
		if err != nil {
			return
		}
		var quoted []string
		for _, name := range p {
			quoted = append(quoted, "`"+strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name)+"`")
		}
		again, err := parsePath(strings.Join(quoted, "."))
		if len(strings.Join(quoted, ".")) <= 1500 && p.String() != nameField && (err != nil || !slices.Equal(p, again)) {
			t.Errorf("%q reads as %q, and quoted as %q, %v", s, p, again, err)
		}
	})
}

// Names are accepted or refused, and an accepted one has a collection and an id.
func FuzzCheckDocName(f *testing.F) {
	for _, s := range []string{docRoot + "c/a", docRoot + "c", docRoot, "projects/p", "/documents", docRoot + "c/a/b/__x__", docRoot + "//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if checkDocName("", s) == nil && collectionOf(s)+"/"+lastID(s) != s {
			t.Errorf("%q falls apart into %q and %q", s, collectionOf(s), lastID(s))
		}
	})
}

// A log of any bytes is read up to where it is whole.
func FuzzReadRecord(f *testing.F) {
	whole, err := record(7, []change{{name: docRoot + "c/a"}, {name: docRoot + "c/b", after: &pb.Document{Name: docRoot + "c/b"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte{8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(append(slices.Clone(whole), b...))
		if at, writes, err := readRecord(in); at != 7 || len(writes) != 2 || err != nil {
			t.Fatalf("the whole record reads as %v, %v, %v", at, writes, err)
		}
		for {
			if _, writes, err := readRecord(in); err != nil || len(writes) == 0 {
				return
			}
		}
	})
}
