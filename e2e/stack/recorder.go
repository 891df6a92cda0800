package stack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"example.com/runonce/e2e/schedulertest"
	"example.com/runonce/e2e/timeline"
	"example.com/runonce/functions/guard"
)

// The lanes of a run's timeline, from the trigger to the world.
const (
	LaneScheduler = "scheduler"
	LaneProxy     = "proxy"
	LaneWorkflow  = "workflow"
	LaneFunctions = "functions"
	LaneWorld     = "the world"
)

// Lanes are all of them, in order.
var Lanes = []string{LaneScheduler, LaneProxy, LaneWorkflow, LaneFunctions, LaneWorld}

// Call is one request to a function and its answer.
type Call struct {
	Function, Token string
	Status          int
	Replayed        bool
}

// Recorder collects what happens, as events for people and as calls to count. It is safe for concurrent use.
type Recorder struct {
	began time.Time
	tell  func(timeline.Event)

	mu         sync.Mutex
	events     []timeline.Event
	called     []Call
	deliveries int
}

// NewRecorder returns a recorder whose clock starts now. tell, where it is not nil, hears of each event at once.
func NewRecorder(tell func(timeline.Event)) *Recorder {
	return &Recorder{began: time.Now(), tell: tell}
}

// Note adds a moment.
func (r *Recorder) Note(lane string, tone timeline.Tone, format string, args ...any) {
	r.add(timeline.Event{Lane: lane, Start: time.Since(r.began), Tone: tone, Text: fmt.Sprintf(format, args...)})
}

func (r *Recorder) add(e timeline.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	if r.tell != nil {
		r.tell(e)
	}
}

// Events are all events so far.
func (r *Recorder) Events() []timeline.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]timeline.Event(nil), r.events...)
}

// Calls are all requests to functions so far.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Call(nil), r.called...)
}

// delivery hears of an attempt of the Scheduler that ended.
func (r *Recorder) delivery(a schedulertest.Attempt) {
	r.mu.Lock()
	r.deliveries++
	n := r.deliveries
	r.mu.Unlock()
	e := timeline.Event{Lane: LaneScheduler, Start: a.Start.Sub(r.began), End: a.End.Sub(r.began), Tone: timeline.Plain}
	switch {
	case a.Err != nil:
		e.Tone, e.Text = timeline.Fault, "the connection broke"
	case a.Status == http.StatusConflict:
		e.Tone, e.Text = timeline.Refuse, fmt.Sprintf("409, come back in %s s", a.Header.Get("Retry-After"))
	case a.Header.Get(guard.ReplayedHeader) == "true":
		e.Tone, e.Text = timeline.Replay, fmt.Sprintf("%d, the recorded answer", a.Status)
	case a.Succeeded():
		e.Tone, e.Text = timeline.Good, fmt.Sprintf("%d, started", a.Status)
	default:
		e.Tone, e.Text = timeline.Fault, fmt.Sprint(a.Status)
	}
	e.Text = fmt.Sprintf("delivery %d: %s", n, e.Text)
	r.add(e)
}

// Observe implements guard.Observer for the proxies of this process.
func (r *Recorder) Observe(_ context.Context, e guard.Event) {
	tones := map[guard.Kind]timeline.Tone{
		guard.Claimed: timeline.Plain, guard.TookOver: timeline.Plain, guard.Found: timeline.Replay, guard.Finished: timeline.Good,
		guard.Replayed: timeline.Replay, guard.Refused: timeline.Refuse, guard.Lost: timeline.Fault,
	}
	tone, ok := tones[e.Kind]
	if !ok {
		return // renewals and the like are in the record
	}
	r.Note(LaneProxy, tone, "%s, attempt %d", strings.ReplaceAll(string(e.Kind), "_", " "), e.Fence)
}

// calls records the requests to the functions behind it.
func (r *Recorder) calls(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		start := time.Since(r.began)
		sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(sw, req)
		call := Call{
			Function: strings.TrimPrefix(req.URL.Path, "/"), Token: req.Header.Get(guard.TokenHeader),
			Status: sw.status, Replayed: w.Header().Get(guard.ReplayedHeader) == "true",
		}
		r.mu.Lock()
		r.called = append(r.called, call)
		r.mu.Unlock()
		e := timeline.Event{Lane: LaneFunctions, Start: start, End: time.Since(r.began), Tone: timeline.Good, Text: step(call.Token)}
		switch {
		case call.Replayed:
			e.Tone, e.Text = timeline.Replay, e.Text+": the recorded answer"
		case call.Status == http.StatusConflict:
			e.Tone, e.Text = timeline.Refuse, e.Text+": 409"
		case call.Status != http.StatusOK:
			e.Tone, e.Text = timeline.Fault, fmt.Sprintf("%s: %d", e.Text, call.Status)
		}
		r.add(e)
	})
}

// lost records the answers that a fault in next drops.
func (r *Recorder) lost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				r.Note(LaneFunctions, timeline.Fault, "%s: the answer is lost", step(req.Header.Get(guard.TokenHeader)))
				panic(p)
			}
		}()
		next.ServeHTTP(w, req)
	})
}

// shop records what the outside world was asked to do.
func (r *Recorder) shop(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			what := map[string]string{"/charges": "a card is charged", "/messages": "a mail is sent"}[req.URL.Path]
			r.Note(LaneWorld, timeline.Good, "%s", what)
		}
		next.ServeHTTP(w, req)
	})
}

// step is a token without its run: ship/0.
func step(token string) string {
	_, name, _ := strings.Cut(token, "/")
	return name
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}
