package timeline

import (
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) { // R24
	t.Parallel()
	var b strings.Builder
	err := Write(&b, Page{
		Title: "run <1>", Verdict: "exactly once: yes", OK: true,
		Rows:  []Row{{"effects", "1", "charge"}},
		Lanes: []string{"scheduler", "proxy"},
		Events: []Event{
			{Lane: "functions", Start: 300 * time.Millisecond, Tone: Good, Text: "charged"},
			{Lane: "scheduler", Start: 0, Tone: Plain, Text: "delivery 1"},
			{Lane: "proxy", Start: 100 * time.Millisecond, End: time.Second, Tone: Fault, Text: "claimed & killed"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"run &lt;1&gt;", "claimed &amp; killed", "0.10 s–1.00 s", ">functions<", `class="verdict ok"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Index(page, "delivery 1") > strings.Index(page, "charged") {
		t.Error("events are not in order of time")
	}
	for _, outside := range []string{"http://", "https://", "<script"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page holds %q; it must stand alone", outside)
		}
	}
}

// An empty page must still be drawn: a run may have died before its first event.
func TestWriteEmpty(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := Write(&b, Page{Title: "nothing"}); err != nil {
		t.Fatal(err)
	}
}
