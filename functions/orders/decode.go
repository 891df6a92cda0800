package orders

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

const maxBody = 256 << 10

// decode reads the step token and the JSON body of a call. What it returns identifies the request to the guard.
func decode(w http.ResponseWriter, r *http.Request, into interface{ validate() error }) (guard.Request, error) {
	if r.Method != http.MethodPost {
		return guard.Request{}, badRequest("call this function with POST, not %s", r.Method)
	}
	token, err := tokens.FromHeader(r.Header)
	if err != nil {
		return guard.Request{}, badRequest("%v", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return guard.Request{}, badRequest("body: %v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return guard.Request{}, badRequest("body is not the JSON this function takes: %v", err)
	}
	if err := into.validate(); err != nil {
		return guard.Request{}, badRequest("%v", err)
	}
	// The fingerprint is of the decoded request, so that white space and the order of keys do not matter.
	frozen, err := json.Marshal(into)
	if err != nil {
		return guard.Request{}, fmt.Errorf("fingerprint: %w", err)
	}
	return guard.Request{Token: token, Fingerprint: tokens.Fingerprint(frozen)}, nil
}

// requestError is the caller's mistake; its text is for the caller.
type requestError struct{ message string }

func (e *requestError) Error() string { return e.message }

func badRequest(format string, args ...any) error {
	return &requestError{message: fmt.Sprintf(format, args...)}
}

// required names the first empty field, for the clearest message.
func required(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return fmt.Errorf("%s is missing", fields[i])
		}
	}
	return nil
}

var errQuantity = errors.New("quantity must be 1 or more")
