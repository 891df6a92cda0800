package engine

import (
	"maps"
	"net/url"
	"strconv"
)

// storageStubs keep objects, with their data, under a generation. ifGenerationMatch is honoured: 0 means that the object
// must not be there. Object names come URL-encoded, as the API wants them.
var storageStubs = map[string]stub{
	"googleapis.storage.v1.objects.insert": func(s *Stubs, c ConnectorCall) (any, error) {
		key, err := s.objectKey(c, "name")
		if err != nil {
			return nil, err
		}
		if err := s.generationMatches(c, key); err != nil {
			return nil, err
		}
		resource, data := argMap(c, "body"), any(nil)
		if c.Args["uploadType"] == "media" {
			resource, data = nil, c.Args["body"]
		}
		object := merge(resource, map[string]any{
			"kind": "storage#object", "bucket": c.Args["bucket"], "name": key.name, "generation": strconv.FormatInt(s.nextID(), 10),
		}, false)
		s.names[key.full] = map[string]any{"object": object, "data": data}
		return object, nil
	},
	"googleapis.storage.v1.objects.get": func(s *Stubs, c ConnectorCall) (any, error) {
		key, err := s.objectKey(c, "object")
		if err != nil {
			return nil, err
		}
		stored := s.names[key.full]
		if stored == nil {
			return nil, APIError(404, "NOT_FOUND", "Not found: "+key.name)
		}
		if c.Args["alt"] == "media" {
			return stored["data"], nil
		}
		return maps.Clone(stored["object"].(map[string]any)), nil
	},
	"googleapis.storage.v1.objects.delete": func(s *Stubs, c ConnectorCall) (any, error) {
		key, err := s.objectKey(c, "object")
		if err != nil {
			return nil, err
		}
		if s.names[key.full] == nil {
			return nil, APIError(404, "NOT_FOUND", "Not found: "+key.name)
		}
		if err := s.generationMatches(c, key); err != nil {
			return nil, err
		}
		delete(s.names, key.full)
		return nil, nil
	},
}

type objectKey struct{ name, full string }

func (s *Stubs) objectKey(c ConnectorCall, arg string) (objectKey, error) {
	bucket, err := argText(c, "bucket")
	if err != nil {
		return objectKey{}, err
	}
	name, ok := c.Args[arg].(string)
	if !ok {
		name, _ = argMap(c, "body")["name"].(string)
	}
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	if name == "" {
		return objectKey{}, APIError(400, "INVALID_ARGUMENT", "missing "+arg)
	}
	return objectKey{name: name, full: "object " + bucket + "/" + name}, nil
}

func (s *Stubs) generationMatches(c ConnectorCall, key objectKey) error {
	want, given := scalarText(c.Args["ifGenerationMatch"])
	if !given {
		return nil
	}
	have := "0"
	if stored := s.names[key.full]; stored != nil {
		have, _ = stored["object"].(map[string]any)["generation"].(string)
	}
	if have != want {
		return APIError(412, "FAILED_PRECONDITION", "generation is "+have+", not "+want)
	}
	return nil
}
