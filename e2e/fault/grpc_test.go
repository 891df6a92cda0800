package fault_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"example.com/runonce/e2e/fault"
)

// counter is a service that counts its executions. Watch answers with the number of its execution, twice.
type counter struct {
	grpc_health_v1.UnimplementedHealthServer
	mu sync.Mutex
	n  int32
}

func (c *counter) executed() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counter) Check(_ context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if r.Service == "bad" {
		return nil, status.Error(codes.NotFound, "bad")
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_ServingStatus(c.n)}, nil
}

func (c *counter) Watch(r *grpc_health_v1.HealthCheckRequest, out grpc_health_v1.Health_WatchServer) error {
	resp, err := c.Check(out.Context(), r)
	if err != nil {
		return err
	}
	for range 2 {
		if err := out.Send(resp); err != nil {
			return err
		}
	}
	return nil
}

func serve(t *testing.T, p *fault.Plan) (*counter, grpc_health_v1.HealthClient) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{}
	s := grpc.NewServer(grpc.UnaryInterceptor(p.UnaryServer()), grpc.StreamInterceptor(p.StreamServer()))
	grpc_health_v1.RegisterHealthServer(s, c)
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return c, grpc_health_v1.NewHealthClient(conn)
}

func check(t *testing.T, c grpc_health_v1.HealthClient) (int32, codes.Code) {
	t.Helper()
	r, err := c.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	return int32(r.GetStatus()), status.Code(err)
}

// watch returns what the stream sent and how it ended.
func watch(t *testing.T, c grpc_health_v1.HealthClient) (got []int32, code codes.Code) {
	t.Helper()
	stream, err := c.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "x"})
	for err == nil {
		var r *grpc_health_v1.HealthCheckResponse
		if r, err = stream.Recv(); err == nil {
			got = append(got, int32(r.Status))
		}
	}
	if status.Code(err) == codes.Unknown && err.Error() == "EOF" {
		return got, codes.OK
	}
	return got, status.Code(err)
}

func TestKindsUnary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule     fault.Rule
		answer   int32 // number of the execution that answers, 0 for none
		code     codes.Code
		executed int32
	}{
		"none":      {fault.Rule{Method: "Other", Kind: fault.Refuse}, 1, codes.OK, 1},
		"refuse":    {fault.Rule{Method: "Check", Kind: fault.Refuse}, 0, codes.Unavailable, 0},
		"refuse as": {fault.Rule{Kind: fault.Refuse, Code: codes.ResourceExhausted}, 0, codes.ResourceExhausted, 0},
		"abort":     {fault.Rule{Kind: fault.Abort}, 0, codes.Aborted, 0},
		"lose":      {fault.Rule{Kind: fault.Lose}, 0, codes.Unavailable, 1},
		"lose as":   {fault.Rule{Kind: fault.Lose, Code: codes.DeadlineExceeded}, 0, codes.DeadlineExceeded, 1},
		"duplicate": {fault.Rule{Kind: fault.Duplicate}, 2, codes.OK, 2},
		"delay":     {fault.Rule{Kind: fault.Delay, Delay: time.Millisecond}, 1, codes.OK, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &fault.Plan{}
			p.Add(tc.rule)
			s, c := serve(t, p)
			answer, code := check(t, c)
			if answer != tc.answer || code != tc.code || s.executed() != tc.executed {
				t.Errorf("answer %d, code %v, %d executions; want %d, %v, %d", answer, code, s.executed(), tc.answer, tc.code, tc.executed)
			}
			want := []fault.Call{{Method: "/grpc.health.v1.Health/Check", N: 1, Kind: tc.rule.Kind, Done: true, Code: tc.code}}
			if name == "none" {
				want[0].Kind = fault.None
			}
			if diff := cmp.Diff(want, p.Calls()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindsStream(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule     fault.Rule
		answer   []int32
		code     codes.Code
		executed int32
	}{
		"none":        {fault.Rule{Method: "Check", Kind: fault.Refuse}, []int32{1, 1}, codes.OK, 1},
		"refuse":      {fault.Rule{Kind: fault.Refuse}, nil, codes.Unavailable, 0},
		"abort":       {fault.Rule{Kind: fault.Abort}, nil, codes.Aborted, 0},
		"lose":        {fault.Rule{Kind: fault.Lose}, nil, codes.Unavailable, 1},
		"duplicate":   {fault.Rule{Kind: fault.Duplicate}, []int32{2, 2}, codes.OK, 2},
		"delay":       {fault.Rule{Kind: fault.Delay, Delay: time.Millisecond}, []int32{1, 1}, codes.OK, 1},
		"delay after": {fault.Rule{Kind: fault.Delay, Delay: time.Millisecond, After: true}, []int32{1, 1}, codes.OK, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &fault.Plan{}
			p.Add(tc.rule)
			s, c := serve(t, p)
			answer, code := watch(t, c)
			if diff := cmp.Diff(tc.answer, answer); diff != "" || code != tc.code || s.executed() != tc.executed {
				t.Errorf("code %v, %d executions; want %v, %d; answer (-want +got):\n%s", code, s.executed(), tc.code, tc.executed, diff)
			}
		})
	}
}

func TestCounting(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules []fault.Rule
		want  string // one letter a call: . answered, R refused, A aborted
	}{
		"every":            {[]fault.Rule{{Kind: fault.Refuse}}, "RRRRR"},
		"first":            {[]fault.Rule{{N: 1, Kind: fault.Refuse}}, "R...."},
		"third":            {[]fault.Rule{{N: 3, Kind: fault.Refuse}}, "..R.."},
		"three from two":   {[]fault.Rule{{N: 2, Times: 3, Kind: fault.Abort}}, ".AAA."},
		"first two":        {[]fault.Rule{{Times: 2, Kind: fault.Abort}}, "AA..."},
		"earlier rule":     {[]fault.Rule{{N: 2, Kind: fault.Abort}, {Kind: fault.Refuse}}, "RARRR"},
		"all rules count":  {[]fault.Rule{{N: 1, Kind: fault.Refuse}, {N: 2, Kind: fault.Abort}}, "RA..."},
		"another's method": {[]fault.Rule{{Method: "/Watch", Kind: fault.Refuse}}, "....."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &fault.Plan{}
			for _, r := range tc.rules {
				p.Add(r)
			}
			_, c := serve(t, p)
			got := ""
			for range len(tc.want) {
				_, code := check(t, c)
				got += map[codes.Code]string{codes.OK: ".", codes.Unavailable: "R", codes.Aborted: "A"}[code]
			}
			if got != tc.want || p.Count("Check") != len(tc.want) {
				t.Errorf("got %s and %d calls, want %s", got, p.Count("Check"), tc.want)
			}
		})
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hold     func(*fault.Plan) *fault.Gate
		executed int32 // while it is held
	}{
		"before": {func(p *fault.Plan) *fault.Gate { return p.Hold("Check", 1) }, 0},
		"answer": {func(p *fault.Plan) *fault.Gate { return p.HoldAnswer("Check", 1) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &fault.Plan{}
			gate := tc.hold(p)
			s, c := serve(t, p)
			answered := make(chan codes.Code, 1)
			go func() {
				_, code := check(t, c)
				answered <- code
			}()
			if err := gate.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := s.executed(); n != tc.executed {
				t.Errorf("%d executions while the call is held, want %d", n, tc.executed)
			}
			if calls := p.Calls(); len(calls) != 1 || calls[0].Done || calls[0].Kind != fault.Hold {
				t.Errorf("log %v, want one held call", calls)
			}
			if _, code := check(t, c); code != codes.OK {
				t.Errorf("the second call: %v", code)
			}
			gate.Release()
			gate.Release()
			if code := <-answered; code != codes.OK {
				t.Errorf("the held call: %v", code)
			}
		})
	}
}

// A caller that goes away frees its call from the gate.
func TestHeldCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := &fault.Plan{}
	gate := p.Hold("Check", 1)
	s, c := serve(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		done <- err
	}()
	<-gate.Arrived()
	cancel()
	if code := status.Code(<-done); code != codes.Canceled || s.executed() != 0 {
		t.Errorf("code %v, %d executions, want CANCELLED and none", code, s.executed())
	}
}

func TestNilPlanAndReset(t *testing.T) {
	t.Parallel()
	var none *fault.Plan
	_, c := serve(t, none)
	if _, code := check(t, c); code != codes.OK || none.Count("") != 0 || none.Calls() != nil {
		t.Errorf("a nil plan: %v, %d calls", code, none.Count(""))
	}
	p := &fault.Plan{}
	p.Add(fault.Rule{Kind: fault.Refuse})
	_, c = serve(t, p)
	check(t, c)
	p.Clear()
	if _, code := check(t, c); code != codes.OK || p.Count("") != 2 {
		t.Errorf("after Clear: %v, %d calls, want OK and 2", code, p.Count(""))
	}
	p.Reset()
	if p.Count("") != 0 {
		t.Errorf("%d calls after Reset", p.Count(""))
	}
}

// Many callers at once: every call is counted once and exactly the planned number is hit.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	p := &fault.Plan{}
	p.Add(fault.Rule{N: 10, Times: 20, Kind: fault.Refuse})
	s, c := serve(t, p)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { check(t, c) })
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, call := range p.Calls() {
		seen[call.N] = true
	}
	if s.executed() != 80 || len(seen) != 100 {
		t.Errorf("%d executions and %d numbers, want 80 and 100", s.executed(), len(seen))
	}
}
