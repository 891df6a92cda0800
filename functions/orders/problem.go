package orders

import (
	"encoding/json"
	"errors"
	"net/http"

	"example.com/runonce/functions/guard"
)

// answer writes a step's result; a replay says so.
func (a *App) answer(w http.ResponseWriter, r *http.Request, value any, replayed bool) {
	body, err := json.Marshal(value)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if replayed {
		w.Header().Set(guard.ReplayedHeader, "true")
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // the step is done; a caller that has gone comes back for the replay
}

// fail turns an error into a status, a public message and a logged cause. 409 and 5xx are worth another try.
func (a *App) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := guard.ProblemOf(err)
	var bad *requestError
	if errors.As(err, &bad) {
		p = guard.Problem{Status: http.StatusBadRequest, Code: "bad-request", Detail: bad.message}
	}
	if p.Status >= http.StatusInternalServerError {
		a.log.ErrorContext(r.Context(), "step did not finish", "path", r.URL.Path, "error", err)
	}
	guard.WriteProblem(w, p)
}
