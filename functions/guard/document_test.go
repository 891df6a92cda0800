package guard

import (
	"strings"
	"testing"
)

// TestDocumentIDs: golden, for another id would make every step that is recorded run again. B14.
func TestDocumentIDs(t *testing.T) {
	t.Parallel()
	runID := strings.Repeat("0123456789abcdef", 4)
	for token, want := range map[string]string{
		runID:                  runID,
		"run/step":             "f3989eb7fcad07341343605936d7ad759a49544b799b858cb4308fdda69dc685",
		strings.ToUpper(runID): "",
		runID[:63]:             "",
		runID + "0":            "",
		runID + "/x":           "",
		".":                    "",
		"__x__":                "",
	} {
		got := docID(token)
		if want != "" && got != want || want == "" && (got == token || len(got) != 64) {
			t.Errorf("%q is kept under %s, want %s", token, got, want)
		}
	}
}

func TestSpill(t *testing.T) { // B25
	t.Parallel()
	for _, row := range []struct{ size, parts int }{{0, 0}, {inline, 0}, {inline + 1, 1}, {partSize, 1}, {partSize + 1, 2}, {maxBody, 10}} {
		body := []byte(strings.Repeat("x", row.size))
		r := Record{Token: "t", Outcome: &Outcome{Body: body}}
		d := toDocument(r)
		parts := d.spill("t")
		kept := len(d.Outcome.Body)
		for i, p := range parts {
			if p.N != i || len(p.Outcome.Body) > partSize || p.PartOf != docID("t") {
				t.Errorf("%d bytes: part %d is %d of %s with %d bytes", row.size, i, p.N, p.PartOf, len(p.Outcome.Body))
			}
			kept += len(p.Outcome.Body)
		}
		if len(parts) != row.parts || d.Outcome.Parts != row.parts || kept != row.size || len(r.Outcome.Body) != row.size {
			t.Errorf("%d bytes: %d parts, want %d; %d bytes kept, %d in the caller's record", row.size, len(parts), row.parts, kept, len(r.Outcome.Body))
		}
	}
}
