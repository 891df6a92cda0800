// Package redisguard keeps the records of guard in Redis 5 or later, such as Memorystore for Redis or Valkey, single or
// cluster. Every operation is one Lua script on one key, so it is atomic, and every stamp is the server's own TIME.
//
// What Redis cannot promise, and Firestore can: replication is asynchronous, so a fail-over may forget writes that were
// acknowledged, and a step whose record was forgotten runs again; an instance that evicts under memory pressure forgets
// records likewise ([Store.Check] refuses such an instance); and a fail-over to a machine whose clock is ahead ends
// leases early by that much. Effects that must never repeat want Firestore, or a callee that takes the token itself.
//
// guard.Write and guard.Tx are Firestore's own and have no counterpart here.
package redisguard
