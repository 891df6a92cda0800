// Package timeline draws what happened to a run: one lane per actor, an event per mark, a bar where something lasted.
//
// It writes one self-contained HTML page, readable without JavaScript, in dark and light, for the demo and the e2e
// reports. It knows nothing of runs or claims: whoever collects the events gives them their words.
package timeline

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

// Tone colours an event and names its legend entry.
type Tone string

const (
	Plain  Tone = "plain"  // something was sent or answered
	Good   Tone = "good"   // an effect, a completion
	Replay Tone = "replay" // a duplicate that got the recorded outcome
	Refuse Tone = "refuse" // a duplicate that was refused while the first was at work
	Fault  Tone = "fault"  // something was lost, broken or killed
)

// Event is one mark on a lane. Start and End count from the beginning of the run; End is zero for a moment.
type Event struct {
	Lane       string
	Start, End time.Duration
	Tone       Tone
	Text       string
}

// Row is one line of the summary table above the drawing.
type Row struct{ Name, Value, Note string }

// Page is everything on one page. Lanes gives their order; a lane that it does not name follows, in order of first use.
type Page struct {
	Title   string
	Verdict string // one sentence
	OK      bool
	Rows    []Row
	Lanes   []string
	Events  []Event
}

// Sizes of the drawing, in pixels.
const (
	laneHeight = 44
	leftMargin = 150
	plotWidth  = 900
	topMargin  = 30
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

type mark struct {
	X, Y, W int
	Event
	When string
}

type lane struct {
	Name string
	Y    int
}

type tick struct {
	X    int
	Text string
}

type drawing struct {
	Page
	Width, Height, Left, Right int
	Drawn                      []lane
	Marks                      []mark
	Ticks                      []tick
}

// Write writes the page.
func Write(w io.Writer, p Page) error {
	if err := pageTemplate.Execute(w, draw(p)); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	return nil
}

func draw(p Page) drawing {
	d := drawing{Page: p, Left: leftMargin, Right: leftMargin + plotWidth, Width: leftMargin + plotWidth + 30}
	d.Events = slices.Clone(p.Events)
	slices.SortStableFunc(d.Events, func(a, b Event) int { return int(a.Start - b.Start) })

	y := map[string]int{}
	place := func(name string) {
		if _, ok := y[name]; !ok {
			y[name] = topMargin + len(y)*laneHeight + laneHeight/2
			d.Drawn = append(d.Drawn, lane{Name: name, Y: y[name]})
		}
	}
	for _, name := range p.Lanes {
		place(name)
	}
	last := time.Millisecond
	for _, e := range d.Events {
		place(e.Lane)
		last = max(last, e.Start, e.End)
	}
	d.Height = topMargin + len(d.Drawn)*laneHeight + 30

	x := func(t time.Duration) int { return leftMargin + int(float64(plotWidth)*float64(t)/float64(last)) }
	for _, e := range d.Events {
		m := mark{X: x(e.Start), Y: y[e.Lane], Event: e, When: seconds(e.Start)}
		if e.End > e.Start {
			m.W = max(3, x(e.End)-m.X)
			m.When += "–" + seconds(e.End)
		}
		d.Marks = append(d.Marks, m)
	}
	for i := range 6 {
		t := last * time.Duration(i) / 5
		d.Ticks = append(d.Ticks, tick{X: x(t), Text: seconds(t)})
	}
	return d
}

func seconds(t time.Duration) string { return fmt.Sprintf("%.2f s", t.Seconds()) }
