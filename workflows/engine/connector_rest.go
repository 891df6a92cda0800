package engine

import (
	"context"
	"net/url"
	"strings"
)

// restMethod is a connector that is one REST call: the path's {names} and the query's names are args.
type restMethod struct {
	verb  string
	path  string
	query []string
}

func restTable(api string, methods map[string]restMethod) map[string]restMethod {
	full := map[string]restMethod{}
	for name, m := range methods {
		full["googleapis."+api+"."+name] = m
	}
	return full
}

// apiOf is the second word of a connector's name.
func apiOf(name string) string {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}

// restConnector returns a built-in connector, or nil. They answer only where Config.Endpoints has their API, so that no
// run on a developer's machine reaches the cloud by accident.
func (f *frame) restConnector(name string) Connector {
	base := strings.TrimSuffix(f.x.cfg.Endpoints[apiOf(name)], "/")
	if base == "" {
		return nil
	}
	for _, table := range []map[string]restMethod{firestoreREST, executionsREST, otherREST} {
		if m, ok := table[name]; ok {
			return func(ctx context.Context, c ConnectorCall) (any, error) { return f.rest(ctx, base, m, c.Args) }
		}
	}
	return nil
}

// rest sends one call and returns its body.
func (f *frame) rest(ctx context.Context, base string, m restMethod, args map[string]any) (any, error) {
	path, err := fillPath(m.path, args)
	if err != nil {
		return nil, err
	}
	query := map[string]any{}
	for _, name := range m.query {
		if v, ok := argAt(args, name); ok {
			query[name] = v
		}
	}
	call := map[string]any{
		"body": args["body"], "auth": map[string]any{"type": "OAuth2"}, "timeout": float64(1800),
	}
	if len(query) > 0 {
		call["query"] = query
	}
	if n := connectorParam(ctx, "timeout"); n != nil {
		call["timeout"] = n
	}
	r, err := f.x.request(m.verb, base+path, call)
	if err != nil {
		return nil, err
	}
	answer, err := f.send(r)
	if err != nil {
		return nil, err
	}
	return answer.(map[string]any)["body"], nil
}

// fillPath puts args into a path. A {name} takes one segment, a {name*} a resource name of several.
func fillPath(path string, args map[string]any) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(path, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, _ := strings.Cut(rest, "}")
		name, whole := strings.CutSuffix(name, "*")
		value, ok := args[name].(string)
		if !ok || value == "" {
			return "", faultf(ValueError, "missing argument %q", name)
		}
		if whole {
			b.WriteString(escapeName(value))
		} else {
			b.WriteString(url.PathEscape(value))
		}
		path = after
	}
}

func escapeName(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// otherREST are single methods of APIs whose connectors are one call.
var otherREST = map[string]restMethod{
	"googleapis.pubsub.v1.projects.topics.publish": {verb: "POST", path: "/v1/{topic*}:publish"},
	"googleapis.cloudtasks.v2.projects.locations.queues.tasks.create": {
		verb: "POST", path: "/v2/{parent*}/tasks",
	},
	"googleapis.cloudtasks.v2.projects.locations.queues.tasks.get":    {verb: "GET", path: "/v2/{name*}", query: []string{"responseView"}},
	"googleapis.cloudtasks.v2.projects.locations.queues.tasks.delete": {verb: "DELETE", path: "/v2/{name*}"},
	"googleapis.storage.v1.objects.get": {
		verb: "GET", path: "/storage/v1/b/{bucket}/o/{object}", query: []string{"alt", "generation", "ifGenerationMatch"},
	},
	"googleapis.storage.v1.objects.delete": {
		verb: "DELETE", path: "/storage/v1/b/{bucket}/o/{object}", query: []string{"generation", "ifGenerationMatch"},
	},
	"googleapis.secretmanager.v1.projects.secrets.versions.access": {verb: "GET", path: "/v1/{name*}:access"},
}
