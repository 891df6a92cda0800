package tokens

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
)

// TestVectors holds every name to what it was. The file was computed by another program in another language; a changed
// value means that programs of two versions take one run for two (B14). // R3 R4 B13 B14
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Func  string
		Args  []string
		Scope Scope
		Want  string
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, v := range vectors {
		seen[v.Func] = true
		t.Run(strconv.Itoa(i)+" "+v.Func, func(t *testing.T) {
			t.Parallel()
			got, err := byName(v.Func, v.Args, v.Scope)
			if err != nil || got != v.Want {
				t.Errorf("%s%q = %q, %v, want %q", v.Func, v.Args, got, err, v.Want)
			}
		})
	}
	if len(seen) < 14 {
		t.Errorf("vectors for %d functions, want 14 or more", len(seen))
	}
}

func byName(name string, args []string, s Scope) (string, error) {
	switch name {
	case "RunID":
		return RunID(args[0], args[1], s)
	case "ForcedRunID":
		return ForcedRunID(args[0], args[1], s)
	case "Key":
		return Key{Kind: Kind(args[0]), Parts: args[1:], Scope: s}.RunID()
	case "Rerun":
		n, _ := strconv.Atoi(args[1])
		return Rerun(args[0], n)
	case "Step":
		return Step(args[0], args[1], args[2:]...)
	case "BigQueryJobIDAfter2":
		return BigQueryJobIDAfter(args[0], 2), nil
	case "TaskName":
		return TaskName(args[0], args[1]), nil
	case "FingerprintJSON":
		return FingerprintJSON([]byte(args[0]))
	case "Fingerprint":
		var parts [][]byte
		for _, a := range args {
			parts = append(parts, []byte(a))
		}
		return Fingerprint(parts...), nil
	}
	return natives[name](args[0]), nil
}

var natives = map[string]func(string) string{
	"Label": Label, "UUID": UUID, "BigQueryJobID": BigQueryJobID, "TaskID": TaskID, "BatchID": BatchID,
	"RequestID40": RequestID40, "RequestID36": RequestID36,
}
