package proxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// removedKeySet takes a token whose signature Cloud Run removed for checked, and checks any other.
type removedKeySet struct{ signed oidc.KeySet }

func (k removedKeySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	parts := strings.Split(token, ".")
	if len(parts) == 3 && parts[2] == signatureRemoved {
		return base64.RawURLEncoding.DecodeString(parts[1])
	}
	return k.signed.VerifySignature(ctx, token)
}

// keyFetcher is the transport by which the key set is fetched. go-oidc asks for keys at every token whose signature does not
// verify; this answers from what it has until the interval is over, and keeps answering so while the issuer is away.
type keyFetcher struct {
	base     http.RoundTripper
	now      func() time.Time
	interval time.Duration

	mu      sync.Mutex
	last    time.Time // of the last fetch, successful or not
	body    []byte    // of the last successful one
	failure error
}

// maxKeys bounds a key set, in bytes.
const maxKeys = 1 << 20

// retryKeys is the least time between two fetches while there is no key at all.
const retryKeys = time.Second

func (f *keyFetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := f.interval
	if f.body == nil {
		wait = min(wait, retryKeys)
	}
	if now := f.now(); f.last.IsZero() || now.Sub(f.last) >= wait {
		f.last = now
		body, err := f.fetch(r)
		if f.failure = err; err == nil {
			f.body = body
		}
	}
	if f.body == nil {
		return nil, f.failure
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(f.body)), Body: io.NopCloser(bytes.NewReader(f.body)),
	}, nil
}

// missing reports that keys were asked for and none could be had: a token that does not verify then is not the caller's fault.
func (f *keyFetcher) missing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.body == nil && f.failure != nil
}

func (f *keyFetcher) fetch(r *http.Request) ([]byte, error) {
	base := f.base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("fetch the keys: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the keys: %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeys))
	if err != nil {
		return nil, fmt.Errorf("fetch the keys: %w", err)
	}
	return body, nil
}
