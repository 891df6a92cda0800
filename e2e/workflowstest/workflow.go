package workflowstest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"cloud.google.com/go/workflows/apiv1/workflowspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.com/runonce/workflows/engine"
	"example.com/runonce/workflows/syntax"
)

// Deployment is what a workflow is deployed with besides its source.
type Deployment struct {
	// Env are user-defined variables.
	Env map[string]string
	// Labels are inherited by the executions.
	Labels map[string]string
	// ServiceAccount is the e-mail address that GOOGLE_CLOUD_SERVICE_ACCOUNT_NAME says. Default: the project's default account.
	ServiceAccount string
}

// workflow is a deployed workflow; the server's mutex guards it. Revisions never change.
type workflow struct {
	name      string
	created   time.Time
	revisions []*revision // the newest last
}

func (w *workflow) latest() *revision { return w.revisions[len(w.revisions)-1] }

// revision is one version of a workflow. The fields of its message that are the whole workflow's, such as labels, are those of the
// latest revision.
type revision struct {
	message *workflowspb.Workflow
	source  *syntax.Workflow
	program *engine.Program
}

// Deploy creates a workflow, or updates it, which makes a new revision where source, account or environment differ. Errors of
// the source have the code INVALID_ARGUMENT and are of type syntax.Errors.
func (s *Server) Deploy(_ context.Context, name string, source []byte, with Deployment) error {
	if !workflowName.MatchString(name) {
		return wrongName("name", name, workflowForm)
	}
	message := &workflowspb.Workflow{
		Name: name, Labels: maps.Clone(with.Labels), UserEnvVars: maps.Clone(with.Env), ServiceAccount: with.ServiceAccount,
		SourceCode: &workflowspb.Workflow_SourceContents{SourceContents: string(source)},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.deploy(message)
	return err
}

// deploy checks a whole workflow, compiles it and puts it in place. The caller holds mu.
func (s *Server) deploy(message *workflowspb.Workflow) (*workflow, error) {
	if err := checkWorkflow(message); err != nil {
		return nil, err
	}
	r, err := compile(message)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Clock.Now()
	w := s.workflows[message.Name]
	if w == nil {
		w = &workflow{name: message.Name, created: now}
	}
	message.State, message.CreateTime, message.UpdateTime = workflowspb.Workflow_ACTIVE, timestamppb.New(w.created), timestamppb.New(now)
	if w.revisions == nil || revised(w.latest().message, message) {
		sum := sha256.Sum256([]byte(message.GetSourceContents()))
		message.RevisionId = fmt.Sprintf("%06d-%x", len(w.revisions)+1, sum[:2])[:10]
		message.RevisionCreateTime = timestamppb.New(now)
		w.revisions = append(w.revisions, r)
	} else {
		old := w.latest().message
		message.RevisionId, message.RevisionCreateTime = old.RevisionId, old.RevisionCreateTime
		w.revisions[len(w.revisions)-1] = r
	}
	s.workflows[w.name] = w
	return w, nil
}

// revised says whether an update makes a new revision.
func revised(old, updated *workflowspb.Workflow) bool {
	return old.GetSourceContents() != updated.GetSourceContents() || old.ServiceAccount != updated.ServiceAccount ||
		!maps.Equal(old.UserEnvVars, updated.UserEnvVars)
}

// Limits of user-defined variables (workflows.proto).
const (
	maxEnv       = 20
	maxEnvText   = 4 << 10
	maxDescribed = 1000
)

func checkWorkflow(m *workflowspb.Workflow) error {
	if id := lastPart(m.Name); !workflowID.MatchString(id) {
		return invalid("workflow_id", "%q: 1 to 64 letters, digits, underscores and hyphens, a letter first, a letter or digit last", id)
	}
	if n := len([]rune(m.Description)); n > maxDescribed {
		return invalid("workflow.description", "%d characters; at most %d are allowed", n, maxDescribed)
	}
	if len(m.UserEnvVars) > maxEnv {
		return invalid("workflow.user_env_vars", "%d variables; at most %d are allowed", len(m.UserEnvVars), maxEnv)
	}
	for k, v := range m.UserEnvVars {
		switch {
		case k == "" || strings.HasPrefix(k, "GOOGLE") || strings.HasPrefix(k, "WORKFLOWS"):
			return invalid("workflow.user_env_vars", "%q: the name is empty, or begins with GOOGLE or WORKFLOWS, which is reserved", k)
		case len(k) > maxEnvText || len(v) > maxEnvText:
			return invalid("workflow.user_env_vars", "%q: longer than %d bytes", k[:min(len(k), 40)], maxEnvText)
		}
	}
	return checkLabels("workflow.labels", m.Labels)
}

// compile makes a revision, or the error of a deployment that fails.
func compile(m *workflowspb.Workflow) (*revision, error) {
	parsed, err := syntax.Parse("main.yaml", []byte(m.GetSourceContents()))
	if err != nil {
		return nil, &buildError{err}
	}
	program, err := engine.Compile(parsed)
	if err != nil {
		return nil, &buildError{err}
	}
	return &revision{message: m, source: parsed, program: program}, nil
}

// buildError keeps a source from being deployed. It is INVALID_ARGUMENT; errors.As finds the syntax.Errors in it.
type buildError struct{ err error }

func (e *buildError) Error() string { return "failed to build: " + e.err.Error() }

func (e *buildError) Unwrap() error { return e.err }

// GRPCStatus makes it INVALID_ARGUMENT for status.Code and for the wire.
func (e *buildError) GRPCStatus() *status.Status { return status.New(codes.InvalidArgument, e.Error()) }

// view is the workflow as Get and List show it, at one of its revisions. The caller holds mu.
func (w *workflow) view(r *revision) *workflowspb.Workflow {
	out := proto.CloneOf(r.message)
	latest := w.latest().message
	out.Description, out.Labels = latest.Description, maps.Clone(latest.Labels)
	out.UpdateTime, out.Tags = latest.UpdateTime, nil // input only
	return out
}

// workflow returns a workflow. The caller holds mu.
func (s *Server) workflow(field, name string) (*workflow, error) {
	if !workflowName.MatchString(name) {
		return nil, wrongName(field, name, workflowForm)
	}
	w := s.workflows[name]
	if w == nil {
		return nil, notFound(name)
	}
	return w, nil
}

// isBuildError tells the errors that a long-running operation carries from those that answer the call itself.
func isBuildError(err error) bool {
	var b *buildError
	return errors.As(err, &b)
}
