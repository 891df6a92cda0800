package stack

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"example.com/runonce/proxy"
)

// Child is a proxy in a process of its own, which can be killed as the platform kills.
type Child struct {
	URL string
	cmd *exec.Cmd
}

// StartChild starts this very program once more, as a proxy of the stack. The program's main (or TestMain) must call
// RunChild where IsChild says so.
func (s *Stack) StartChild(ctx context.Context) (*Child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("child proxy: %w", err)
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	cfg := s.ProxyConfig(addr)
	cmd := exec.Command(exe) // not bound to ctx: it is killed by Kill or Close, and by nothing in between
	cmd.Env = append(os.Environ(), ChildEnv+"="+addr, s.Store.Env(),
		"LISTEN="+cfg.Listen, "FIRESTORE_PROJECT="+cfg.Project, "TARGETS="+strings.Join(cfg.Targets, ","),
		"EXECUTIONS_ENDPOINT="+cfg.ExecutionsEndpoint, "LEASE="+cfg.Lease.String(), "GRACE="+cfg.Grace.String(),
		"AUTH_MODE="+cfg.AuthMode, "AUTH_AUDIENCES="+strings.Join(cfg.AuthAudiences, ","),
		"AUTH_ACCOUNTS="+strings.Join(cfg.AuthAccounts, ","), "AUTH_JWKS_URL="+cfg.AuthJWKSURL)
	cmd.Stderr = s.cfg.Log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("child proxy: %w", err)
	}
	c := &Child{URL: "http://" + addr, cmd: cmd}
	s.closers = append(s.closers, func() error { c.Kill(); return nil })
	return c, c.awaitPort(ctx, addr)
}

// awaitPort waits until the child listens.
func (c *Child) awaitPort(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("child proxy does not listen on %s: %w", addr, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill ends the child as kill -9 does, and waits until it is gone. Only the first call does anything.
func (c *Child) Kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill() // it may have ended by itself
		_ = c.cmd.Wait()         // its status is the kill's
	}
}

// RunChild is the whole life of a child: a proxy from the environment, until it is killed.
func RunChild(ctx context.Context) error {
	cfg, err := proxy.FromEnv(os.Environ())
	if err != nil {
		return err
	}
	p, err := proxy.New(ctx, cfg, proxy.Deps{})
	if err != nil {
		return err
	}
	return p.Run(ctx)
}
