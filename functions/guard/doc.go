// Package guard makes a state-changing step happen once per token, whatever is delivered twice, lost or killed.
//
// Copy this folder into a function's module: it needs the standard library and the Firestore client, nothing else. One
// record per token says who is at work and how it ended. Everything that decides is one conditional write of the store, and
// every time that it compares is the store's own.
//
// # Which form
//
//	form     for                            promise                                   store calls, fresh / duplicate
//	Write    blind writes to Firestore      exactly once                              1 / 2
//	Tx       reads and writes of Firestore  exactly once                              3 and its own reads / 3
//	Do       anything else                  one attempt at a time, never after one    2 / 2, or 0 from the cache
//	                                        finished; exactly once where the callee
//	                                        takes the token, or Find can tell
//	Handler  an http.Handler, by Do         as Do                                     2 / 2, or 0 from the cache
//
// In every form a duplicate gets what the first caller got, another payload under the same token is refused, a refused caller
// leaves the record as it was, and without the store nothing runs.
//
// # What happens when an attempt of Do stops
//
//	where                            what follows
//	before the claim                 nothing was claimed; the next attempt is the first
//	claim sent, answer lost          the attempt reads the record and knows its own id
//	after the claim                  in progress until the lease runs out; then the next attempt takes over
//	after the effect, unrecorded     the next attempt asks Find. Without Find it does the effect again under the same token
//	                                 (Safe), or stops as uncertain until an operator settles it (Never)
//	finish sent, answer lost         the attempt reads the record and knows its own id
//	after the finish                 the next attempt gets the recorded outcome
//	store away at the finish         ErrUnrecorded, with the value; then as after the effect
//	it did not die, it only slept    its context has ended with ErrLost, every guard call in its context refuses, and its
//	                                 write is refused if another took over. Only what it had already sent can still arrive:
//	                                 give the callee the token, or Attempt.Fence (FenceHeader, Firestore.FencedSet)
//	a panic in the effect            the claim is given up (Safe), or the step is uncertain (Never); the panic goes on
//
// A Write or a Tx is one commit: it happened with its record, or not at all.
//
// # Errors of an effect
//
//	Permanent, *FailedError  recorded as failed; every duplicate gets the same FailedError
//	NotApplied               released at once, whatever Repeat says
//	anything else            released at once (Safe, or with Find), or uncertain (Never)
//
// # The record
//
// Collection "runonce"; the document's id is the token where that is a SHA-256 in hex, else the SHA-256 of the token. The
// fields status (in_progress, completed, failed, uncertain), attempt_id, lease_expires and expire_at are those of Google's
// Python sample for Cloud Scheduler, so both can share a collection. Beside them:
//
//	token, fence, seq, v     clear text; number of the attempt; number of its writes; schema
//	lease_ms                 the lease lasts until the document's update time and this; 0: released. Both stamps compared
//	                         are the server's. A record without it is judged by lease_expires, one without either is locked.
//	fingerprint, input       of the first claimant
//	outcome                  body, status, headers, tombstone, parts
//	error                    code, message
//	attempts                 the history: attempt_id, fence, claimed_at, ended_at, ended, note
//
// A body that does not fit is spread over documents ID.0, ID.1 … (part_of, n, outcome.body, expire_at) in the same commit.
// They have no status. A TTL policy on expire_at cleans all of it up; no decision reads that field.
package guard
