// Package runs is the command line of the person on call: what ran, what is stuck, what was missed, and how to settle it. Command
// proxy/cmd/runs is its main.
//
// Every change goes through guard.Settle, which is conditional on the record it read, refuses a live attempt, and writes who did it and why
// into the record's history. Not here: starting anything. A run is started by the proxy alone, by a delivery (trigger), or by its sweep.
package runs
