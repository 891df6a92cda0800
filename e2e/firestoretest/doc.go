// Package firestoretest is Firestore's gRPC API (google.firestore.v1.Firestore) in the test's own process, in plain text on
// loopback, for the real client libraries: by an endpoint option, or by FIRESTORE_EMULATOR_HOST. A test moves the server's clock,
// chooses how transactions contend, and fails the n-th call with a fault.Plan. The document methods answer in REST too, see Server.URL.
//
// All stamps (read_time, update_time, create_time, commit_time) come from one clock, aligned to microseconds and strictly rising from
// commit to commit, so that a time read from one answer can be compared with a time from any other.
//
// Where it differs from the service:
//   - Authentication, security rules, quotas, billing and hot spots: none. Any database exists as soon as it is named.
//   - Indexes: every query works, and none asks for a composite index. An index entry's limits are not counted, and an indexed string
//     is compared whole, not by its first 1,500 bytes.
//   - A pessimistic writer waits Config.LockWait for a lock (the service waits many seconds) and the younger of a deadlock gives way at once.
//     Locks of queries are exact predicates, not index ranges, so they conflict less often than the service's.
//   - Old versions are kept for an hour, and at most Config.Versions of a document; an older read fails as a too old one does.
//   - Listen reports the newest state of its target; states in between may be skipped, and it sends no existence filters.
//   - Numbers in queries are ordered exactly; NaN is below all of them. Text of rarer error messages is ours where the service's is not known.
//   - TTL policies stand in the Config and delete Config.TTLDelay after expiry, all at once.
//   - ExecutePipeline, Write (the stream of the browser clients), find_nearest and explain_options answer UNIMPLEMENTED and name themselves.
package firestoretest
