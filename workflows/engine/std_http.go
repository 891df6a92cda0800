package engine

import "slices"

var stdHTTP = []function{
	std("http.get", verb("GET")),
	std("http.post", verb("POST")),
	std("http.put", verb("PUT")),
	std("http.patch", verb("PATCH")),
	std("http.delete", verb("DELETE")),
	std("http.request", anyVerb),
	std("http.default_retry_predicate", predicate(
		[]int64{429, 502, 503, 504}, []string{ConnectionError, ConnectionFailed, TimeoutError})),
	std("http.default_retry_predicate_non_idempotent", predicate(
		[]int64{429, 503}, []string{ConnectionFailed})),
}

func verb(method string) func(c *call) (any, error) {
	return func(c *call) (any, error) { return c.http(method, 0) }
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}

func anyVerb(c *call) (any, error) {
	method, err := c.str(0)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(methods, method) {
		return nil, faultf(ValueError, "http.request: unknown method %q", method)
	}
	return c.http(method, 1)
}

// http sends a request whose URL is argument at. private_service_name and ca_certificate reach into a VPC and a trust
// store that are not there on one machine, so they raise an error instead of being ignored.
func (c *call) http(method string, at int) (any, error) {
	rawURL, err := c.str(at)
	if err != nil {
		return nil, err
	}
	args := map[string]any{}
	for i := at + 1; i < len(c.args); i++ {
		args[c.fn.params[i]] = c.args[i]
	}
	for _, name := range []string{"private_service_name", "ca_certificate"} {
		if args[name] != nil {
			return nil, faultf(SystemError, "%s: %s is not supported by this engine", c.fn.name, name)
		}
	}
	r, err := c.f.x.request(method, rawURL, args)
	if err != nil {
		return nil, err
	}
	return c.f.send(r)
}

// predicate says yes to errors with one of the codes or tags.
func predicate(codes []int64, tags []string) func(c *call) (any, error) {
	return func(c *call) (any, error) { return retryable(c.args[0], codes, tags), nil }
}

func retryable(exception any, codes []int64, tags []string) bool {
	payload, ok := exception.(map[string]any)
	if !ok {
		return false
	}
	if code, ok := payload["code"].(int64); ok && slices.Contains(codes, code) {
		return true
	}
	for _, t := range tagsOf(payload) {
		if slices.Contains(tags, t) {
			return true
		}
	}
	return false
}
