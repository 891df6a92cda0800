package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
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

func (t *triggers) start(ctx context.Context, c call) (json.RawMessage, error) {
	source := &cloudbuildpb.RepoSource{}
	if err := protojson.Unmarshal(c.request, source); err != nil {
		return nil, fmt.Errorf("read the kept request: %w", err)
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
		return nil, classify(buildAPI, err)
	}
	m, err := op.Metadata()
	if err != nil || m == nil {
		m = &cloudbuildpb.BuildOperationMetadata{} // the start is certain, what it says about itself is not needed
	}
	return operation(op.Name(), m)
}

// find looks among the builds since the run was accepted, and, where the filter is refused or finds nothing, among all down to that time: a
// list is newest first.
func (t *triggers) find(ctx context.Context, c call) (json.RawMessage, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, t.readTimeout)
	defer cancel()
	since := c.since.Add(-clockSlack)
	hit, err := t.list(ctx, c, fmt.Sprintf("create_time>%q", since.UTC().Format(time.RFC3339)))
	if err != nil && status.Code(err) != codes.InvalidArgument {
		return nil, false, lookupFailed(buildAPI, err)
	}
	if hit == nil {
		if hit, err = t.list(ctx, c, ""); err != nil {
			return nil, false, lookupFailed(buildAPI, err)
		}
	}
	if hit == nil {
		return nil, false, nil
	}
	b, err := operation("", &cloudbuildpb.BuildOperationMetadata{Build: hit})
	return b, err == nil, err
}

func (t *triggers) list(ctx context.Context, c call, filter string) (*cloudbuildpb.Build, error) {
	project, parent, _ := splitTrigger(c.target)
	it := t.client.ListBuilds(ctx, &cloudbuildpb.ListBuildsRequest{ProjectId: project, Parent: parent, PageSize: 100, Filter: filter}, retryReads()...)
	var best *cloudbuildpb.Build
	for {
		b, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return best, nil
		}
		if err != nil {
			return nil, err
		}
		at := b.GetCreateTime().AsTime()
		if b.GetSubstitutions()[RunSubstitution] == c.runID && (best == nil || at.Before(best.GetCreateTime().AsTime())) {
			best = b
		}
		if at.Before(c.since.Add(-clockSlack)) {
			return best, nil
		}
	}
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
