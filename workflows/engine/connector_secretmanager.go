package engine

import (
	"encoding/base64"
	"fmt"
)

// secretStubs answer with what SetSecret put there. accessString takes the parts of the name and returns text.
var secretStubs = map[string]stub{
	"googleapis.secretmanager.v1.projects.secrets.versions.access": func(s *Stubs, c ConnectorCall) (any, error) {
		name, err := argText(c, "name")
		if err != nil {
			return nil, err
		}
		data, err := s.secret(name)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"name": name, "payload": map[string]any{"data": base64.StdEncoding.EncodeToString(data)},
		}, nil
	},
	"googleapis.secretmanager.v1.projects.secrets.versions.accessString": func(s *Stubs, c ConnectorCall) (any, error) {
		secret, err := argText(c, "secret_id")
		if err != nil {
			return nil, err
		}
		project, err := argText(c, "project_id")
		if err != nil {
			return nil, err
		}
		version, ok := scalarText(c.Args["version"])
		if !ok || version == "" {
			version = "latest"
		}
		data, err := s.secret(fmt.Sprintf("projects/%s/secrets/%s/versions/%s", project, secret, version))
		return string(data), err
	},
}

func (s *Stubs) secret(name string) ([]byte, error) {
	r, err := s.find("secret", name)
	if err != nil {
		return nil, err
	}
	data, _ := r.(map[string]any)["data"].([]byte)
	return data, nil
}
