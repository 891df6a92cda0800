package engine

import (
	"fmt"
	"maps"
	"time"
)

// cloudtasksStubs record tasks. A task whose name is taken is 409, also after it was deleted, as within the API's window.
var cloudtasksStubs = map[string]stub{
	"googleapis.cloudtasks.v2.projects.locations.queues.tasks.create": func(s *Stubs, c ConnectorCall) (any, error) {
		parent, err := argText(c, "parent")
		if err != nil {
			return nil, err
		}
		asked, _ := argMap(c, "body")["task"].(map[string]any)
		task := maps.Clone(asked)
		if task == nil {
			return nil, APIError(400, "INVALID_ARGUMENT", "missing body.task")
		}
		name, _ := task["name"].(string)
		if name == "" {
			name = fmt.Sprintf("%s/tasks/%d", parent, s.nextID())
		}
		task["name"] = name
		task["createTime"] = c.Now.UTC().Format(time.RFC3339Nano)
		return s.keep("task", name, task)
	},
	"googleapis.cloudtasks.v2.projects.locations.queues.tasks.get": func(s *Stubs, c ConnectorCall) (any, error) {
		name, err := argText(c, "name")
		if err != nil {
			return nil, err
		}
		return s.find("task", name)
	},
}
