// Package stack runs the whole path on one machine: Cloud Scheduler, proxy, Workflows, the sample's functions, Firestore,
// and the payment and mail services that must see each order once.
//
// Proxy and functions are the real ones, over Google's real clients; everything of Google's is a fake of e2e. Start puts
// them together for tests and for the commands, Demo sends one firing through them and breaks what can break.
package stack
