package proxy

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/runonce/e2e/fault"
)

// binary builds cmd/proxy once for a test.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "proxy")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/proxy")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// process is a running proxy.
type process struct {
	cmd  *exec.Cmd
	addr string
	done chan error
}

// launch starts the binary on a world and waits until it serves.
func (w *world) launch(path string) *process {
	w.t.Helper()
	cmd := exec.Command(path, "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "FIRESTORE_EMULATOR_HOST="+w.store.Addr(), "FIRESTORE_PROJECT=p", "EXECUTIONS_ENDPOINT="+w.apiAddr,
		"TARGETS="+testTarget, "AUTH_MODE=verify", "AUTH_AUDIENCES="+testAudience, "AUTH_ACCOUNTS="+testAccount, "AUTH_JWKS_URL="+w.issuer.JWKSURL(), "GRACE=1ms")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	p := &process{cmd: cmd, done: make(chan error, 1)}
	w.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it is gone, unless the test failed
	lines := bufio.NewScanner(stderr)
	for p.addr == "" {
		var line struct{ Message, Address string }
		if !lines.Scan() {
			w.t.Fatalf("the proxy ended before it served: %v", cmd.Wait())
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "serving" {
			p.addr = line.Address
		}
	}
	go func() {
		for lines.Scan() {
		}
		p.done <- cmd.Wait()
	}()
	return p
}

// R24: the binary serves what its environment says, and leaves on SIGTERM in good order.
func TestBinaryServesAndDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	p := w.launch(binary(t))
	w.url = "http://" + p.addr
	if got := w.deliver(""); got.status != http.StatusOK || w.creates() != 1 {
		t.Errorf("got %+v and %d executions, want 200 and 1", got, w.creates())
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("after SIGTERM: %v, want exit status 0", err)
		}
	case <-time.After(15 * time.Second):
		t.Error("still there 15 s after SIGTERM")
	}
}

// R10, R11, R16: kill -9 at each step of a delivery; the next deliveries, to another instance, bring it to one execution.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	path := binary(t)
	for name, hold := range map[string]func(*world) *fault.Gate{
		"before the claim":        func(w *world) *fault.Gate { return w.store.Faults().Hold("Commit", 1) },
		"claimed, no answer yet":  func(w *world) *fault.Gate { return w.store.Faults().HoldAnswer("Commit", 1) },
		"before the start":        func(w *world) *fault.Gate { return w.faults.Hold("CreateExecution", 1) },
		"started, no answer yet":  func(w *world) *fault.Gate { return w.faults.HoldAnswer("CreateExecution", 1) },
		"before the finish":       func(w *world) *fault.Gate { return w.store.Faults().Hold("Commit", 2) },
		"finished, no answer yet": func(w *world) *fault.Gate { return w.store.Faults().HoldAnswer("Commit", 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			p := w.launch(path)
			gate := hold(w)
			r := w.request("")
			r.URL.Host = p.addr
			go func() {
				if resp, err := noRedirects.Do(r); err == nil {
					_ = resp.Body.Close() // the process was killed under it; nobody reads this
				}
			}()
			<-gate.Arrived()
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.done
			gate.Release()
			untilDone(t, w)
			if w.creates() != 1 {
				t.Errorf("got %d executions, want 1", w.creates())
			}
		})
	}
}
