// Package workflowstest is the Workflow Executions API and the Workflows API in the test's own process, on loopback: gRPC at Addr
// and REST at URL, for Google's own clients. Every execution really runs, in workflows/engine, or in a Config.Runner.
//
// A test moves the clock (Config.Clock), fails the n-th call or executes it and loses the answer (Config.Faults), makes List late,
// fills the quota, kills executions, and reads what happened: Executions, Steps, Logs, Calls.
//
// Where it differs from the service:
//   - No authentication, permission, billing, audit or platform log. Projects and locations exist as soon as they are named, and a
//     project's number is not its id. The service account is a name; tokens come from Config.Auth.
//   - Nothing expires. Quotas on requests are not counted: plan a Refuse with RESOURCE_EXHAUSTED. The quota on concurrent
//     executions, Config.MaxRunning, is the server's, not a region's and project's.
//   - List is consistent unless Config.ListLag makes it late; the service promises nothing. The filter's syntax for labels is not
//     documented firmly, so every spelling that is plausible is taken: labels.k="v", labels."k":"v", labels.k:*, label.k="v", label:"k=v",
//     labels:k. Config.RejectLabelFilter imitates a service that knows none.
//   - A page token is a position, bound to the request's other fields; executions that start between two pages move the rest on.
//   - An execution is CANCELLED as soon as Cancel was answered; a second Cancel, or one of an ended execution, is FAILED_PRECONDITION.
//   - Step entries carry no variables, and none are kept when the Runner is the test's own. executionHistoryLevel is kept and shown only.
//   - A callback's URL is under URL, needs no token and ends with the execution; waiters and availablePayloads are not told.
//   - Long-running operations are done when they are answered. Deleting a workflow takes its executions with it at once.
//   - The text of errors is the service's only where it is publicly known.
//   - triggerPubsubExecution, exportData, and the Locations API answer UNIMPLEMENTED (501) by name.
package workflowstest
