package proxy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	build "cloud.google.com/go/cloudbuild/apiv1/v2"
	"cloud.google.com/go/cloudbuild/apiv1/v2/cloudbuildpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.com/runonce/e2e/fault"
)

// runAPI is Cloud Run's API for jobs, as far as the proxy uses it. It runs nothing.
type runAPI struct {
	runpb.UnimplementedJobsServer
	runpb.UnimplementedExecutionsServer
	mu    sync.Mutex
	all   []*runpb.Execution
	asked []*runpb.RunJobRequest
}

func (a *runAPI) RunJob(_ context.Context, r *runpb.RunJobRequest) (*longrunningpb.Operation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, proto.Clone(r).(*runpb.RunJobRequest))
	n := len(a.all) + 1
	e := &runpb.Execution{Name: fmt.Sprintf("%s/executions/e%d", r.GetName(), n), CreateTime: timestamppb.Now(), TaskCount: 1}
	e.Template = &runpb.TaskTemplate{}
	for _, o := range r.GetOverrides().GetContainerOverrides() {
		e.Template.Containers = append(e.Template.Containers, &runpb.Container{Name: o.GetName(), Env: o.GetEnv()})
	}
	a.all = append(a.all, e)
	return pack(fmt.Sprintf("projects/p/locations/l/operations/%d", n), e)
}

func (a *runAPI) ListExecutions(context.Context, *runpb.ListExecutionsRequest) (*runpb.ListExecutionsResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &runpb.ListExecutionsResponse{Executions: a.all}, nil
}

func (a *runAPI) GetExecution(_ context.Context, r *runpb.GetExecutionRequest) (*runpb.Execution, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.all {
		if e.GetName() == r.GetName() {
			e.CompletionTime, e.SucceededCount = timestamppb.Now(), 1
			return e, nil
		}
	}
	return nil, status.Error(codes.NotFound, "no such execution")
}

// buildServer is Cloud Build's API for triggers, as far as the proxy uses it. It builds nothing.
type buildServer struct {
	cloudbuildpb.UnimplementedCloudBuildServer
	mu       sync.Mutex
	all      []*cloudbuildpb.Build // newest first
	asked    []*cloudbuildpb.RunBuildTriggerRequest
	noFilter bool
}

func (b *buildServer) RunBuildTrigger(_ context.Context, r *cloudbuildpb.RunBuildTriggerRequest) (*longrunningpb.Operation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, proto.Clone(r).(*cloudbuildpb.RunBuildTriggerRequest))
	made := &cloudbuildpb.Build{
		Id: fmt.Sprintf("b%d", len(b.all)+1), ProjectId: r.GetProjectId(), BuildTriggerId: r.GetTriggerId(), CreateTime: timestamppb.Now(),
		Status: cloudbuildpb.Build_QUEUED, Substitutions: r.GetSource().GetSubstitutions(),
	}
	b.all = append([]*cloudbuildpb.Build{made}, b.all...)
	return pack("operations/build/p/"+made.GetId(), &cloudbuildpb.BuildOperationMetadata{Build: made})
}

func (b *buildServer) ListBuilds(_ context.Context, r *cloudbuildpb.ListBuildsRequest) (*cloudbuildpb.ListBuildsResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.noFilter && r.GetFilter() != "" {
		return nil, status.Error(codes.InvalidArgument, "no such filter")
	}
	return &cloudbuildpb.ListBuildsResponse{Builds: b.all}, nil
}

func (b *buildServer) GetBuild(_ context.Context, r *cloudbuildpb.GetBuildRequest) (*cloudbuildpb.Build, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, made := range b.all {
		if made.GetId() == r.GetId() {
			made.Status = cloudbuildpb.Build_SUCCESS
			return made, nil
		}
	}
	return nil, status.Error(codes.NotFound, "no such build")
}

func pack(name string, metadata proto.Message) (*longrunningpb.Operation, error) {
	m, err := anypb.New(metadata)
	return &longrunningpb.Operation{Name: name, Metadata: m}, err
}

const (
	testJob     = "projects/p/locations/l/jobs/report"
	testTrigger = "projects/p/locations/l/triggers/deploy"
	oldTrigger  = "projects/p/triggers/deploy"
)

// others is a world whose proxy starts jobs and builds as well.
type others struct {
	*world
	run    *runAPI
	build  *buildServer
	faults *fault.Plan
}

func newOthers(t *testing.T, edit func(*Config)) *others {
	t.Helper()
	o := &others{run: &runAPI{}, build: &buildServer{}, faults: &fault.Plan{}}
	addr := serve(t, o.faults, func(s *grpc.Server) {
		runpb.RegisterJobsServer(s, o.run)
		runpb.RegisterExecutionsServer(s, o.run)
		cloudbuildpb.RegisterCloudBuildServer(s, o.build)
	})
	o.world = newWorld(t, func(c *Config) {
		c.Targets = []string{testJob, testTrigger + "=scheduler+pubsub", oldTrigger}
		c.RunEndpoint, c.BuildEndpoint = addr, addr
		if edit != nil {
			edit(c)
		}
	})
	return o
}

func (o *others) to(path, body string) reply {
	o.t.Helper()
	r := o.request(body)
	r.URL = &url.URL{Scheme: "http", Host: r.URL.Host, Path: path}
	return o.send(r)
}

// R15, R17: a job is started once, its containers told their run.
func TestStartJob(t *testing.T) {
	t.Parallel()
	o := newOthers(t, nil)
	body := `{"overrides":{"taskCount":2,"containerOverrides":[{"name":"a","env":[{"name":"X","value":"1"}]},{"name":"b"}]}}`
	first := o.to("/v2/"+testJob+":run", body)
	if first.status != http.StatusOK || !strings.Contains(first.body, "operations/1") || !strings.Contains(first.body, testJob+"/executions/e1") {
		t.Fatalf("got %+v, want the operation", first)
	}
	if again := o.to("/v2/"+testJob+":run", ""); again.body != first.body || len(o.run.all) != 1 {
		t.Errorf("again: got %+v and %d executions, want a replay", again, len(o.run.all))
	}
	r := o.run.asked[0]
	if r.GetName() != testJob || r.GetOverrides().GetTaskCount() != 2 || len(r.GetOverrides().GetContainerOverrides()) != 2 {
		t.Errorf("got request %v, want the overrides passed", r)
	}
	for _, c := range r.GetOverrides().GetContainerOverrides() {
		if last := c.GetEnv()[len(c.GetEnv())-1]; last.GetName() != RunEnv || len(last.GetValue()) != 64 {
			t.Errorf("container %s: got %v, want %s last", c.GetName(), c.GetEnv(), RunEnv)
		}
	}
}

// R15, R17: a trigger is run once by either path, its build told its run.
func TestStartBuild(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/v1/" + testTrigger + ":run": `{"projectId":"p","triggerId":"deploy","source":{"branchName":"main","substitutions":{"_X":"1"}}}`,
		"/v1/" + oldTrigger + ":run":  `{"branchName":"main","substitutions":{"_X":"1"}}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o := newOthers(t, nil)
			first := o.to(path, body)
			if first.status != http.StatusOK || !strings.Contains(first.body, "operations/build/p/b1") {
				t.Fatalf("got %+v, want the operation", first)
			}
			if again := o.to(path, body); again.body != first.body || len(o.build.all) != 1 {
				t.Errorf("again: got %+v and %d builds, want a replay", again, len(o.build.all))
			}
			r := o.build.asked[0]
			if s := r.GetSource(); s.GetBranchName() != "main" || s.GetSubstitutions()["_X"] != "1" || len(s.GetSubstitutions()[RunSubstitution]) != 64 || r.GetTriggerId() != "deploy" {
				t.Errorf("got request %v", r)
			}
			if regional := strings.Contains(path, "locations"); (r.GetName() != "") != regional {
				t.Errorf("got name %q, want one for the regional path alone", r.GetName())
			}
		})
	}
}

// R16, R17: a lost answer is looked for and adopted.
func TestOthersAdopt(t *testing.T) {
	t.Parallel()
	for method, path := range map[string]string{"RunJob": "/v2/" + testJob + ":run", "RunBuildTrigger": "/v1/" + testTrigger + ":run"} {
		for _, noFilter := range []bool{false, true} {
			t.Run(fmt.Sprint(method, noFilter), func(t *testing.T) {
				t.Parallel()
				o := newOthers(t, nil)
				o.build.noFilter = noFilter
				o.faults.Add(fault.Rule{Method: method, N: 1, Kind: fault.Lose})
				if got := o.to(path, ""); got.status != http.StatusOK || len(o.run.asked)+len(o.build.asked) != 1 {
					t.Errorf("got %+v and %d starts, want it adopted", got, len(o.run.asked)+len(o.build.asked))
				}
			})
		}
	}
}

// R17, R19: jobs and builds are watched until they end as well.
func TestOthersSucceed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v2/" + testJob + ":run", "/v1/" + testTrigger + ":run"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o := newOthers(t, func(c *Config) { c.CompleteOn, c.PollInterval = onSucceeded, time.Millisecond })
			if got := o.to(path, ""); got.status != http.StatusOK || !strings.Contains(got.body, "SUCCESS") && !strings.Contains(got.body, "succeededCount") {
				t.Errorf("got %+v, want it succeeded", got)
			}
		})
	}
}

// What jobs and triggers refuse, before anything is claimed.
func TestOthersRefuse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, body string
		status     int
		code       string
	}{
		"job, no verb":       {"/v2/" + testJob, "", 400, "bad-target"},
		"job, other verb":    {"/v2/" + testJob + ":stop", "", 400, "bad-target"},
		"job not listed":     {"/v2/" + testJob + "2:run", "", 404, "unknown-target"},
		"job, bad body":      {"/v2/" + testJob + ":run", `{"override":1}`, 400, "bad-body"},
		"job, validate only": {"/v2/" + testJob + ":run", `{"validateOnly":true}`, 400, "unsupported-field"},
		"job, run id":        {"/v2/" + testJob + ":run", `{"overrides":{"containerOverrides":[{"env":[{"name":"RUN_ID","value":"x"}]}]}}`, 400, "run-id-clash"},
		"trigger, no verb":   {"/v1/" + oldTrigger, "", 400, "bad-target"},
		"trigger, bad body":  {"/v1/" + oldTrigger + ":run", `[]`, 400, "bad-body"},
		"trigger, run id":    {"/v1/" + oldTrigger + ":run", `{"substitutions":{"_RUN_ID":"x"}}`, 400, "run-id-clash"},
		"workflow":           {"/v1/" + testTarget + "/executions", "", 404, "unknown-target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOthers(t, nil)
			if got := o.to(tt.path, tt.body); got.status != tt.status || got.code() != tt.code {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, tt.status, tt.code)
			}
			o.untouched()
		})
	}
}

// An event that reaches a trigger gives its id and nothing else.
func TestEventToTrigger(t *testing.T) {
	t.Parallel()
	o := newOthers(t, nil)
	r := o.request(pushBody)
	r.URL.Path = "/v1/" + testTrigger + ":run"
	r.Header.Del("X-CloudScheduler-JobName")
	r.Header.Del("X-CloudScheduler-ScheduleTime")
	if got := o.send(r); got.status != http.StatusOK || len(o.build.asked) != 1 {
		t.Errorf("got %+v and %d builds, want one", got, len(o.build.asked))
	}
}

// The clients that New is given are used, and not closed by it.
func TestGivenClients(t *testing.T) {
	t.Parallel()
	var none *build.Client
	var given *run.JobsClient
	s := &Server{}
	if got, err := made(s, none, func() (*build.Client, error) { return nil, fmt.Errorf("asked") }); err == nil || got != nil {
		t.Errorf("got %v, %v; want the error of making one", got, err)
	}
	given = &run.JobsClient{}
	if got, err := made(s, given, func() (*run.JobsClient, error) { return nil, fmt.Errorf("asked") }); err != nil || got != given || len(s.closers) != 0 {
		t.Errorf("got %v, %v and %d closers; want the one that was given", got, err, len(s.closers))
	}
}
