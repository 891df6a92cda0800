package engine

import (
	"fmt"
	"maps"
)

// bigqueryStubs record jobs. A job whose id was used before is 409, as the API answers, and nothing is started.
var bigqueryStubs = map[string]stub{
	"googleapis.bigquery.v2.jobs.insert": func(s *Stubs, c ConnectorCall) (any, error) {
		project, err := argText(c, "projectId")
		if err != nil {
			return nil, err
		}
		job := maps.Clone(argMap(c, "body"))
		if job == nil {
			job = map[string]any{}
		}
		reference, _ := job["jobReference"].(map[string]any)
		id, _ := reference["jobId"].(string)
		if id == "" {
			id = fmt.Sprintf("job_%d", s.nextID())
		}
		job["kind"] = "bigquery#job"
		job["id"] = project + ":" + id
		job["jobReference"] = merge(reference, map[string]any{"projectId": project, "jobId": id}, false)
		job["status"] = map[string]any{"state": "DONE"}
		return s.keep("bigquery.job", project+":"+id, job)
	},
	"googleapis.bigquery.v2.jobs.get": func(s *Stubs, c ConnectorCall) (any, error) {
		project, err := argText(c, "projectId")
		if err != nil {
			return nil, err
		}
		id, err := argText(c, "jobId")
		if err != nil {
			return nil, err
		}
		return s.find("bigquery.job", project+":"+id)
	},
}
