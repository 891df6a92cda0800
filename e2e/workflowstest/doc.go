// Package workflowstest is the Workflows Executions API in-process: Google's own client speaks gRPC to it, and every
// execution really runs, in workflows/engine.
//
// Where it differs from the real service:
//   - Workflows are put there by Deploy; there is no Workflows API, no REST and no callback endpoint yet.
//   - All executions start at once, unless Config.MaxRunning makes some of them wait as QUEUED.
//   - List is consistent unless Config.ListLag makes it late, as the real one may be: nothing is documented.
//   - The filter knows what filterOf says; the real syntax for labels is not documented firmly. Config.RejectLabelFilter
//     imitates a service that does not know it.
//   - Nothing is billed, nothing expires, and no permission is checked.
package workflowstest
