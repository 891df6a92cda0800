package tokens

import (
	"regexp"
	"strings"
	"testing"
)

// R21: every rendering keeps to the alphabet and the length of the field it fills.
func TestNativeForms(t *testing.T) {
	t.Parallel()
	forms := map[string]struct {
		of   func(string) string
		want string
	}{
		"Label":         {Label, `^[a-z][a-z0-9_-]{0,62}$`},
		"UUID":          {UUID, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		"BigQueryJobID": {BigQueryJobID, `^[A-Za-z0-9_-]{1,100}$`},
		"TaskID":        {TaskID, `^[A-Za-z0-9_-]{1,500}$`},
		"BatchID":       {BatchID, `^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`},
		"RequestID40":   {RequestID40, `^[a-zA-Z0-9_-]{1,40}$`},
		"RequestID36":   {RequestID36, `^[!-~]{1,36}$`},
	}
	inputs := []string{"", "a", "A", "run/charge", "run/charge ", strings.Repeat("a", 64), strings.Repeat("a", 255), "\xff", "é"}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pattern, seen := regexp.MustCompile(form.want), map[string]string{}
			for _, in := range inputs {
				got := form.of(in)
				if !pattern.MatchString(got) {
					t.Errorf("%s(%q) = %q, want %s", name, in, got, form.want)
				}
				if other, ok := seen[strings.ToLower(got)]; ok {
					t.Errorf("%q and %q have one form", in, other)
				}
				seen[strings.ToLower(got)] = in
			}
		})
	}
}

// R21: the id of a failed BigQuery job is used up; the next one is another.
func TestBigQueryJobIDAfter(t *testing.T) {
	t.Parallel()
	if got, want := BigQueryJobIDAfter("t", 0), BigQueryJobID("t"); got != want {
		t.Errorf("after no failure: %s, want %s", got, want)
	}
	if one, two := BigQueryJobIDAfter("t", 1), BigQueryJobIDAfter("t", 2); one == two || one == BigQueryJobID("t") {
		t.Errorf("after one: %s, after two: %s", one, two)
	}
}
