package orders

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

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
	var bad *requestError
	var busy *guard.InProgressError
	var failed *guard.FailedError
	switch {
	case errors.As(err, &bad):
		problem(w, http.StatusBadRequest, "bad-request", bad.message)
	case errors.As(err, &busy):
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(busy.RetryAfter.Seconds()))))
		problem(w, http.StatusConflict, "in-progress", "another attempt is at work on this step; try again")
	case errors.Is(err, guard.ErrMismatch):
		problem(w, http.StatusUnprocessableEntity, "token-reused", "this token was used for another request")
	case errors.Is(err, guard.ErrUncertain):
		problem(w, http.StatusUnprocessableEntity, "uncertain", "nobody can tell whether this step happened; an operator must settle it")
	case errors.As(err, &failed):
		problem(w, http.StatusUnprocessableEntity, failed.Code, failed.Message)
	default:
		a.log.ErrorContext(r.Context(), "step did not finish", "path", r.URL.Path, "error", err)
		problem(w, http.StatusInternalServerError, "try-again", "the step did not finish; try again with the same token")
	}
}

// problem writes an application/problem+json answer (RFC 9457).
func problem(w http.ResponseWriter, status int, code, detail string) {
	body, err := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "code": code, "detail": detail})
	if err != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// docID makes a document id of a name that a caller chose: no slash, no dot, no length to worry about.
func docID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
