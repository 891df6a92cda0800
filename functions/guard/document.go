package guard

import (
	"time"

	"cloud.google.com/go/firestore"
)

const (
	// partSize is how much of a body one document holds, well below Firestore's 1 MiB.
	partSize = 900 << 10
	// inline is the longest body that stays in the record itself, beside an input of maxInput.
	inline = 700 << 10
)

// document is a record as Firestore has it. Names that Google's sample has are the sample's.
type document struct {
	Status       string             `firestore:"status"`
	AttemptID    string             `firestore:"attempt_id"`
	LeaseExpires time.Time          `firestore:"lease_expires"`
	ExpireAt     time.Time          `firestore:"expire_at"`
	Token        string             `firestore:"token"`
	Fence        int64              `firestore:"fence"`
	LeaseMS      *int64             `firestore:"lease_ms"`
	Fingerprint  string             `firestore:"fingerprint"`
	Input        []byte             `firestore:"input"`
	Outcome      *outcomeDocument   `firestore:"outcome"`
	Error        *failureDocument   `firestore:"error"`
	Attempts     []*attemptDocument `firestore:"attempts"`
	Seq          int64              `firestore:"seq"`
	V            int64              `firestore:"v"`
}

type outcomeDocument struct {
	Body      []byte              `firestore:"body"`
	Status    int                 `firestore:"status"`
	Headers   map[string][]string `firestore:"headers"`
	Parts     int                 `firestore:"parts"`
	Tombstone bool                `firestore:"tombstone"`
}

type failureDocument struct {
	Code    string `firestore:"code"`
	Message string `firestore:"message"`
}

type attemptDocument struct {
	AttemptID string    `firestore:"attempt_id"`
	Fence     int64     `firestore:"fence"`
	ClaimedAt time.Time `firestore:"claimed_at"`
	EndedAt   time.Time `firestore:"ended_at,omitempty"`
	Ended     string    `firestore:"ended"`
	Note      string    `firestore:"note"`
}

// part is a piece of a body that did not fit. It has no status, so that no list of records shows it; its body lies under
// outcome, so that the record's index exemptions are its too.
type part struct {
	PartOf   string    `firestore:"part_of"`
	N        int       `firestore:"n"`
	Outcome  partBody  `firestore:"outcome"`
	ExpireAt time.Time `firestore:"expire_at"`
}

type partBody struct {
	Body []byte `firestore:"body"`
}

func toDocument(r Record) document {
	d := document{
		Status: string(r.Status), AttemptID: r.AttemptID, LeaseExpires: r.LeaseExpires, ExpireAt: r.ExpireAt,
		Token: r.Token, Fence: r.Fence, Fingerprint: r.Fingerprint, Input: r.Input, Seq: r.Seq, V: r.Schema,
	}
	if r.Lease != nil {
		ms := r.Lease.Milliseconds()
		d.LeaseMS = &ms
	}
	if o := r.Outcome; o != nil {
		d.Outcome = &outcomeDocument{Body: o.Body, Status: o.Code, Headers: o.Headers, Tombstone: o.Tombstone}
	}
	if f := r.Failure; f != nil {
		d.Error = &failureDocument{Code: f.Code, Message: f.Message}
	}
	for _, a := range r.Attempts {
		d.Attempts = append(d.Attempts, &attemptDocument{a.AttemptID, a.Fence, a.ClaimedAt, a.EndedAt, a.Ended, a.Note})
	}
	return d
}

// record reads a document. token is the one that was asked for: a record of Google's sample does not name its own.
func (d document) record(token string) Record {
	r := Record{
		Token: token, Status: Status(d.Status), AttemptID: d.AttemptID, Fence: d.Fence, LeaseExpires: d.LeaseExpires,
		ExpireAt: d.ExpireAt, Fingerprint: d.Fingerprint, Input: d.Input, Seq: d.Seq, Schema: d.V,
	}
	if len(d.Input) == 0 { // the client writes nil as no bytes
		r.Input = nil
	}
	if d.LeaseMS != nil {
		lease := time.Duration(*d.LeaseMS) * time.Millisecond
		r.Lease = &lease
	}
	if o := d.Outcome; o != nil {
		r.Outcome = &Outcome{Body: o.Body, Code: o.Status, Headers: o.Headers, Tombstone: o.Tombstone}
	}
	if f := d.Error; f != nil {
		r.Failure = &Failure{Code: f.Code, Message: f.Message}
	}
	for _, a := range d.Attempts {
		r.Attempts = append(r.Attempts, AttemptEntry{a.AttemptID, a.Fence, a.ClaimedAt, a.EndedAt, a.Ended, a.Note})
	}
	return r
}

// updates names every field, so that nothing of an older record stays behind. Fields that are not ours are left alone.
func (d document) updates() []firestore.Update {
	return []firestore.Update{
		{Path: "status", Value: d.Status}, {Path: "attempt_id", Value: d.AttemptID}, {Path: "lease_expires", Value: d.LeaseExpires},
		{Path: "expire_at", Value: d.ExpireAt}, {Path: "token", Value: d.Token}, {Path: "fence", Value: d.Fence},
		{Path: "lease_ms", Value: d.LeaseMS}, {Path: "fingerprint", Value: d.Fingerprint}, {Path: "input", Value: d.Input},
		{Path: "outcome", Value: d.Outcome}, {Path: "error", Value: d.Error}, {Path: "attempts", Value: d.Attempts},
		{Path: "seq", Value: d.Seq}, {Path: "v", Value: d.V},
	}
}

// spill moves a body that does not fit out of the record, into parts for documents of their own.
func (d *document) spill(token string) (parts []part) {
	if d.Outcome == nil || len(d.Outcome.Body) <= inline {
		return nil
	}
	o := *d.Outcome
	body := o.Body
	for o.Body = nil; len(body) > 0; o.Parts++ {
		n := min(partSize, len(body))
		parts = append(parts, part{PartOf: docID(token), N: o.Parts, Outcome: partBody{body[:n]}, ExpireAt: d.ExpireAt})
		body = body[n:]
	}
	d.Outcome = &o
	return parts
}
