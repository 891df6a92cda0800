// Package guard makes a state-changing step happen once per token, whatever is delivered twice, lost or killed.
//
// Copy this folder into a function's module: it needs the standard library and the Firestore client, nothing else. One
// record per token says who is at work and how it ended. Everything that decides is one conditional write of the store, and
// every time it compares is the store's own.
//
// # Which form
//
//	Write    blind writes to Firestore      exactly once                            1 call, a duplicate 2
//	Tx       reads and writes of Firestore  exactly once                            3 and its own reads, a duplicate 3
//	Do       anything else                  one at a time, replayed once finished;  2 calls, a duplicate 2
//	Handler  an HTTP handler, by Do         exactly once where the callee takes
//	                                        the token, or Find can tell
//
// # What happens when an attempt of Do dies
//
//	before the claim                 nothing was claimed; the next attempt is the first
//	claim sent, answer lost          the attempt reads the record and knows its own id
//	after the claim                  in progress until the lease runs out; then the next attempt takes over
//	after the effect, unrecorded     the next attempt asks Find. Without Find it does the effect again under the same token
//	                                 (Repeat: Safe), or stops as uncertain (Repeat: Never)
//	finish sent, answer lost         the attempt reads the record and knows its own id
//	after the finish                 the next attempt gets the recorded outcome
//	it did not die, it only slept    its context has ended with ErrLost, its conditional write is refused, and every guard
//	                                 call in its context refuses
//
// # The record
//
// Collection "runonce"; status, attempt_id, lease_expires and expire_at are those of Google's Python sample, so both can
// share a collection. lease_ms beside them makes the lease count from the document's update time, both stamps the
// server's. A record without any lease is locked, never free. A TTL policy on expire_at cleans up; no decision reads it.
package guard
