package workflowstest

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	locationPath  = "projects/*/locations/*"
	workflowPath  = locationPath + "/workflows/*"
	executionPath = workflowPath + "/executions/*"
)

// routes are the methods of the Executions API and the Workflows API, v1.
var routes = []route{
	{"POST", workflowPath + "/executions", "", restCreateExecution},
	{"GET", workflowPath + "/executions", "filter orderBy pageSize pageToken view", restListExecutions},
	{"GET", executionPath, "view", restGetExecution},
	{"POST", executionPath + ":cancel", "", restCancelExecution},
	{"POST", executionPath + ":deleteExecutionHistory", "", restDeleteHistory},
	{"GET", executionPath + ":exportData", "", missing("workflowexecutions.projects.locations.workflows.executions.exportData")},
	{"POST", workflowPath + ":triggerPubsubExecution", "", missing("workflowexecutions.projects.locations.workflows.triggerPubsubExecution")},
	{"GET", executionPath + "/stepEntries", "filter orderBy pageSize pageToken skip view", restListSteps},
	{"GET", executionPath + "/stepEntries/*", "view", restGetStep},
	{"GET", executionPath + "/callbacks", "pageSize pageToken", restListCallbacks},

	{"POST", locationPath + "/workflows", "workflowId", restCreateWorkflow},
	{"GET", locationPath + "/workflows", "filter orderBy pageSize pageToken", restListWorkflows},
	{"GET", workflowPath, "revisionId", restGetWorkflow},
	{"PATCH", workflowPath, "updateMask", restUpdateWorkflow},
	{"DELETE", workflowPath, "", restDeleteWorkflow},
	{"GET", workflowPath + ":listRevisions", "pageSize pageToken", restListRevisions},
	{"GET", locationPath + "/operations", "filter pageSize pageToken returnPartialSuccess", restListOperations},
	{"GET", locationPath + "/operations/*", "", restGetOperation},
	{"DELETE", locationPath + "/operations/*", "", restDeleteOperation},
	{"GET", locationPath, "", missing("workflows.projects.locations.get")},
	{"GET", "projects/*/locations", "filter pageSize pageToken extraLocationTypes", missing("workflows.projects.locations.list")},
}

// missing answers for a method that is not imitated.
func missing(method string) func(*Server, *restCall) (any, error) {
	return func(*Server, *restCall) (any, error) {
		return nil, status.Errorf(codes.Unimplemented, "%s is not imitated by workflowstest", method)
	}
}
