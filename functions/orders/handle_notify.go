package orders

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

type notifyRequest struct {
	OrderID  string `json:"order_id"`
	Email    string `json:"email"`
	ChargeID string `json:"charge_id"`
}

func (r *notifyRequest) validate() error {
	if err := required("order_id", r.OrderID, "charge_id", r.ChargeID); err != nil {
		return err
	}
	if !strings.Contains(r.Email, "@") {
		return errors.New("email is no address")
	}
	return nil
}

// Mail is the mail service's receipt.
type Mail struct {
	MailID string `json:"mail_id"`
}

// notifyHandler is the wrapper at work: an ordinary handler becomes a step by guard.Handler alone. The guard records
// the response, and a duplicate gets it byte for byte.
func (a *App) notifyHandler() http.Handler {
	return guard.Handler(a.guard, guard.HandlerConfig{})(http.HandlerFunc(a.notify))
}

func (a *App) notify(w http.ResponseWriter, r *http.Request) {
	var req notifyRequest
	if _, err := decode(w, r, &req); err != nil {
		a.fail(w, r, err)
		return
	}
	body, err := json.Marshal(req)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	// The call is named, so that its token stays the same when its body one day does not.
	ctx := tokens.WithCall(r.Context(), "mail")
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.MailURL+"/messages", bytes.NewReader(body))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	call.Header.Set("Content-Type", "application/json")
	var out Mail
	if err := a.call(call, &out); err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, r, out, false)
}
