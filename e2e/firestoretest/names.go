package firestoretest

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A document's name is projects/P/databases/D/documents/C1/D1/C2/D2…; root is the part up to "documents".

var (
	reservedID  = regexp.MustCompile(`^__.*__$`)
	importedID  = regexp.MustCompile(`^__id-?[0-9]+__$`)
	databaseExp = regexp.MustCompile(`^projects/[^/]+/databases/[^/]+$`)
)

// splitRoot cuts a name into projects/P/databases/D/documents and the path below.
func splitRoot(name string) (root, path string, ok bool) {
	db, rest, found := strings.Cut(name, "/documents")
	if !found || !databaseExp.MatchString(db) {
		return "", "", false
	}
	if rest != "" && rest[0] != '/' {
		return "", "", false
	}
	return db + "/documents", strings.TrimPrefix(rest, "/"), true
}

func checkDatabase(db string) error {
	if !databaseExp.MatchString(db) {
		return invalid("Invalid database name: %q.", db)
	}
	return nil
}

// checkDocName holds a document's name to the rules of ids. db is the request's database, "" when the request names none.
func checkDocName(db, name string) error {
	root, path, ok := splitRoot(name)
	if !ok {
		return invalid("Invalid resource name: %q.", name)
	}
	if db != "" && root != db+"/documents" {
		return invalid("Document name %q is not in database %q.", name, db)
	}
	ids := strings.Split(path, "/")
	if len(ids)%2 != 0 {
		return invalid("Document parent name %q lacks \"/\" at index %d.", name, len(name))
	}
	return checkIDs(ids)
}

// checkParent accepts a document's name or the root of all.
func checkParent(parent string) error {
	_, path, ok := splitRoot(parent)
	if !ok {
		return invalid("Invalid parent name: %q.", parent)
	}
	if path == "" {
		return nil
	}
	return checkDocName("", parent)
}

func checkIDs(ids []string) error {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
	}
	return nil
}

func checkID(id string) error {
	switch {
	case id == "":
		return invalid("Resource id is empty.")
	case id == "." || id == "..":
		return invalid("Resource id %q is invalid because it is a relative path.", id)
	case len(id) > 1500:
		return invalid("Resource id is longer than 1500 bytes.")
	case reservedID.MatchString(id) && !importedID.MatchString(id):
		return invalid("Resource id %q is invalid because it is reserved.", id)
	case !utf8.ValidString(id):
		return invalid("Resource id is not valid UTF-8.")
	}
	return nil
}

// collectionOf is the collection that holds a document, by its full path.
func collectionOf(name string) string { return name[:strings.LastIndexByte(name, '/')] }

// lastID is the last segment of a path.
func lastID(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// compareNames orders names segment by segment, so that a child stands right behind its parent.
func compareNames(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		if !moreA || !moreB {
			return cmp.Compare(b2i(moreA), b2i(moreB))
		}
		a, b = restA, restB
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
