// Package model holds no code, only a test: it runs the real guard under every interleaving of a few deliveries, to a
// bound, and checks the promises of the design at each state.
//
// Every store call and every effect stops at a scheduling point. At each point the explorer may carry it out, carry it
// out twice, lose it (it may then still arrive at any later time, or never), kill the process, let time pass for
// everyone, or let it pass for the server alone, which is a process that was stopped and goes on later. Schedules are
// explored shortest first, each by running it from the start, and a state that was seen before is not explored again;
// so the schedule that a violation prints is a shortest one.
//
// go test explores to a bound of seconds; RUNONCE_MODEL_DEPTH=2 (3, …) adds deliveries, faults and lapses of time.
package model
