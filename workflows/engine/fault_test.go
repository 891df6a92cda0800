package engine

import (
	"context"
	"io"
	"net/http"
	"os"
	"testing"
)

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// TestTransportsPlayTheOutcomes checks that a transport can make each of the outcomes that retries tell apart.
func TestTransportsPlayTheOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{Fault(ConnectionFailed, "refused"), ConnectionFailed},
		{Fault(ConnectionError, "broken"), ConnectionError},
		{Fault(TimeoutError, "late"), TimeoutError},
		{io.ErrUnexpectedEOF, ConnectionError},
		{os.ErrDeadlineExceeded, TimeoutError},
		{context.DeadlineExceeded, TimeoutError},
	}
	for _, tt := range tests {
		o := runCase(t, "- go:\n    call: http.get\n    args: {url: BASE/ok}\n", "", func(c *Config, _ *callee) { c.HTTP = failing{tt.err} })
		if len(o.tags()) == 0 || o.tags()[0] != tt.want {
			t.Errorf("%v became %v, want %s", tt.err, o.err, tt.want)
		}
	}
}

// TestConnectorFaults checks the same for connectors: what may have happened is not tried again unless it reads.
func TestConnectorFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kind string
		tries      int
	}{
		{"googleapis.run.v2.projects.locations.jobs.run", ConnectionError, 1},
		{"googleapis.run.v2.projects.locations.jobs.run", TimeoutError, 1},
		{"googleapis.run.v2.projects.locations.jobs.run", ConnectionFailed, 2},
		{"googleapis.run.v2.projects.locations.jobs.get", ConnectionError, 2},
		{"googleapis.run.v2.projects.locations.jobs.get", TimeoutError, 2},
	}
	for _, tt := range tests {
		tries := 0
		connector := func(context.Context, ConnectorCall) (any, error) {
			if tries++; tries == 1 {
				return nil, Fault(tt.kind, "as planned")
			}
			return nil, nil
		}
		o := runCase(t, "- go:\n    call: "+tt.name+"\n", "", func(c *Config, _ *callee) { c.Connectors = map[string]Connector{tt.name: connector} })
		if tries != tt.tries {
			t.Errorf("%s after a %s: %d tries (error %v), want %d", tt.name, tt.kind, tries, o.err, tt.tries)
		}
	}
}
