package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"example.com/runonce/functions/guard"
)

// input is what the record keeps, so that a run can be taken up without another delivery (POST /sweep).
type input struct {
	V        int             `json:"v"`
	Target   string          `json:"target"`
	Request  json.RawMessage `json:"request"`
	Source   string          `json:"source"`
	Name     string          `json:"name,omitempty"`
	Slot     time.Time       `json:"slot,omitzero"`
	Forced   bool            `json:"forced,omitempty"`
	Strict   bool            `json:"strict,omitempty"`
	By       string          `json:"by"`
	Accepted time.Time       `json:"accepted"`
}

// answer is what a delivery gets, and what the log says about it.
type answer struct {
	delivery delivery
	target   string
	caller   string
	result   guard.Result[json.RawMessage]
}

// replayed: an earlier delivery had finished the run. One that took the run over and found it started is its first answer.
func (a *answer) replayed() bool { return a.result.Replayed && !a.result.Found }

// handleStart serves one target's start path: authenticate, read, claim, start, answer.
func (s *Server) handleStart(t target, name func(*http.Request) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := s.clock.Now()
		ctx, span := s.tel.begin(r)
		ctx, cancel := context.WithTimeout(ctx, s.cfg.HandlerTimeout)
		defer cancel()
		var a answer
		err := s.accept(w, r.WithContext(ctx), name, &a)
		if err == nil {
			err = s.startOnce(ctx, t, &a)
		}
		status := s.answer(w, &a, err)
		took, verdict := s.clock.Now().Sub(began), verdictOf(&a, err)
		s.tel.delivered(ctx, span, &a, verdict, status, took)
		s.logDelivery(r, &a, verdict, status, took, err)
	}
}

// accept does all that comes before the claim. Nothing is written before it has succeeded.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, name func(*http.Request) (string, error), a *answer) (err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return refuse(http.StatusMethodNotAllowed, "method", "only POST starts a run")
	}
	if a.caller, err = s.auth.caller(r.Context(), r.Header); err != nil {
		return err
	}
	if a.target, err = name(r); err != nil {
		return err
	}
	accepted := allowed(s.rules, a.target)
	if accepted == nil {
		return refuse(http.StatusNotFound, "unknown-target", "%s is not in TARGETS, so this proxy does not start it; correct the job's URL, or add it to the list", a.target)
	}
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	a.delivery, err = readDelivery(s.cfg, accepted, request{
		header: r.Header, query: r.URL.Query(), body: body, target: a.target, caller: a.caller, now: s.clock.Now(),
	})
	return err
}

func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, refuse(http.StatusRequestEntityTooLarge, "body-too-long", "the body is longer than %d bytes", s.cfg.MaxBody)
	case err != nil:
		return nil, badRequest("body-cut", "the body did not arrive whole").because(err)
	}
	return body, nil
}

// startOnce claims the run and starts it, or replays what is recorded.
func (s *Server) startOnce(ctx context.Context, t target, a *answer) error {
	release, err := s.limit.take()
	if err != nil {
		return err
	}
	defer release()
	d := a.delivery
	prepared, err := t.prepare(d.body, d.event, d.runID)
	if err != nil {
		return err
	}
	in := input{V: 1, Target: a.target, Request: prepared, Source: d.source, Name: d.name, Slot: d.slot, Forced: d.forced, Strict: d.strict, By: a.caller, Accepted: s.clock.Now().UTC()}
	a.result, err = s.run(ctx, t, d.runID, in, d.strict, s.cfg.HandlerTimeout*9/10)
	return err
}

// answer writes the response and returns its status.
func (s *Server) answer(w http.ResponseWriter, a *answer, err error) int {
	if a.replayed() {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	var failed *guard.FailedError
	switch {
	case err == nil, errors.Is(err, guard.ErrNoResult):
		if len(a.result.Value) == 0 {
			a.result.Value = json.RawMessage("{}") // done, by a program that kept no answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.result.Value) // the caller has gone; the record is complete, a retry gets the same
		return http.StatusOK
	case errors.As(err, &failed):
		return s.answerFailed(w, a, failed)
	}
	p := *problemOf(err)
	p.RunID = a.delivery.runID
	p.write(w)
	return p.Status
}

// answerFailed answers for a run that is recorded as failed for good. With the policy ack, and where its executions
// have failed as often as they may, it is 200, because no other code stops the Scheduler.
func (s *Server) answerFailed(w http.ResponseWriter, a *answer, failed *guard.FailedError) int {
	p := refuse(http.StatusInternalServerError, "failed", "this run is recorded as failed for good (%s): %s; runs rerun starts it again on purpose", failed.Code, failed.Message)
	if s.cfg.OnPermanent == "ack" || failed.Code == codeFailedRun {
		p.Status, p.Title = http.StatusOK, "Failed, acknowledged"
	}
	p.RunID = a.delivery.runID
	p.write(w)
	return p.Status
}
