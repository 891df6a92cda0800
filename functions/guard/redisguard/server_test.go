package redisguard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is the address of a real redis-server that lives as long as this test binary; empty where there is none.
var server string

func TestMain(m *testing.M) {
	stop, err := startServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// startServer runs redis-server without persistence on a socket of its own, so that no port can be taken twice.
func startServer() (stop func(), err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return func() {}, nil // each test says so
	}
	dir, err := os.MkdirTemp("", "redisguard")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir, "--loglevel", "warning")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	server = socket
	if err := ping(socket); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// ping asks until the server answers, for ten seconds at the most.
func ping(socket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, MaxRetries: -1})
	defer client.Close()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

var prefixes atomic.Int64

// newStore gives a test a part of the server for itself.
func newStore(t *testing.T, cfg Config) (*Store, *redis.Client) {
	t.Helper()
	if server == "" {
		const missing = "redis-server is missing; apt-get install redis-server"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: server})
	t.Cleanup(func() { _ = client.Close() })
	cfg.Prefix = "test" + strconv.FormatInt(prefixes.Add(1), 10) + ":"
	return New(client, cfg), client
}

// aging is the server's clock moved on: it makes every record under a prefix older, which nobody can tell from time that
// has passed, since only the age of a record counts.
var aging = redis.NewScript(`
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local us = redis.call('HGET', key, 's') * 1000000 + redis.call('HGET', key, 'us') - ARGV[2]
  redis.call('HSET', key, 's', string.format('%d', math.floor(us / 1000000)), 'us', string.format('%d', us % 1000000))
end
return 1
`)

func age(t *testing.T, s *Store, d time.Duration) {
	t.Helper()
	if err := aging.Run(t.Context(), s.client, nil, s.cfg.Prefix, d.Microseconds()).Err(); err != nil {
		t.Fatal(err)
	}
}
