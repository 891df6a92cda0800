package engine

// The gke module talks to the control plane of a cluster, which is not there on one machine: its functions answer only
// where Config.Connectors has them by name.
var stdGKE = []function{
	viaConnectors("gke.request", "project location cluster_id method path headers? query? body? timeout?"),
	viaConnectors("gke.create_job", "project location cluster_id namespace job use_dns_endpoint?"),
	viaConnectors("gke.run_job", "project location cluster_id namespace job use_dns_endpoint? timeout?"),
	viaConnectors("gke.get_job", "project location cluster_id namespace job_name use_dns_endpoint?"),
	viaConnectors("gke.delete_job", "project location cluster_id namespace job_name use_dns_endpoint? query?"),
	viaConnectors("gke.await_job", "project location cluster_id namespace job_name use_dns_endpoint? timeout?"),
}

func viaConnectors(name, params string) function {
	return std(name, params, func(c *call) (any, error) {
		args := map[string]any{}
		for i, p := range c.fn.params {
			if c.has(i) {
				args[p] = c.args[i]
			}
		}
		return c.f.callConnector(name, args)
	})
}
