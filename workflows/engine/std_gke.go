package engine

// The gke module talks to the control plane of a cluster, which is not there on one machine: its functions answer only
// where Config.Connectors has them by name.
var stdGKE = []function{
	viaConnectors("gke.request"),
	viaConnectors("gke.create_job"),
	viaConnectors("gke.run_job"),
	viaConnectors("gke.get_job"),
	viaConnectors("gke.delete_job"),
	viaConnectors("gke.await_job"),
}

func viaConnectors(name string) function {
	return std(name, func(c *call) (any, error) {
		args := map[string]any{}
		for i, p := range c.fn.params {
			if c.has(i) {
				args[p] = c.args[i]
			}
		}
		return c.f.callConnector(name, args)
	})
}
