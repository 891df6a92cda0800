package engine

var stdExperimental = []function{
	std("experimental.executions.run", func(c *call) (any, error) {
		args := map[string]any{}
		for i, p := range c.fn.params {
			if c.has(i) {
				args[p] = c.args[i]
			}
		}
		return c.f.callConnector(runExecution, args)
	}),
	std("experimental.executions.map", executionsMap),
}

// executionsMap runs the workflow once for each argument, one after another, and returns the results in order.
func executionsMap(c *call) (any, error) {
	arguments, err := c.list(1)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(arguments))
	for i, argument := range arguments {
		args := map[string]any{"workflow_id": c.args[0], "argument": argument}
		for j, name := range []string{"location", "project_id"} {
			if c.has(j + 2) {
				args[name] = c.args[j+2]
			}
		}
		if results[i], err = c.f.callConnector(runExecution, args); err != nil {
			return nil, err
		}
	}
	return results, nil
}
