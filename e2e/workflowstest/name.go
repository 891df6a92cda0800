package workflowstest

import (
	"regexp"
	"strings"
)

var (
	locationName  = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+$`)
	workflowName  = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/workflows/[^/]+$`)
	executionName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/workflows/[^/]+/executions/[^/]+$`)
	operationName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/operations/[^/]+$`)

	// workflowID is what a new workflow may be called.
	workflowID = regexp.MustCompile(`^[a-zA-Z](?:[a-zA-Z0-9_-]{0,62}[a-zA-Z0-9])?$`)
)

const (
	locationForm  = "projects/{project}/locations/{location}"
	workflowForm  = locationForm + "/workflows/{workflow}"
	executionForm = workflowForm + "/executions/{execution}"
)

// lastPart is what follows the last slash.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// ownerOf is a resource's name without its collection and id.
func ownerOf(name string) string {
	parts := strings.Split(name, "/")
	return strings.Join(parts[:max(0, len(parts)-2)], "/")
}
