package spannerguard

import (
	"encoding/json"
	"fmt"
	"time"

	"example.com/runonce/functions/guard"
)

// newest is the schema that this package reads whole.
const newest = 1

// entry is what of a record lies in the column record: JSON with the field names that guard uses in Firestore. The input
// and the outcome's body lie in columns of their own.
type entry struct {
	Token        string       `json:"token"`
	Status       guard.Status `json:"status"`
	AttemptID    string       `json:"attempt_id"`
	Fence        int64        `json:"fence"`
	LeaseNS      *int64       `json:"lease_ns,omitempty"`
	LeaseExpires time.Time    `json:"lease_expires,omitzero"`
	ExpireAt     time.Time    `json:"expire_at,omitzero"`
	Fingerprint  string       `json:"fingerprint,omitempty"`
	Outcome      *outcome     `json:"outcome,omitempty"`
	Error        *failure     `json:"error,omitempty"`
	Attempts     []attempt    `json:"attempts,omitempty"`
	Seq          int64        `json:"seq"`
	V            int64        `json:"v"`
}

type outcome struct {
	Code      int                 `json:"code,omitempty"`
	Headers   map[string][]string `json:"headers,omitempty"`
	Tombstone bool                `json:"tombstone,omitempty"`
}

type failure struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

type attempt struct {
	AttemptID string    `json:"attempt_id"`
	Fence     int64     `json:"fence"`
	ClaimedAt time.Time `json:"claimed_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Ended     string    `json:"ended,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// encode makes the column record of r, and hands out the body.
func encode(r guard.Record) (record string, body []byte, err error) {
	e := entry{
		Token: r.Token, Status: r.Status, AttemptID: r.AttemptID, Fence: r.Fence, LeaseExpires: r.LeaseExpires, ExpireAt: r.ExpireAt,
		Fingerprint: r.Fingerprint, Seq: r.Seq, V: r.Schema, Error: (*failure)(r.Failure),
	}
	if r.Lease != nil {
		ns := r.Lease.Nanoseconds()
		e.LeaseNS = &ns
	}
	if o := r.Outcome; o != nil {
		e.Outcome, body = &outcome{Code: o.Code, Headers: o.Headers, Tombstone: o.Tombstone}, o.Body
	}
	for _, a := range r.Attempts {
		e.Attempts = append(e.Attempts, attempt(a))
	}
	text, err := json.Marshal(e)
	if err != nil {
		return "", nil, fmt.Errorf("encode the record: %w", err)
	}
	return string(text), body, nil
}

func decode(record string, input, body []byte) (guard.Record, error) {
	var e entry
	if err := json.Unmarshal([]byte(record), &e); err != nil {
		return unreadable(record, err)
	}
	r := guard.Record{
		Token: e.Token, Status: e.Status, AttemptID: e.AttemptID, Fence: e.Fence, LeaseExpires: e.LeaseExpires, ExpireAt: e.ExpireAt,
		Fingerprint: e.Fingerprint, Input: input, Seq: e.Seq, Schema: e.V, Failure: (*guard.Failure)(e.Error),
	}
	if e.LeaseNS != nil {
		lease := time.Duration(*e.LeaseNS)
		r.Lease = &lease
	}
	if o := e.Outcome; o != nil {
		r.Outcome = &guard.Outcome{Body: body, Code: o.Code, Headers: o.Headers, Tombstone: o.Tombstone}
	}
	for _, a := range e.Attempts {
		r.Attempts = append(r.Attempts, guard.AttemptEntry(a))
	}
	return r, nil
}

// unreadable is for a record that this version cannot read: where a newer one wrote it, guard must hear that and nothing
// else, so that it refuses instead of guessing.
func unreadable(record string, err error) (guard.Record, error) {
	var head struct {
		V int64 `json:"v"`
	}
	if json.Unmarshal([]byte(record), &head) == nil && head.V > newest {
		return guard.Record{Schema: head.V}, nil
	}
	return guard.Record{}, fmt.Errorf("decode the record: %w", err)
}
