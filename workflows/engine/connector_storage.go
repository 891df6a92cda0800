package engine

import (
	"maps"
	"strconv"
)

// storageStubs keep objects with a generation. ifGenerationMatch is honoured: 0 means that the object must not be there.
var storageStubs = map[string]stub{
	"googleapis.storage.v1.objects.insert": func(s *Stubs, c ConnectorCall) (any, error) {
		bucket, err := argText(c, "bucket")
		if err != nil {
			return nil, err
		}
		resource := maps.Clone(argMap(c, "body"))
		name, _ := c.Args["name"].(string)
		if name == "" {
			name, _ = resource["name"].(string)
		}
		if name == "" {
			return nil, APIError(400, "INVALID_ARGUMENT", "missing name")
		}
		key := "object " + bucket + "/" + name
		if err := s.generationMatches(c, key); err != nil {
			return nil, err
		}
		object := merge(resource, map[string]any{
			"kind": "storage#object", "bucket": bucket, "name": name, "generation": strconv.FormatInt(s.nextID(), 10),
		}, false)
		s.names[key] = object
		return object, nil
	},
	"googleapis.storage.v1.objects.get": func(s *Stubs, c ConnectorCall) (any, error) {
		bucket, err := argText(c, "bucket")
		if err != nil {
			return nil, err
		}
		name, err := argText(c, "object")
		if err != nil {
			return nil, err
		}
		return s.find("object", bucket+"/"+name)
	},
	"googleapis.storage.v1.objects.delete": func(s *Stubs, c ConnectorCall) (any, error) {
		bucket, err := argText(c, "bucket")
		if err != nil {
			return nil, err
		}
		name, err := argText(c, "object")
		if err != nil {
			return nil, err
		}
		key := "object " + bucket + "/" + name
		if s.names[key] == nil {
			return nil, APIError(404, "NOT_FOUND", "Not found: "+name)
		}
		if err := s.generationMatches(c, key); err != nil {
			return nil, err
		}
		delete(s.names, key)
		return nil, nil
	},
}

func (s *Stubs) generationMatches(c ConnectorCall, key string) error {
	want, given := scalarText(c.Args["ifGenerationMatch"])
	if !given {
		return nil
	}
	have := "0"
	if o := s.names[key]; o != nil {
		have, _ = o["generation"].(string)
	}
	if have != want {
		return APIError(412, "FAILED_PRECONDITION", "generation is "+have+", not "+want)
	}
	return nil
}
