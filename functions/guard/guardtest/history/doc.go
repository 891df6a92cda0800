// Package history records what concurrent clients did to a store, or to guarded steps over it, and asks porcupine
// whether one order of events explains every answer. Calls whose answer was lost are left open: they may have happened
// at any later time, or never.
//
//   - [CheckStore] holds a store to its contract: one atomic operation per call.
//   - [CheckGuard] holds guarded steps to theirs: each has one outcome, made once, and everyone is told that one.
//
// Its answer is about the history that was recorded, not about all: run it with several seeds.
package history
