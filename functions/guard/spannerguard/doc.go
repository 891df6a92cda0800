// Package spannerguard keeps the records of guard in Spanner. A write is a read-write transaction that compares the
// version it read; the stamps are Spanner's own: the commit timestamp of a write, the read timestamp of a read. Create
// the table with [Schema]. A fresh step of guard.Do costs four calls, a duplicate three.
//
// It is tested against the in-memory server of the Spanner client (spannertest), which cannot show everything:
//
//   - It has no isolation between the read and the commit of a transaction, so the tests let one call through at a time.
//     That two writers of one version cannot both win is Spanner's serializability, and is not shown here.
//   - It never aborts a transaction; that an aborted one is run again is the client's doing.
//   - It gives single reads no read timestamp; the tests add one on the way, as the service does.
//   - It has no row deletion policy and no limit on the size of a row.
//
// guard.Write and guard.Tx are Firestore's own and have no counterpart here.
package spannerguard
