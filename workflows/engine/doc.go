// Package engine runs a Google Cloud Workflows workflow in this process, as the service would: for people who want to run
// their workflow on a laptop and believe the result, above all about retries, and for the fakes and provers built on it.
//
// Run takes a checked syntax.Workflow. Everything from outside comes in through Config: the clock (NewVirtual jumps over
// sleeps and backoff), the HTTP transport, the environment, logs, tokens, ids. What the public documentation leaves open
// stands in one table, Semantics, and the service's limits in Limits; STDLIB.md says of each standard function whether it
// is as documented. Not here: parsing and deploy-time checks (workflows/syntax), the Executions API (e2e/workflowstest).
package engine
