package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// RunEnv is the environment variable by which the containers of a job learn their run.
const RunEnv = "RUN_ID"

const jobsAPI = "Cloud Run"

// jobs starts executions of Cloud Run jobs (R17). RunJob takes neither a label nor a request id, so the run id goes into an environment variable by
// an override, for which the proxy's account needs roles/run.jobsExecutorWithOverrides, and roles/run.viewer to look.
type jobs struct {
	client       *run.JobsClient
	executions   *run.ExecutionsClient
	startTimeout time.Duration
	readTimeout  time.Duration
}

var jobName = regexp.MustCompile(`^projects/[a-z0-9.:-]{1,100}/locations/[a-z0-9-]{1,60}/jobs/[a-z][a-z0-9-]{0,62}$`)

// prepare adds the environment variable to every container that is overridden, or to the only one. Of an event nothing but its id counts: a job has no argument to put the data in.
func (j *jobs) prepare(body []byte, event bool, runID string) (json.RawMessage, error) {
	var in runpb.RunJobRequest
	if !event && len(bytes.TrimSpace(body)) > 0 {
		if err := protojson.Unmarshal(body, &in); err != nil {
			return nil, badRequest("bad-body", "the body is no RunJobRequest, like {\"overrides\": {\"taskCount\": 1}}: %s", err)
		}
	}
	if in.GetValidateOnly() {
		return nil, badRequest("unsupported-field", "validateOnly starts nothing, so it cannot be a run; leave it out")
	}
	if in.Overrides == nil {
		in.Overrides = &runpb.RunJobRequest_Overrides{}
	}
	if len(in.Overrides.ContainerOverrides) == 0 {
		in.Overrides.ContainerOverrides = []*runpb.RunJobRequest_Overrides_ContainerOverride{{}}
	}
	for _, c := range in.Overrides.ContainerOverrides {
		kept := c.Env[:0]
		for _, e := range c.Env {
			if e.GetName() != RunEnv {
				kept = append(kept, e)
			} else if e.GetValue() != runID {
				return nil, badRequest("run-id-clash", "the overrides set %s; leave it out, the proxy sets it", RunEnv)
			}
		}
		c.Env = append(kept, &runpb.EnvVar{Name: RunEnv, Values: &runpb.EnvVar_Value{Value: runID}})
	}
	return compactProto(&runpb.RunJobRequest{Overrides: in.Overrides, Etag: in.Etag})
}

// start makes one RunJob call. The answer is the operation, as the API gives it.
func (j *jobs) start(ctx context.Context, c call) (started, error) {
	var req runpb.RunJobRequest
	if err := protojson.Unmarshal(c.request, &req); err != nil {
		return started{}, fmt.Errorf("read the kept request: %w", err)
	}
	req.Name = c.target
	ctx, cancel := context.WithTimeout(ctx, j.startTimeout)
	defer cancel()
	op, err := j.client.RunJob(ctx, &req)
	if err != nil {
		return started{}, classify(jobsAPI, err)
	}
	e, err := op.Metadata()
	if err != nil || e == nil {
		e = &runpb.Execution{} // the start is certain, what it says about itself is not needed
	}
	return startedJob(op.Name(), e)
}

func startedJob(operationName string, e *runpb.Execution) (started, error) {
	s := started{name: e.GetName(), at: e.GetCreateTime().AsTime()}
	if e.GetCompletionTime() != nil {
		s.state = failed
		if e.GetFailedCount() == 0 && e.GetCancelledCount() == 0 && e.GetSucceededCount() >= max(e.GetTaskCount(), 1) {
			s.state = succeeded
		}
	}
	var err error
	s.answer, err = operation(operationName, e)
	return s, err
}

// find scans the job's executions, of which a list can neither be filtered nor ordered, for those with this run's id in their environment.
func (j *jobs) find(ctx context.Context, c call) ([]started, error) {
	ctx, cancel := context.WithTimeout(ctx, j.readTimeout)
	defer cancel()
	it := j.executions.ListExecutions(ctx, &runpb.ListExecutionsRequest{Parent: c.target, PageSize: 100, ShowDeleted: true}, retryReads()...)
	var hits []*runpb.Execution
	for {
		e, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			return nil, lookupFailed(jobsAPI, err)
		}
		if jobRunOf(e) == c.runID {
			hits = append(hits, e)
		}
	}
	slices.SortStableFunc(hits, func(a, b *runpb.Execution) int { return a.GetCreateTime().AsTime().Compare(b.GetCreateTime().AsTime()) })
	var all []started
	for _, e := range hits {
		s, err := startedJob("", e)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (j *jobs) get(ctx context.Context, name string) (started, error) {
	ctx, cancel := context.WithTimeout(ctx, j.readTimeout)
	defer cancel()
	e, err := j.executions.GetExecution(ctx, &runpb.GetExecutionRequest{Name: name}, retryReads()...)
	if err != nil {
		return started{}, lookupFailed(jobsAPI, err)
	}
	return startedJob("", e)
}

func jobRunOf(e *runpb.Execution) string {
	for _, c := range e.GetTemplate().GetContainers() {
		for _, v := range c.GetEnv() {
			if v.GetName() == RunEnv {
				return v.GetValue()
			}
		}
	}
	return ""
}

// operation writes a long-running operation. One that was found again has no name: the API does not say which operation made a resource.
func operation(name string, metadata proto.Message) (json.RawMessage, error) {
	packed, err := anypb.New(metadata)
	if err != nil {
		return nil, fmt.Errorf("write the operation: %w", err)
	}
	return compactProto(&longrunningpb.Operation{Name: name, Metadata: packed})
}

// verb reads the last part of a path, "NAME:run".
func verb(part string) (string, bool) { return strings.CutSuffix(part, ":run") }

func parseJob(parts ...string) (string, error) {
	job, ok := verb(parts[2])
	name := strings.Join([]string{"projects", parts[0], "locations", parts[1], "jobs", job}, "/")
	if !ok || !jobName.MatchString(name) {
		return "", badRequest("bad-target", "the path does not spell a job: want /v2/projects/P/locations/L/jobs/J:run")
	}
	return name, nil
}
