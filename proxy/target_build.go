package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	build "cloud.google.com/go/cloudbuild/apiv1/v2"
	"cloud.google.com/go/cloudbuild/apiv1/v2/cloudbuildpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// RunSubstitution is the substitution by which a build learns its run. The trigger must declare it, and may put it into the build's tags.
const RunSubstitution = "_RUN_ID"

const buildAPI = "Cloud Build"

// triggers runs Cloud Build triggers (R17), whose builds are found again by the substitution.
type triggers struct {
	client       *build.Client
	startTimeout time.Duration
	readTimeout  time.Duration
}

var triggerName = regexp.MustCompile(`^projects/[a-z0-9.:-]{1,100}(/locations/[a-z0-9-]{1,60})?/triggers/[A-Za-z0-9_-]{1,100}$`)

// prepare takes the body of either path: a RepoSource, or a RunBuildTriggerRequest with a RepoSource in it, and adds the substitution. Of an
// event nothing but its id counts.
func (t *triggers) prepare(body []byte, event bool, runID string) (json.RawMessage, error) {
	source := &cloudbuildpb.RepoSource{}
	if !event && len(bytes.TrimSpace(body)) > 0 {
		var wrapped cloudbuildpb.RunBuildTriggerRequest
		err := protojson.Unmarshal(body, source)
		if err != nil && protojson.Unmarshal(body, &wrapped) == nil {
			source, err = wrapped.GetSource(), nil
		}
		if err != nil {
			return nil, badRequest("bad-body", "the body is neither a RepoSource nor a RunBuildTriggerRequest: %s", err)
		}
		if source == nil {
			source = &cloudbuildpb.RepoSource{}
		}
	}
	subs := maps.Clone(source.GetSubstitutions())
	if subs == nil {
		subs = map[string]string{}
	}
	if v, ok := subs[RunSubstitution]; ok && v != runID {
		return nil, badRequest("run-id-clash", "the substitutions set %s; leave it out, the proxy sets it", RunSubstitution)
	}
	subs[RunSubstitution] = runID
	source.Substitutions = subs
	return compactProto(source)
}

// start makes one RunBuildTrigger call. The answer is the operation, as the API gives it.
func (t *triggers) start(ctx context.Context, c call) (started, error) {
	source := &cloudbuildpb.RepoSource{}
	if err := protojson.Unmarshal(c.request, source); err != nil {
		return started{}, fmt.Errorf("read the kept request: %w", err)
	}
	project, parent, trigger := splitTrigger(c.target)
	req := &cloudbuildpb.RunBuildTriggerRequest{ProjectId: project, TriggerId: trigger, Source: source}
	if parent != "" {
		req.Name = c.target
	}
	ctx, cancel := context.WithTimeout(ctx, t.startTimeout)
	defer cancel()
	op, err := t.client.RunBuildTrigger(ctx, req)
	if err != nil {
		return started{}, classify(buildAPI, err)
	}
	m, err := op.Metadata()
	if err != nil || m == nil {
		m = &cloudbuildpb.BuildOperationMetadata{} // the start is certain, what it says about itself is not needed
	}
	return startedBuild(op.Name(), m.GetBuild())
}

func startedBuild(operationName string, b *cloudbuildpb.Build) (started, error) {
	s := started{name: b.GetName(), at: b.GetCreateTime().AsTime()}
	if s.name == "" && b.GetId() != "" {
		s.name = "projects/" + b.GetProjectId() + "/builds/" + b.GetId()
	}
	switch b.GetStatus() {
	case cloudbuildpb.Build_SUCCESS:
		s.state = succeeded
	case cloudbuildpb.Build_FAILURE, cloudbuildpb.Build_INTERNAL_ERROR, cloudbuildpb.Build_TIMEOUT, cloudbuildpb.Build_CANCELLED, cloudbuildpb.Build_EXPIRED:
		s.state = failed
	}
	var err error
	s.answer, err = operation(operationName, &cloudbuildpb.BuildOperationMetadata{Build: b})
	return s, err
}

// find looks among the builds since the run was accepted, and, where the filter is refused or finds nothing, among all down to that time: a
// list is newest first.
func (t *triggers) find(ctx context.Context, c call) ([]started, error) {
	ctx, cancel := context.WithTimeout(ctx, t.readTimeout)
	defer cancel()
	since := c.since.Add(-clockSlack)
	hits, err := t.list(ctx, c, fmt.Sprintf("create_time>%q", since.UTC().Format(time.RFC3339)))
	if err != nil && status.Code(err) != codes.InvalidArgument {
		return nil, lookupFailed(buildAPI, err)
	}
	if len(hits) == 0 {
		if hits, err = t.list(ctx, c, ""); err != nil {
			return nil, lookupFailed(buildAPI, err)
		}
	}
	slices.SortStableFunc(hits, func(a, b *cloudbuildpb.Build) int {
		return a.GetCreateTime().AsTime().Compare(b.GetCreateTime().AsTime())
	})
	var all []started
	for _, b := range hits {
		s, err := startedBuild("", b)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (t *triggers) list(ctx context.Context, c call, filter string) ([]*cloudbuildpb.Build, error) {
	project, parent, _ := splitTrigger(c.target)
	it := t.client.ListBuilds(ctx, &cloudbuildpb.ListBuildsRequest{ProjectId: project, Parent: parent, PageSize: 100, Filter: filter}, retryReads()...)
	var hits []*cloudbuildpb.Build
	for {
		b, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return hits, nil
		}
		if err != nil {
			return nil, err
		}
		if b.GetSubstitutions()[RunSubstitution] == c.runID {
			hits = append(hits, b)
		}
		if b.GetCreateTime().AsTime().Before(c.since.Add(-clockSlack)) {
			return hits, nil
		}
	}
}

func (t *triggers) get(ctx context.Context, name string) (started, error) {
	ctx, cancel := context.WithTimeout(ctx, t.readTimeout)
	defer cancel()
	parts := strings.Split(name, "/") // projects/P/builds/B, or with locations/L
	req := &cloudbuildpb.GetBuildRequest{ProjectId: parts[1], Id: parts[len(parts)-1]}
	if strings.Contains(name, "/locations/") {
		req.Name = name
	}
	b, err := t.client.GetBuild(ctx, req, retryReads()...)
	if err != nil {
		return started{}, lookupFailed(buildAPI, err)
	}
	return startedBuild("", b)
}

// splitTrigger takes a resource name apart; parent is "" for the form without a location.
func splitTrigger(name string) (project, parent, trigger string) {
	i := strings.LastIndex(name, "/triggers/")
	parent, trigger = name[:i], name[i+len("/triggers/"):]
	project, _, located := strings.Cut(strings.TrimPrefix(parent, "projects/"), "/")
	if !located {
		parent = ""
	}
	return project, parent, trigger
}

func parseTrigger(project, location, last string) (string, error) {
	trigger, ok := verb(last)
	name := "projects/" + project
	if location != "" {
		name += "/locations/" + location
	}
	name += "/triggers/" + trigger
	if !ok || !triggerName.MatchString(name) {
		return "", badRequest("bad-target", "the path does not spell a trigger: want /v1/projects/P/locations/L/triggers/T:run or /v1/projects/P/triggers/T:run")
	}
	return name, nil
}
