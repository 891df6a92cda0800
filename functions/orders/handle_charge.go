package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"example.com/runonce/functions/guard"
	"example.com/runonce/tokens"
)

type chargeRequest struct {
	OrderID     string `json:"order_id"`
	AmountCents int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
}

func (r *chargeRequest) validate() error {
	if err := required("order_id", r.OrderID, "currency", r.Currency); err != nil {
		return err
	}
	if r.AmountCents < 1 {
		return errors.New("amount_cents must be 1 or more")
	}
	return nil
}

// Charge is one payment, as the payment service names it.
type Charge struct {
	ChargeID    string `json:"charge_id"`
	AmountCents int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
}

// Charge takes the money. The payment service is outside the store, so the step is a leased claim: the service gets
// the step token, and an attempt after the first asks it for that token's charge before it charges.
func (a *App) Charge(w http.ResponseWriter, r *http.Request) {
	var req chargeRequest
	step, err := decode(w, r, &req)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	res, err := guard.Do(r.Context(), a.guard, guard.Effect[Charge]{
		Request: step,
		Do:      func(ctx context.Context, at guard.Attempt) (Charge, error) { return a.charge(ctx, at, req) },
		Find:    a.findCharge,
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, r, res.Value, res.Replayed)
}

func (a *App) charge(ctx context.Context, at guard.Attempt, req chargeRequest) (Charge, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return Charge{}, guard.NotApplied(err)
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.PaymentURL+"/charges", bytes.NewReader(body))
	if err != nil {
		return Charge{}, guard.NotApplied(err)
	}
	call.Header.Set("Content-Type", "application/json")
	tokens.SetHeader(call.Header, at.Token)
	var out Charge
	err = a.call(call, &out)
	return out, err
}

// findCharge asks whether an earlier attempt's charge went through.
func (a *App) findCharge(ctx context.Context, at guard.Attempt) (Charge, bool, error) {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, a.cfg.PaymentURL+"/charges?key="+url.QueryEscape(at.Token), nil)
	if err != nil {
		return Charge{}, false, err
	}
	var found []Charge
	if err := a.call(call, &found); err != nil {
		return Charge{}, false, fmt.Errorf("look for the charge: %w", err)
	}
	if len(found) == 0 {
		return Charge{}, false, nil
	}
	return found[0], true, nil
}

// call sends req and decodes a 2xx answer into out. It tells the guard what it knows: a 429 was certainly not done,
// another 4xx never will be, and of everything else nobody knows.
func (a *App) call(req *http.Request, out any) error {
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("answer of %s: %w", req.URL.Host, err)
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return guard.NotApplied(fmt.Errorf("%s answered 429", req.URL.Host))
	case resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusConflict && resp.StatusCode != http.StatusRequestTimeout:
		return guard.Permanent(fmt.Errorf("%s answered %d", req.URL.Host, resp.StatusCode))
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("%s answered %d", req.URL.Host, resp.StatusCode)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("answer of %s: %w", req.URL.Host, err)
	}
	return nil
}
