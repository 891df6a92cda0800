package proxy

import "example.com/runonce/tokens"

func idempotencyKeyPresent(r request) bool { return len(r.header.Values(tokens.Header)) > 0 }

// readIdempotencyKey reads a request of a web site or a person, who names it by an Idempotency-Key. Keys of two accounts never meet, and
// the same key with another body is another request, which is refused (IETF draft, "Idempotency Fingerprint").
func readIdempotencyKey(_ Config, r request) (delivery, error) {
	key, err := tokens.FromHeader(r.header)
	if err != nil {
		return delivery{}, badRequest("missing-header", "%s", err)
	}
	id, err := keyed(r, tokens.Requested, key, r.caller)
	return delivery{source: sourceIdempotencyKey, runID: id, name: key, body: r.body, strict: true}, err
}
