package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"
)

// Config is what an execution gets from outside. The zero value works: the wall clock, the default HTTP transport, no
// environment but what the engine itself knows, no log, no tokens, the built-in connectors.
type Config struct {
	// Clock is the execution's time. Default: the wall clock.
	Clock Clock
	// HTTP sends http.* calls and what connectors send. Default: http.DefaultTransport. Redirects are not followed by a
	// RoundTripper; Semantics.MaxRedirects says how many the engine follows.
	HTTP http.RoundTripper
	// Env is what sys.get_env reads. GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID is added from ExecutionID where it is not set.
	Env map[string]string
	// Log receives sys.log entries, in order. Default: dropped.
	Log func(LogEntry)
	// Auth makes tokens for `auth:` blocks. Default: none, the request goes out without an Authorization header.
	Auth TokenSource
	// Connectors answer calls of googleapis.*, by full name ("googleapis.pubsub.v1.projects.topics.publish"). They come
	// before the built-in ones.
	Connectors map[string]Connector
	// Endpoints are base URLs of the APIs behind the built-in connectors, by API name ("firestore", "workflowexecutions").
	// Default: none, and a connector without an endpoint is a clear error: no run reaches the cloud by accident.
	Endpoints map[string]string
	// Callbacks keeps the endpoints of events.create_callback_endpoint. Default: one of this execution's own, which
	// nobody outside can reach.
	Callbacks *Callbacks
	// OnStep receives each step entry twice: when the step starts, and when it has ended. Default: dropped. It is called
	// from the goroutine that takes the step, so from several in parallel branches.
	OnStep func(StepEntry)
	// NewUUID makes the value of uuid.generate. Default: a random version 4 UUID.
	NewUUID func() string
	// ExecutionID names the execution. Default: NewUUID().
	ExecutionID string
	// Semantics decides what the public documentation leaves open. Default: DefaultSemantics().
	Semantics *Semantics
	// Limits are the service's resource limits. Default: DefaultLimits(). A field that is 0 is not limited.
	Limits *Limits
}

// TokenSource makes the token of an `auth:` block.
type TokenSource interface {
	// IDToken returns an OIDC identity token for the audience.
	IDToken(ctx context.Context, audience string) (string, error)
	// AccessToken returns an OAuth 2.0 access token for the scopes.
	AccessToken(ctx context.Context, scopes []string) (string, error)
}

// LogEntry is one call of sys.log.
type LogEntry struct {
	Time     time.Time
	Severity string // DEFAULT where the workflow does not say
	Text     string // one of Text and JSON is set
	JSON     any
	Step     string
	Routine  string
}

// withDefaults fills what is missing; the receiver is a copy.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = wallClock{}
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultTransport
	}
	if c.NewUUID == nil {
		c.NewUUID = randomUUID
	}
	if c.ExecutionID == "" {
		c.ExecutionID = c.NewUUID()
	}
	if c.Callbacks == nil {
		c.Callbacks = NewCallbacks("https://workflowexecutions.invalid")
	}
	if c.Semantics == nil {
		s := DefaultSemantics()
		c.Semantics = &s
	}
	if c.Limits == nil {
		l := DefaultLimits()
		c.Limits = &l
	}
	return c
}

func randomUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
