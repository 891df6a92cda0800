package proxy

import (
	"context"
	"fmt"
	"net/http"
	"regexp"

	build "cloud.google.com/go/cloudbuild/apiv1/v2"
	"cloud.google.com/go/firestore"
	run "cloud.google.com/go/run/apiv2"
	executions "cloud.google.com/go/workflows/executions/apiv1"

	"example.com/runonce/functions/guard"
)

// route is a start path, the API's own, and the API behind it.
type route struct {
	pattern  string
	name     func(*http.Request) (string, error)
	resource *regexp.Regexp
	target   target
}

// JobsClients are the two clients of Cloud Run that jobs need: one starts, one looks.
type JobsClients struct {
	Jobs       *run.JobsClient
	Executions *run.ExecutionsClient
}

// connect makes the store, the guard and the targets.
func (s *Server) connect(ctx context.Context, deps Deps) error {
	project := s.cfg.Project
	or(&project, firestore.DetectProjectID)
	db, err := made(s, deps.Firestore, func() (*firestore.Client, error) {
		return firestore.NewClientWithDatabase(ctx, project, s.cfg.Database)
	})
	if err != nil {
		return fmt.Errorf("connect to Firestore: %w", err)
	}
	s.db = db
	store := guard.NewFirestore(db, guard.FirestoreConfig{Collection: s.cfg.Collection})
	s.guard, err = guard.New(store, guard.Config{Lease: s.cfg.Lease, Retention: s.cfg.Retention, Clock: deps.Clock, NewID: deps.NewID, Observer: s.tel})
	if err != nil {
		return fmt.Errorf("make the guard: %w", err)
	}
	ex, err := made(s, deps.Executions, func() (*executions.Client, error) {
		return executions.NewClient(ctx, clientOptions(s.cfg.ExecutionsEndpoint)...)
	})
	if err != nil {
		return fmt.Errorf("connect to Workflows: %w", err)
	}
	s.routes = []route{{
		pattern: "/v1/projects/{project}/locations/{location}/workflows/{workflow}/executions", resource: workflowName,
		name: func(r *http.Request) (string, error) {
			return parseWorkflow(r.PathValue("project"), r.PathValue("location"), r.PathValue("workflow"))
		},
		target: &workflows{client: ex, startTimeout: s.cfg.StartTimeout, readTimeout: s.cfg.ReadTimeout},
	}}
	if err := s.connectJobs(ctx, deps.Jobs); err != nil {
		return fmt.Errorf("connect to Cloud Run: %w", err)
	}
	if err := s.connectTriggers(ctx, deps.Builds); err != nil {
		return fmt.Errorf("connect to Cloud Build: %w", err)
	}
	return nil
}

func (s *Server) connectJobs(ctx context.Context, given JobsClients) error {
	if !anyOf(s.rules, "/jobs/") {
		return nil
	}
	opts := clientOptions(s.cfg.RunEndpoint)
	j, err := made(s, given.Jobs, func() (*run.JobsClient, error) { return run.NewJobsClient(ctx, opts...) })
	if err != nil {
		return err
	}
	e, err := made(s, given.Executions, func() (*run.ExecutionsClient, error) { return run.NewExecutionsClient(ctx, opts...) })
	if err != nil {
		return err
	}
	s.routes = append(s.routes, route{
		pattern: "/v2/projects/{project}/locations/{location}/jobs/{job}", resource: jobName,
		name: func(r *http.Request) (string, error) {
			return parseJob(r.PathValue("project"), r.PathValue("location"), r.PathValue("job"))
		},
		target: &jobs{client: j, executions: e, startTimeout: s.cfg.StartTimeout, readTimeout: s.cfg.ReadTimeout},
	})
	return nil
}

func (s *Server) connectTriggers(ctx context.Context, given *build.Client) error {
	if !anyOf(s.rules, "/triggers/") {
		return nil
	}
	c, err := made(s, given, func() (*build.Client, error) { return build.NewClient(ctx, clientOptions(s.cfg.BuildEndpoint)...) })
	if err != nil {
		return err
	}
	t := &triggers{client: c, startTimeout: s.cfg.StartTimeout, readTimeout: s.cfg.ReadTimeout}
	name := func(r *http.Request) (string, error) {
		return parseTrigger(r.PathValue("project"), r.PathValue("location"), r.PathValue("trigger"))
	}
	for _, pattern := range []string{"/v1/projects/{project}/locations/{location}/triggers/{trigger}", "/v1/projects/{project}/triggers/{trigger}"} {
		s.routes = append(s.routes, route{pattern: pattern, name: name, resource: triggerName, target: t})
	}
	return nil
}

// made returns the client that was given, or a new one that the server closes.
func made[C interface {
	comparable
	Close() error
}](s *Server, given C, make func() (C, error)) (C, error) {
	var none C
	if given != none {
		return given, nil
	}
	c, err := make()
	if err != nil {
		return none, err
	}
	s.closers = append(s.closers, c.Close)
	return c, nil
}

// targetOf finds the API of a resource, for work that comes without the API's own path.
func (s *Server) targetOf(resource string) (target, bool) {
	for _, r := range s.routes {
		if r.resource.MatchString(resource) {
			return r.target, true
		}
	}
	return nil, false
}

// handleAlias serves a short path from the configuration.
func (s *Server) handleAlias(w http.ResponseWriter, r *http.Request) {
	resource, ok := s.aliases[r.PathValue("alias")]
	t, known := s.targetOf(resource)
	if !ok || !known {
		refuse(http.StatusNotFound, "unknown-path", "no such alias; ALIASES of the proxy's configuration lists them").write(w)
		return
	}
	s.handleStart(t, func(*http.Request) (string, error) { return resource, nil })(w, r)
}
