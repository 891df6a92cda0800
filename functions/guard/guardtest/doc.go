// Package guardtest tests guarded steps without a cloud, for this repository and for the steps of those who use guard.
//
//   - [Memory] is a store in memory with a server clock of its own; [Clock] a client clock that stands until moved.
//   - [Faults] stands before any store and refuses, loses, duplicates or holds the calls that a test names.
//   - [Crash] runs a function of yours under a fault at every store call, delivers it again until it succeeds, and
//     fails where an effect happened twice or not at all.
//   - [RunStoreTests] is what every store must pass: thirty-three ways in which others failed, by number.
//
// Two folders below go further: history asks whether one order of events explains what concurrent clients saw of a store,
// and model runs the guard itself under every interleaving of a few deliveries, to a bound.
//
// Only tests import it. Firestore's own forms, guard.Write and guard.Tx, need a Firestore server, real or fake; they are
// not here.
package guardtest
