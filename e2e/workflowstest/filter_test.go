package workflowstest

import (
	"strings"
	"testing"
	"time"
)

type item struct {
	text string
	at   time.Time
	n    int64
}

var itemFields = fields[item]{
	"text":   textField(func(i item) string { return i.text }),
	"at":     timeField(func(i item) time.Time { return i.at }),
	"n":      numberField(func(i item) int64 { return i.n }),
	"yes":    boolField(func(item) bool { return true }),
	"labels": labelField(func(i item) map[string]string { return map[string]string{"k": i.text} }),
}

func TestFilter(t *testing.T) {
	t.Parallel()
	x := item{text: `a "b" c`, n: 5}
	for filter, want := range map[string]bool{
		`text = "a \"b\" c"`:           true,
		`text='a "b" c'`:               true,
		`text="a"`:                     false,
		`text:*`:                       true,
		`text=*`:                       false,
		`n>4 n<6`:                      true,
		`n>=5 AND n<=5 AND n!=4`:       true,
		`n:5`:                          true,
		`-n=5`:                         false,
		`NOT (n=5 AND text="a")`:       true,
		`n=1 OR n=2 OR n=5`:            true,
		`n=1 OR n=5 AND n=6`:           false,
		`(n=1 OR (n=5)) AND (n>4)`:     true,
		"\tn=5\n":                      true,
		`at<"2030-01-01"`:              false, // not set
		`at:*`:                         false,
		`yes=true`:                     true,
		`labels."k":'a "b" c'`:         true,
		`labels.ORDER=1 OR n=5`:        true,
		`text=ANDOR OR text=NOT n=5`:   false,
		`text="AND" OR text!="(n=1)"`:  true,
		`NOT text="x" AND NOT n=6`:     true,
		`text!="a" (n=5 OR n=6) n<100`: true,
	} {
		test, err := itemFields.filter(filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := test(x); got != want {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
	}
	for _, filter := range []string{
		"AND", "n=5 AND AND n=5", "OR n=5", "n=5 OR", "NOT", "-", "()", "n", `"n"`, "n=five", "yes=maybe", "n==5", "=5", ".n=5", "n.=5", "n.k=5",
		strings.Repeat("(", 60) + "n=5" + strings.Repeat(")", 60), "n=(5)", "labels=*", `n="5`, "5=n",
	} {
		if _, err := itemFields.filter(filter); err == nil {
			t.Errorf("%s: no error", filter)
		}
	}
}

// FuzzFilter holds the reader to an answer or an error for every text, and to the same answer for the same text in parentheses.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`labels."k":"v" AND n>1`, `(n=1 OR -text='a') at<"2030-01-01"`, `NOT n:*`, `n=1)`, `"`, `labels:k=v`} {
		f.Add(seed)
	}
	x := item{text: "a", n: 1}
	f.Fuzz(func(t *testing.T, filter string) {
		test, err := itemFields.filter(filter)
		if err != nil || strings.TrimSpace(filter) == "" {
			return
		}
		again, err := itemFields.filter("(" + filter + ")")
		if err == nil && again(x) != test(x) {
			t.Errorf("%q means something else in parentheses", filter)
		}
	})
}
