package workflowstest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/syntax"
)

// Config sets up a Server. The zero value works: free ports, the wall clock, no faults, no quota, the engine.
type Config struct {
	// Addr and RESTAddr are where gRPC and REST listen, host:port. Default 127.0.0.1:0.
	Addr, RESTAddr string
	// Clock is the server's time and that of its executions. Default Engine.Clock, else the wall clock.
	Clock engine.Clock
	// Faults fails calls of both protocols and logs all of them. Default: a plan without rules, see Server.Faults. A gRPC call is
	// named by its full method, a REST call "POST /v1/…/executions".
	Faults *fault.Plan
	// Auth makes the tokens of `auth:` blocks. Default: Engine.Auth. An idtokentest.Issuer is one.
	Auth TokenSource
	// Engine is what every execution gets besides its own clock, environment, id and log. Its Env stands below the deployment's.
	// A nil Callbacks is the server's own registry, and Endpoints has this server as "workflowexecutions" unless it has another.
	// Its Log and OnStep are called by all executions at once.
	Engine engine.Config
	// Runner runs the executions. Default: the engine.
	Runner Runner
	// MaxRunning is how many executions run at once; what comes on top is QUEUED. Default: no limit.
	MaxRunning int
	// MaxQueued is how many may wait; one more is RESOURCE_EXHAUSTED (429). Default: no limit. Negative: none may.
	MaxQueued int
	// ListLag hides an execution from List for so long after its creation, on Clock. Default: not at all.
	ListLag time.Duration
	// RejectLabelFilter makes every filter on labels INVALID_ARGUMENT.
	RejectLabelFilter bool
	// NewID makes the ids of executions and operations. Default: random UUIDs.
	NewID func() string
}

// TokenSource makes the tokens of `auth:` blocks: an OIDC identity token, an OAuth 2.0 access token.
type TokenSource interface {
	IDToken(ctx context.Context, audience string) (string, error)
	AccessToken(ctx context.Context) (string, error)
}

// Runner runs one execution and returns its result, which is JSON. An *engine.Error fails the execution with its payload, any other
// error with its text. It must return soon after ctx is done.
type Runner func(ctx context.Context, r Run) (json.RawMessage, error)

// Run is an execution for a Runner, which may pass its parts on to engine.Run.
type Run struct {
	Name     string // of the execution
	Workflow *syntax.Workflow
	Argument json.RawMessage // empty where the caller sent none
	Engine   engine.Config
}

func (c Config) withDefaults() Config {
	c.Addr = cmp.Or(c.Addr, "127.0.0.1:0")
	c.RESTAddr = cmp.Or(c.RESTAddr, "127.0.0.1:0")
	if c.Clock == nil {
		c.Clock = c.Engine.Clock
	}
	if c.Clock == nil {
		c.Clock = wallClock{}
	}
	c.Engine.Clock = c.Clock
	if c.Faults == nil {
		c.Faults = &fault.Plan{}
	}
	if c.Auth != nil {
		c.Engine.Auth = scoped{c.Auth}
	}
	if c.NewID == nil {
		c.NewID = randomUUID
	}
	return c
}

// scoped is a TokenSource for the engine: its access tokens are good for every scope.
type scoped struct{ TokenSource }

func (s scoped) AccessToken(ctx context.Context, _ []string) (string, error) {
	return s.TokenSource.AccessToken(ctx)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
