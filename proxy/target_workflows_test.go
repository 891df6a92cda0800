package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	executions "cloud.google.com/go/workflows/executions/apiv1"
	"cloud.google.com/go/workflows/executions/apiv1/executionspb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/tokens"
)

// listing is an Executions API whose lists a test writes itself: lagging, unfiltered, refused. It runs nothing.
type listing struct {
	executionspb.UnimplementedExecutionsServer
	mu       sync.Mutex
	all      []*executionspb.Execution // newest first
	noFilter bool                      // filters are refused
	blind    bool                      // filters find nothing
	hidden   int                       // lists that lag behind and find nothing
	lists    []*executionspb.ListExecutionsRequest
	creates  int
	gets     int
	// ends says in which state an execution is at the n-th look.
	ends func(e *executionspb.Execution, n int) executionspb.Execution_State
}

func (l *listing) CreateExecution(_ context.Context, r *executionspb.CreateExecutionRequest) (*executionspb.Execution, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.creates++
	e := proto.Clone(r.GetExecution()).(*executionspb.Execution)
	e.Name, e.State, e.StartTime = fmt.Sprintf("%s/executions/%d", r.GetParent(), l.creates), executionspb.Execution_ACTIVE, timestamppb.Now()
	l.all = append([]*executionspb.Execution{e}, l.all...)
	return e, nil
}

func (l *listing) ListExecutions(_ context.Context, r *executionspb.ListExecutionsRequest) (*executionspb.ListExecutionsResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists = append(l.lists, r)
	if r.GetFilter() != "" && l.noFilter {
		return nil, status.Error(codes.InvalidArgument, "no such filter")
	}
	if l.hidden > 0 {
		l.hidden--
		return &executionspb.ListExecutionsResponse{}, nil
	}
	var hits []*executionspb.Execution
	for _, e := range l.all {
		if r.GetFilter() == "" || !l.blind && strings.Contains(r.GetFilter(), `"`+e.GetLabels()[RunLabel]+`"`) {
			hits = append(hits, e)
		}
	}
	from := 0
	if r.GetPageToken() != "" {
		if _, err := fmt.Sscan(r.GetPageToken(), &from); err != nil {
			return nil, status.Error(codes.InvalidArgument, "no such page")
		}
	}
	resp := &executionspb.ListExecutionsResponse{Executions: hits[from:min(from+int(r.GetPageSize()), len(hits))]}
	if next := from + int(r.GetPageSize()); next < len(hits) {
		resp.NextPageToken = fmt.Sprint(next)
	}
	return resp, nil
}

// serve starts a gRPC server for a test and returns its address.
func serve(t *testing.T, plan *fault.Plan, register func(*grpc.Server)) string {
	t.Helper()
	s := grpc.NewServer(grpc.UnaryInterceptor(plan.UnaryServer()))
	register(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }() // ends with Stop
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func workflowsOn(t *testing.T, l *listing, plan *fault.Plan) *workflows {
	t.Helper()
	addr := serve(t, plan, func(s *grpc.Server) { executionspb.RegisterExecutionsServer(s, l) })
	c, err := executions.NewClient(t.Context(), clientOptions(addr)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the test is over
	return &workflows{client: c, startTimeout: 5 * time.Second, readTimeout: 5 * time.Second}
}

func execution(n int, runID string, at time.Time) *executionspb.Execution {
	return &executionspb.Execution{
		Name: fmt.Sprintf("%s/executions/%d", testTarget, n), Argument: fmt.Sprintf(`{"run_id":%q}`, runID),
		Labels: map[string]string{RunLabel: tokens.Label(runID)}, StartTime: timestamppb.New(at),
	}
}

// R15: the request that the API gets.
func TestPrepareWorkflows(t *testing.T) {
	t.Parallel()
	const id = "0123"
	label := tokens.Label(id)
	for name, tt := range map[string]struct{ body, want, code string }{
		"empty":       {"", `{"argument":"{\"run_id\":\"0123\"}","labels":{"runonce":"` + label + `"}}`, ""},
		"all fields":  {`{"argument":"{\"a\":1}","callLogLevel":"LOG_ALL_CALLS","labels":{"team":"x"}}`, `{"argument":"{\"a\":1,\"run_id\":\"0123\"}","callLogLevel":"LOG_ALL_CALLS","labels":{"runonce":"` + label + `","team":"x"}}`, ""},
		"output":      {`{"state":"ACTIVE","name":"x"}`, `{"argument":"{\"run_id\":\"0123\"}","labels":{"runonce":"` + label + `"}}`, ""},
		"no JSON":     {`hello`, "", "bad-body"},
		"a list":      {`[]`, "", "bad-body"},
		"object arg":  {`{"argument":{"a":1}}`, "", "bad-body"},
		"REST only":   {`{"executionHistoryLevel":"EXECUTION_HISTORY_BASIC"}`, "", "unsupported-field"},
		"unknown":     {`{"arguments":"{}"}`, "", "bad-body"},
		"label clash": {`{"labels":{"runonce":"x"}}`, "", "label-clash"},
		"bad arg":     {`{"argument":"[]"}`, "", "bad-argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&workflows{}).prepare([]byte(tt.body), false, id)
			if code(err) != tt.code || !sameJSON(string(got), tt.want) {
				t.Errorf("got %s, %v; want %s, code %q", got, err, tt.want, tt.code)
			}
		})
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	ax, _ := json.Marshal(x) // decoded a line above
	by, _ := json.Marshal(y)
	return string(ax) == string(by)
}

// R16: what a look-up finds, and what it must not take for its own.
func TestFindWorkflows(t *testing.T) {
	t.Parallel()
	now := time.Now()
	many := func(n int, at time.Time) (es []*executionspb.Execution) {
		for i := range n {
			es = append(es, execution(1000+i, fmt.Sprint("other", i), at))
		}
		return es
	}
	forged := execution(7, "r", now)
	forged.Argument = `{"run_id":"s"}`
	bare := execution(8, "r", now)
	bare.Labels = nil
	queued := execution(9, "r", now)
	queued.StartTime = nil
	for name, tt := range map[string]struct {
		l     *listing
		want  string // the execution's number, "" for none
		lists int
	}{
		"none":                        {&listing{}, "", 2},
		"by label":                    {&listing{all: append(many(5, now), execution(1, "r", now))}, "1", 1},
		"filter refused":              {&listing{all: append(many(250, now), execution(1, "r", now)), noFilter: true}, "1", 4},
		"filter means something else": {&listing{all: []*executionspb.Execution{execution(1, "r", now)}, blind: true}, "1", 2},
		"another run's argument":      {&listing{all: []*executionspb.Execution{forged}}, "", 2},
		"no label":                    {&listing{all: []*executionspb.Execution{bare}}, "", 2},
		"the oldest of two":           {&listing{all: []*executionspb.Execution{execution(2, "r", now), execution(1, "r", now.Add(-time.Second))}}, "1", 1},
		"queued":                      {&listing{all: []*executionspb.Execution{queued}}, "9", 1},
		"scan stops at the window":    {&listing{all: many(500, now.Add(-time.Hour)), noFilter: true}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workflowsOn(t, tt.l, nil)
			hits, err := w.find(t.Context(), call{target: testTarget, runID: "r", since: now})
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.want; (want != "") != (len(hits) > 0) || len(hits) > 0 && hits[0].name != testTarget+"/executions/"+want {
				t.Errorf("got %+v, want execution %q first", hits, want)
			}
			if len(tt.l.lists) != tt.lists {
				t.Errorf("got %d lists, want %d", len(tt.l.lists), tt.lists)
			}
			if v := tt.l.lists[0].GetView(); v != executionspb.ExecutionView_FULL {
				t.Errorf("view: got %s, want FULL, since BASIC has neither labels nor argument", v)
			}
		})
	}
}

// R16: reads are tried again, starts are not; a look-up that fails is not "none".
func TestWorkflowsRetries(t *testing.T) {
	t.Parallel()
	plan, l := new(fault.Plan), &listing{all: []*executionspb.Execution{execution(1, "r", time.Now())}}
	w := workflowsOn(t, l, plan)
	plan.Add(fault.Rule{Method: "ListExecutions", N: 1, Times: 2, Kind: fault.Refuse})
	if hits, err := w.find(t.Context(), call{target: testTarget, runID: "r"}); len(hits) != 1 || err != nil {
		t.Errorf("after two refusals: got %v, %v, want it found", hits, err)
	}
	plan.Add(fault.Rule{Method: "ListExecutions", Kind: fault.Refuse, Code: codes.PermissionDenied})
	if hits, err := w.find(t.Context(), call{target: testTarget, runID: "r"}); len(hits) > 0 || err == nil {
		t.Errorf("list denied: got %v, %v, want an error", hits, err)
	}
	plan.Add(fault.Rule{Method: "CreateExecution", Kind: fault.Lose})
	if _, err := w.start(t.Context(), call{target: testTarget, runID: "s", request: json.RawMessage(`{}`)}); err == nil || l.creates != 1 {
		t.Errorf("create with its answer lost: got %v and %d creates, want an error and 1", err, l.creates)
	}
}
