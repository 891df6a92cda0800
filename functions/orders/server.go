package orders

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// drain is what Cloud Run leaves between SIGTERM and SIGKILL, less a second to close the client.
const drain = 9 * time.Second

// Serve answers on ln until ctx ends, then lets the requests at work finish. A step that does not finish in time keeps
// its claim until the lease runs out, and its next delivery takes over.
func (a *App) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           a.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
