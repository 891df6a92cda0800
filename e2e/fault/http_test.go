package fault_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/runonce/e2e/fault"
)

// echo answers with the number of the execution and the body.
func echo(n *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Execution", fmt.Sprint(n.Add(1)))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(b)
	})
}

// post returns "status execution body", or "error".
func post(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Post(url, "text/plain", strings.NewReader("hello"))
	if err != nil {
		return "error"
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "error"
	}
	return strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("X-Execution"), " ", string(b)))
}

// The same faults from the server's side and from the network between.
func TestKindsHTTP(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule           fault.Rule
		server, client string
		executed       int32
	}{
		"none":        {fault.Rule{Method: "/other", Kind: fault.Refuse}, "201 1 hello", "201 1 hello", 1},
		"refuse":      {fault.Rule{Method: "POST /pay", Kind: fault.Refuse}, "503  fault: refuse", "error", 0},
		"refuse as":   {fault.Rule{Kind: fault.Refuse, Status: 429, Message: "slow down"}, "429  slow down", "429  slow down", 0},
		"abort":       {fault.Rule{Kind: fault.Abort}, "409  fault: abort", "409  fault: abort", 0},
		"lose":        {fault.Rule{Kind: fault.Lose}, "error", "error", 1},
		"lose as":     {fault.Rule{Kind: fault.Lose, Status: 504}, "504  fault: lose", "504  fault: lose", 1},
		"duplicate":   {fault.Rule{Kind: fault.Duplicate}, "201 2 hello", "201 2 hello", 2},
		"delay":       {fault.Rule{Kind: fault.Delay, Delay: time.Millisecond}, "201 1 hello", "201 1 hello", 1},
		"delay after": {fault.Rule{Kind: fault.Delay, Delay: time.Millisecond, After: true}, "201 1 hello", "201 1 hello", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for side, want := range map[string]string{"server": tc.server, "client": tc.client} {
				var n atomic.Int32
				p := &fault.Plan{}
				p.Add(tc.rule)
				handler, transport := echo(&n), http.RoundTripper(&http.Transport{DisableKeepAlives: true})
				if side == "server" {
					handler = p.HTTP(handler)
				} else {
					transport = p.Transport(transport)
				}
				s := httptest.NewServer(handler)
				got := post(t, &http.Client{Transport: transport}, s.URL+"/pay")
				s.Close()
				if got != want || n.Load() != tc.executed {
					t.Errorf("%s: got %q after %d executions, want %q after %d", side, got, n.Load(), want, tc.executed)
				}
				calls := p.Calls()
				if len(calls) != 1 || calls[0].Method != "POST /pay" || !calls[0].Done {
					t.Errorf("%s: log %v, want one POST /pay that is done", side, calls)
				}
				if wantStatus := want != "error"; (calls[0].Status != 0) != wantStatus {
					t.Errorf("%s: logged status %d for %q", side, calls[0].Status, want)
				}
			}
		})
	}
}

func TestTransportError(t *testing.T) {
	t.Parallel()
	p := &fault.Plan{}
	p.Add(fault.Rule{Kind: fault.Lose, Message: "gone"})
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, err := (&http.Client{Transport: p.Transport(nil)}).Get(s.URL + "/x")
	var fe *fault.Error
	if !errors.As(err, &fe) {
		t.Fatalf("got %v, want a *fault.Error", err)
	}
	if diff := cmp.Diff(&fault.Error{Kind: fault.Lose, Method: "GET /x", Message: "gone"}, fe); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHoldHTTP(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	p := &fault.Plan{}
	gate := p.HoldAnswer("/pay", 1)
	s := httptest.NewServer(p.HTTP(echo(&n)))
	defer s.Close()
	got := make(chan string, 1)
	go func() { got <- post(t, s.Client(), s.URL+"/pay") }()
	if err := gate.Wait(t.Context()); err != nil || n.Load() != 1 {
		t.Fatalf("%v, %d executions, want the answer held after one", err, n.Load())
	}
	if second := post(t, s.Client(), s.URL+"/pay"); second != "201 2 hello" {
		t.Errorf("the second call: %q", second)
	}
	gate.Release()
	if first := <-got; first != "201 1 hello" {
		t.Errorf("the held call: %q", first)
	}
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	var got []string
	for _, k := range append(fault.Kinds(), fault.None, fault.Hold, fault.Kind(99)) {
		got = append(got, k.String())
	}
	want := []string{"refuse", "lose", "delay", "duplicate", "abort", "none", "hold", "kind(99)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
