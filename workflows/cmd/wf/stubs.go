package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"example.com/runonce/workflows/engine"
)

// stubFile is what -stubs reads. Entries are tried in order; the first that fits answers.
type stubFile struct {
	Connectors []*connectorStub  `yaml:"connectors"`
	HTTP       []*httpStub       `yaml:"http"`
	Secrets    map[string]string `yaml:"secrets"` // by resource name of the version
}

// connectorStub answers calls of one connector, or of gke.* and experimental.* by name.
type connectorStub struct {
	Call   string         `yaml:"call"`
	Args   map[string]any `yaml:"args"` // those that must be there; maps inside are compared the same way
	Result any            `yaml:"result"`
	Error  *stubError     `yaml:"error"`
	Times  int            `yaml:"times"` // how many calls it answers; 0: all
	used   int
}

type stubError struct {
	Code    int    `yaml:"code"`
	Status  string `yaml:"status"`
	Message string `yaml:"message"`
}

// useStubs puts the file's answers and the engine's built-in stubs into cfg.
func useStubs(cfg *engine.Config, name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var file stubFile
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	builtin := engine.NewStubs()
	for version, value := range file.Secrets {
		builtin.SetSecret(version, []byte(value))
	}
	cfg.Connectors = maps.Clone(builtin.Connectors())
	set := &stubSet{entries: file.Connectors, otherwise: builtin.Connectors()}
	for _, e := range file.Connectors {
		if e.Call == "" {
			return fmt.Errorf("%s: a connector stub has no call", name)
		}
		cfg.Connectors[e.Call] = set.answer
	}
	if len(file.HTTP) > 0 {
		cfg.HTTP = &httpStubs{entries: file.HTTP, otherwise: http.DefaultTransport}
	}
	return nil
}

type stubSet struct {
	mu        sync.Mutex
	entries   []*connectorStub
	otherwise map[string]engine.Connector
}

func (s *stubSet) answer(ctx context.Context, call engine.ConnectorCall) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.Call != call.Name || e.Times > 0 && e.used >= e.Times || !contains(call.Args, e.Args) {
			continue
		}
		e.used++
		if e.Error != nil {
			return nil, engine.APIError(e.Error.Code, e.Error.Status, e.Error.Message)
		}
		return e.Result, nil
	}
	if c := s.otherwise[call.Name]; c != nil {
		return c(ctx, call)
	}
	return nil, fmt.Errorf("no stub of %s fits the arguments %v", call.Name, call.Args)
}

// contains reports whether have has all of want. Numbers are compared as they print, since a file's 1 may be a double.
func contains(have, want any) bool {
	if w, ok := want.(map[string]any); ok {
		h, ok := have.(map[string]any)
		if !ok && len(w) > 0 {
			return false
		}
		for k, v := range w {
			if !contains(h[k], v) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want) || fmt.Sprint(have) == fmt.Sprint(want)
}

// httpStub answers requests whose URL begins with URL, whatever their method unless Method is set.
type httpStub struct {
	Method  string            `yaml:"method"`
	URL     string            `yaml:"url"`
	Code    int               `yaml:"code"` // default 200
	Headers map[string]string `yaml:"headers"`
	Body    any               `yaml:"body"` // text as it is, everything else as JSON
	Times   int               `yaml:"times"`
	used    int
}

type httpStubs struct {
	mu        sync.Mutex
	entries   []*httpStub
	otherwise http.RoundTripper
}

func (s *httpStubs) RoundTrip(r *http.Request) (*http.Response, error) {
	if e := s.pick(r); e != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return e.response(r)
	}
	return s.otherwise.RoundTrip(r)
}

func (s *httpStubs) pick(r *http.Request) *httpStub {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.Method != "" && !strings.EqualFold(e.Method, r.Method) || e.Times > 0 && e.used >= e.Times {
			continue
		}
		if strings.HasPrefix(r.URL.String(), e.URL) {
			e.used++
			return e
		}
	}
	return nil
}
