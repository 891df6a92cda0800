// Package syntax reads workflow sources of Google Cloud Workflows, YAML or JSON, into a tree with positions, and makes
// every check that the service makes when a workflow is deployed.
//
// Parse returns a tree that is fit to run, or all errors of the file at once, each with file:line:col. Where the service's
// own rule is not known for sure, the source is accepted: a workflow that deploys there must parse here. Walk, Workflow.Span
// and Workflow.ExprPos are for tools that follow or edit a workflow; Functions is the standard library by name. Nothing is
// run: that is the engine's.
package syntax
