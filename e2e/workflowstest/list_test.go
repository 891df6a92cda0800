package workflowstest

import (
	"fmt"
	"testing"
	"time"

	pb "cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
)

// listWorld has four ended executions e1 to e4, a minute apart, of 0, 10, 20 and 30 seconds; e2 failed, e4 has a newer revision.
func listWorld(t *testing.T, cfg Config) (*world, *manual) {
	t.Helper()
	clock, n := newManual(), 0
	cfg.Clock, cfg.NewID = clock, func() string { n++; return fmt.Sprintf("e%d", n) }
	w := newWorld(t, cfg)
	const source = `
main:
  params: [args]
  steps:
    - wait:
        call: sys.sleep
        args: {seconds: '${args * 10}'}
    - judge:
        switch:
          - condition: ${args == 1}
            raise: no
    - done:
        return: ${args}
`
	w.deploy(testWorkflow, source, Deployment{Labels: map[string]string{"team": "a"}})
	w.deploy(testLocation+"/workflows/other", echo, Deployment{})
	for i := range 4 {
		if i == 3 {
			w.deploy(testWorkflow, source+"\n# newer", Deployment{Labels: map[string]string{"team": "a"}})
		}
		e := w.create(&pb.Execution{Argument: fmt.Sprint(i), Labels: map[string]string{"run": fmt.Sprintf("r%d", i+1), "my-key": "x"}})
		w.sleepsFor(clock, e.Name, time.Duration(i)*10*time.Second)
		clock.advance(time.Minute - time.Duration(i)*10*time.Second)
	}
	return w, clock
}

// sleepsFor lets an execution's only sleep pass, and waits for its end.
func (w *world) sleepsFor(clock *manual, name string, d time.Duration) {
	w.t.Helper()
	for d > 0 && w.ctx.Err() == nil { // until its timer is set
		clock.mu.Lock()
		waiting := len(clock.timers) > 1 // the other one is the execution's longest life
		clock.mu.Unlock()
		if waiting {
			break
		}
	}
	clock.advance(d)
	w.ended(name)
}

func (w *world) listed(r *pb.ListExecutionsRequest) ([]string, error) {
	if r.Parent == "" {
		r.Parent = testWorkflow
	}
	ids := []string{}
	for it := w.grpc.ListExecutions(w.ctx, r); ; {
		e, err := it.Next()
		if err == iterator.Done {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, lastPart(e.Name))
	}
}

// R16: executions are found again by what a caller knows of them.
func TestListFilter(t *testing.T) {
	t.Parallel()
	w, _ := listWorld(t, Config{})
	all := []string{"e4", "e3", "e2", "e1"}
	for filter, want := range map[string][]string{
		``:                                   all,
		`  `:                                 all,
		`labels.run="r2"`:                    {"e2"},
		`labels.run = r2`:                    {"e2"},
		`labels."run":"r2"`:                  {"e2"},
		`labels."run"="r2"`:                  {"e2"},
		`label.run="r2"`:                     {"e2"},
		`label."run":"r2"`:                   {"e2"},
		`label:"run=r2"`:                     {"e2"},
		`label:"run:r2"`:                     {"e2"},
		`label:run=r2`:                       {"e2"},
		`label="run:r2"`:                     {"e2"},
		`labels.my-key=x`:                    all,
		`labels.my-key:*`:                    all,
		`labels:my-key`:                      all,
		`labels.none:*`:                      {},
		`labels.team="a"`:                    all,
		`labels.run!="r2"`:                   {"e4", "e3", "e1"},
		`NOT labels.run="r2"`:                {"e4", "e3", "e1"},
		`-labels.run="r2"`:                   {"e4", "e3", "e1"},
		`labels.run="r2" OR labels.run="r3"`: {"e3", "e2"},
		`state="SUCCEEDED"`:                  {"e4", "e3", "e1"},
		`state=FAILED`:                       {"e2"},
		`state="FAILED" OR state="SUCCEEDED" AND labels.run="r1"`:          {"e1"}, // OR binds tighter
		`(state="FAILED") OR (state="SUCCEEDED" AND labels.run="r1")`:      {"e2", "e1"},
		`state="SUCCEEDED" labels.run="r1"`:                                {"e1"},
		`executionId="e3"`:                                                 {"e3"},
		`executionID="e3"`:                                                 {"e3"},
		`workflowRevisionId:*`:                                             all,
		`startTime>"2026-12-01T09:01:00Z"`:                                 {"e4", "e3"},
		`startTime >= 2026-12-01T09:01:00Z AND state != "SUCCEEDED"`:       {"e2"},
		`start_time>="2026-12-01T10:01:00+01:00" AND endTime<"2026-12-02"`: {"e4", "e3", "e2"},
		`createTime<"2026-12-01T09:01:00"`:                                 {"e1"},
		`createTime>"2026-12-01"`:                                          all,
		`duration>"15s"`:                                                   {"e4", "e3"},
		`duration<=10.0`:                                                   {"e2", "e1"},
		`stepName="judge"`:                                                 {"e2"},
		`stepName="done"`:                                                  {"e4", "e3", "e1"},
		`disableConcurrencyQuotaOverflowBuffering=false`:                   all,
	} {
		got, err := w.listed(&pb.ListExecutionsRequest{Filter: filter})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("filter %s: error %v (-want +got):\n%s", filter, err, diff)
		}
	}
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	w, _ := listWorld(t, Config{})
	for name, r := range map[string]*pb.ListExecutionsRequest{
		"unknown field":            {Filter: `argument="1"`},
		"unknown nested field":     {Filter: `error.payload="1"`},
		"unknown state":            {Filter: `state="DONE"`},
		"no value":                 {Filter: `state=`},
		"no comparison":            {Filter: `FAILED`},
		"half a conjunction":       {Filter: `state="FAILED" AND`},
		"unclosed parenthesis":     {Filter: `(state="FAILED"`},
		"stray parenthesis":        {Filter: `state="FAILED")`},
		"unclosed quotation":       {Filter: `state="FAILED`},
		"a time that is none":      {Filter: `startTime>"yesterday"`},
		"a duration that is none":  {Filter: `duration>"long"`},
		"order of texts":           {Filter: `executionId>"e1"`},
		"order of labels":          {Filter: `labels.run>"r1"`},
		"labels without a key":     {Filter: `labels!="r1"`},
		"labels with two keys":     {Filter: `labels.a.b="r1"`},
		"two values":               {Filter: `labels:"run":"r2"`},
		"a group of values":        {Filter: `state=(FAILED OR ACTIVE)`},
		"a function":               {Filter: `timestamp("x")=1`},
		"unknown order":            {OrderBy: "argument"},
		"order that is none":       {OrderBy: "startTime down"},
		"empty order":              {OrderBy: "startTime,"},
		"negative page size":       {PageSize: -1},
		"page token of others":     {PageToken: "abc"},
		"page token that is none":  {PageToken: "?"},
		"parent that is malformed": {Parent: "w"},
	} {
		t.Run(name, func(t *testing.T) {
			if r.Parent == "" {
				r.Parent = testWorkflow
			}
			_, err := w.Server.grpcList(r)
			wantCode(t, err, codes.InvalidArgument)
		})
	}
	_, err := w.listed(&pb.ListExecutionsRequest{Parent: testLocation + "/workflows/none"})
	wantCode(t, err, codes.NotFound)
}

// grpcList is the service's method without a client, which would loop over pages.
func (s *Server) grpcList(r *pb.ListExecutionsRequest) (*pb.ListExecutionsResponse, error) {
	return (&executionsService{s: s}).ListExecutions(s.ctx, r)
}

func TestListOrder(t *testing.T) {
	t.Parallel()
	w, _ := listWorld(t, Config{})
	for by, want := range map[string][]string{
		"":                             {"e4", "e3", "e2", "e1"},
		"createTime":                   {"e1", "e2", "e3", "e4"},
		"startTime desc":               {"e4", "e3", "e2", "e1"},
		"end_time asc":                 {"e1", "e2", "e3", "e4"},
		"duration desc":                {"e4", "e3", "e2", "e1"},
		"executionID":                  {"e1", "e2", "e3", "e4"},
		"state, executionId desc":      {"e4", "e3", "e1", "e2"},
		"state desc,startTime":         {"e2", "e1", "e3", "e4"},
		"workflowRevisionId desc":      {"e4", "e3", "e2", "e1"},
		"workflowRevisionId,startTime": {"e1", "e2", "e3", "e4"},
	} {
		got, err := w.listed(&pb.ListExecutionsRequest{OrderBy: by})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("order by %q: error %v (-want +got):\n%s", by, err, diff)
		}
	}
}

func TestListViews(t *testing.T) {
	t.Parallel()
	w, _ := listWorld(t, Config{})
	list := func(view pb.ExecutionView) *pb.Execution {
		out, err := w.grpcList(&pb.ListExecutionsRequest{Parent: testWorkflow, Filter: "executionId=e3", View: view})
		if err != nil || len(out.Executions) != 1 {
			t.Fatalf("%v, %v", out, err)
		}
		return out.Executions[0]
	}
	full, basic := list(pb.ExecutionView_FULL), list(pb.ExecutionView_BASIC)
	if full.Labels["run"] != "r3" || full.Argument != "2" || full.Result != "2" {
		t.Errorf("full view %v", full)
	}
	want := &pb.Execution{
		Name: full.Name, StartTime: full.StartTime, EndTime: full.EndTime, Duration: full.Duration, State: full.State, WorkflowRevisionId: full.WorkflowRevisionId,
	}
	if diff := cmp.Diff(want, basic, protocmp.Transform()); diff != "" {
		t.Errorf("basic view (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(basic, list(pb.ExecutionView_EXECUTION_VIEW_UNSPECIFIED), protocmp.Transform()); diff != "" {
		t.Errorf("List's default is not BASIC (-want +got):\n%s", diff)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	w.deploy(testWorkflow, echo, Deployment{})
	for range 1005 {
		if _, err := w.Server.create(testWorkflow, nil, restFields{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		view        pb.ExecutionView
		asked, want int
	}{
		{pb.ExecutionView_BASIC, 0, 100}, {pb.ExecutionView_BASIC, 2000, 1000}, {pb.ExecutionView_BASIC, 7, 7},
		{pb.ExecutionView_FULL, 0, 100}, {pb.ExecutionView_FULL, 2000, 100}, {pb.ExecutionView_FULL, 7, 7},
	} {
		out, err := w.grpcList(&pb.ListExecutionsRequest{Parent: testWorkflow, View: c.view, PageSize: int32(c.asked)})
		if err != nil || len(out.Executions) != c.want || out.NextPageToken == "" {
			t.Errorf("%v of %d: %d executions, error %v, want %d and a token", c.view, c.asked, len(out.Executions), err, c.want)
		}
	}
	ids, err := w.listed(&pb.ListExecutionsRequest{PageSize: 97})
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	if err != nil || len(ids) != 1005 || len(seen) != 1005 {
		t.Errorf("%d executions, %d different, error %v, want 1005", len(ids), len(seen), err)
	}
	first, err := w.grpcList(&pb.ListExecutionsRequest{Parent: testWorkflow, PageSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.grpcList(&pb.ListExecutionsRequest{Parent: testWorkflow, PageSize: 5, PageToken: first.NextPageToken, Filter: `state="FAILED"`})
	wantCode(t, err, codes.InvalidArgument)
}

// A List that lags says nothing about an execution that Get knows already.
func TestListLag(t *testing.T) {
	t.Parallel()
	clock := newManual()
	w := newWorld(t, Config{Clock: clock, ListLag: 5 * time.Second})
	w.deploy(testWorkflow, echo, Deployment{})
	name := w.create(nil).Name
	w.ended(name)
	for _, want := range []int{0, 1} {
		if ids, err := w.listed(&pb.ListExecutionsRequest{}); err != nil || len(ids) != want {
			t.Errorf("listed %v, error %v, want %d", ids, err, want)
		}
		clock.advance(5 * time.Second)
	}
}

func TestRejectLabelFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{RejectLabelFilter: true})
	w.deploy(testWorkflow, echo, Deployment{})
	for _, filter := range []string{`labels.run="r"`, `label:"run=r"`, `state="ACTIVE" OR labels."run":"r"`} {
		_, err := w.listed(&pb.ListExecutionsRequest{Filter: filter})
		wantCode(t, err, codes.InvalidArgument)
	}
	if _, err := w.listed(&pb.ListExecutionsRequest{Filter: `state="ACTIVE"`}); err != nil {
		t.Error(err)
	}
}
