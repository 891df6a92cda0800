package firestoretest

import (
	"strconv"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// The limits of one document and one commit.
const (
	maxDocument   = 1 << 20
	maxCommit     = 10 << 20
	maxRequest    = 11 << 20
	maxTransforms = 500
	maxDepth      = 20
)

// nameSize is the size of a document's name as the service's page on storage size has it: the ids, one byte each more, and 16.
func nameSize(name string) int {
	_, path, _ := splitRoot(name)
	n := 16
	for id := range strings.SplitSeq(path, "/") {
		n += len(id) + 1
	}
	return n
}

func documentSize(name string, fields map[string]*pb.Value) int {
	return nameSize(name) + fieldsSize(fields) + 32
}

func fieldsSize(fields map[string]*pb.Value) int {
	n := 0
	for k, v := range fields {
		n += len(k) + 1 + valueSize(v)
	}
	return n
}

func valueSize(v *pb.Value) int {
	switch t := v.GetValueType().(type) {
	case *pb.Value_StringValue:
		return len(t.StringValue) + 1
	case *pb.Value_BytesValue:
		return len(t.BytesValue)
	case *pb.Value_ReferenceValue:
		return nameSize(t.ReferenceValue)
	case *pb.Value_GeoPointValue:
		return 16
	case *pb.Value_MapValue:
		return fieldsSize(t.MapValue.GetFields())
	case *pb.Value_ArrayValue:
		n := 0
		for _, e := range t.ArrayValue.GetValues() {
			n += valueSize(e)
		}
		return n
	case *pb.Value_NullValue, *pb.Value_BooleanValue:
		return 1
	}
	return 8
}

// checkSize refuses a document beyond 1 MiB.
func checkSize(name string, fields map[string]*pb.Value) error {
	if n := documentSize(name, fields); n > maxDocument {
		return invalid("Document '%s' cannot be written because its size (%s bytes) exceeds the maximum allowed size of %s bytes.",
			name, thousands(n), thousands(maxDocument))
	}
	return nil
}

// thousands writes n with commas, as the service's message does.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
