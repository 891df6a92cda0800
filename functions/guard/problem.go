package guard

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Problem is an answer of application/problem+json (RFC 9457), for clients: it holds no cause and no secret.
type Problem struct {
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Code       string        `json:"code,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	RetryAfter time.Duration `json:"-"`
}

// ProblemOf says what a client is told about an error of Do, Write, Tx or a guarded handler. What it does not know is 500:
// try again with the same token. It never says 503, which App Engine repeats on its own.
func ProblemOf(err error) Problem {
	var busy *InProgressError
	var failed *FailedError
	switch {
	case errors.As(err, &busy):
		return Problem{Status: http.StatusConflict, Code: "in-progress", Detail: "another attempt is at work on this step; try again", RetryAfter: busy.RetryAfter}
	case errors.Is(err, ErrMismatch):
		return Problem{Status: http.StatusUnprocessableEntity, Code: "token-reused", Detail: "this token was used for another request"}
	case errors.Is(err, ErrUncertain):
		return Problem{Status: http.StatusUnprocessableEntity, Code: "uncertain", Detail: "nobody can tell whether this step happened; an operator must settle it"}
	case errors.As(err, &failed):
		return Problem{Status: http.StatusUnprocessableEntity, Code: orElse(failed.Code, "failed"), Detail: failed.Message}
	case errors.Is(err, ErrBadToken):
		return Problem{Status: http.StatusBadRequest, Code: "bad-token", Detail: "the token must be 1 to 255 printable ASCII characters"}
	case errors.Is(err, ErrNoResult):
		return Problem{Status: http.StatusOK, Code: "not-kept", Detail: "the step is done; its result was not kept"}
	case errors.Is(err, ErrNewerSchema):
		return Problem{Status: http.StatusInternalServerError, Code: "newer-schema", Detail: "a newer version of this service has this step; try again"}
	}
	return Problem{Status: http.StatusInternalServerError, Code: "try-again", Detail: "the step did not finish; try again with the same token"}
}

// WriteProblem answers with p.
func WriteProblem(w http.ResponseWriter, p Problem) {
	p.Title = http.StatusText(p.Status)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}")
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
