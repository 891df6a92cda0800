package idtokentest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// The two spellings of Google's issuer; tokens have had both.
const (
	GoogleIssuer     = "https://accounts.google.com"
	GoogleIssuerBare = "accounts.google.com"
)

// DefaultEmail is the account of a token whose Claims name none, unless Config does.
const DefaultEmail = "scheduler@runonce-test.iam.gserviceaccount.com"

// Config of an Issuer. The zero value works.
type Config struct {
	// Now is the clock that tokens are stamped by. nil: time.Now.
	Now func() time.Time
	// Issuer is the iss claim. "": GoogleIssuer. Self: the issuer's own URL, for verifiers that insist on discovery.
	Issuer string
	// Email is the account of the metadata server, and of tokens whose Claims name none. "": DefaultEmail.
	Email string
	// Project is what the metadata server says. "": runonce-test.
	Project string
	// Lifetime of a token. 0: one hour, as Google's.
	Lifetime time.Duration
	// MaxAge is how long the key set may be cached. 0: one hour.
	MaxAge time.Duration
}

// Self as Config.Issuer makes the issuer name its own URL in tokens.
const Self = "self"

// Issuer signs tokens and serves what is needed to verify them. It is safe for concurrent use.
type Issuer struct {
	cfg    Config
	server *httptest.Server

	mu      sync.Mutex
	keys    []jose.JSONWebKey // private; the last one signs
	serial  int
	fetches int
	status  int // of the key set; 0: serve it
	minted  int // access tokens
}

// New starts an issuer on a loopback port. Close it.
func New(cfg Config) *Issuer {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Email == "" {
		cfg.Email = DefaultEmail
	}
	if cfg.Project == "" {
		cfg.Project = "runonce-test"
	}
	if cfg.Lifetime == 0 {
		cfg.Lifetime = time.Hour
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = time.Hour
	}
	i := &Issuer{cfg: cfg}
	i.Rotate(false)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /oauth2/v3/certs", i.certs)
	i.metadata(mux)
	i.server = httptest.NewServer(mux)
	switch cfg.Issuer {
	case "":
		i.cfg.Issuer = GoogleIssuer
	case Self:
		i.cfg.Issuer = i.server.URL
	}
	return i
}

// Close stops the server.
func (i *Issuer) Close() { i.server.Close() }

// URL is the base address; the discovery document is below it.
func (i *Issuer) URL() string { return i.server.URL }

// JWKSURL is the address of the key set, what a verifier takes in place of https://www.googleapis.com/oauth2/v3/certs.
func (i *Issuer) JWKSURL() string { return i.server.URL + "/oauth2/v3/certs" }

// Issuer is the iss claim of the tokens.
func (i *Issuer) Issuer() string { return i.cfg.Issuer }

// KeyFetches is how many requests for the key set were answered or refused.
func (i *Issuer) KeyFetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// BreakKeys makes the key set answer with this HTTP status from now on; 0 mends it.
func (i *Issuer) BreakKeys(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

// Rotate makes a new key, which signs from now on. keep says whether tokens of the old ones still verify.
func (i *Issuer) Rotate(keep bool) {
	private := newKey()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.serial++
	if !keep {
		i.keys = nil
	}
	i.keys = append(i.keys, jose.JSONWebKey{Key: private, KeyID: fmt.Sprintf("key-%d", i.serial), Algorithm: string(jose.RS256), Use: "sig"})
}

func newKey() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic("idtokentest: generate a key: " + err.Error())
	}
	return k
}

func (i *Issuer) signingKey() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

func (i *Issuer) public() jose.JSONWebKeySet {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set jose.JSONWebKeySet
	for _, k := range i.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	return set
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{
		"issuer":                                i.cfg.Issuer,
		"authorization_endpoint":                i.server.URL + "/o/oauth2/v2/auth",
		"token_endpoint":                        i.server.URL + "/token",
		"jwks_uri":                              i.JWKSURL(),
		"response_types_supported":              []string{"code", "id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (i *Issuer) certs(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	i.fetches++
	status := i.status
	i.mu.Unlock()
	if status != 0 {
		http.Error(w, "the key set is out of order, as the test asked", status)
		return
	}
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d, must-revalidate", int(i.cfg.MaxAge.Seconds())))
	writeJSON(w, i.public())
}

// Verify checks a token of this issuer as a careful receiver does: RS256 by one of the present keys, issuer, audience
// (unless ""), times by the issuer's clock. It returns the claims. Fakes use it; a test of a verifier uses a real library.
func (i *Issuer) Verify(token, audience string) (map[string]any, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, fmt.Errorf("parse the token: %w", err)
	}
	var std jwt.Claims
	var all map[string]any
	if err := parsed.Claims(i.public(), &std, &all); err != nil {
		return nil, fmt.Errorf("verify the signature: %w", err)
	}
	want := jwt.Expected{Time: i.cfg.Now()}
	if audience != "" {
		want.AnyAudience = jwt.Audience{audience}
	}
	if err := std.ValidateWithLeeway(want, 0); err != nil {
		return nil, fmt.Errorf("check the claims: %w", err)
	}
	if iss := std.Issuer; iss != i.cfg.Issuer && "https://"+iss != i.cfg.Issuer && iss != "https://"+i.cfg.Issuer {
		return nil, fmt.Errorf("check the claims: issuer %q", iss)
	}
	if std.Expiry == nil {
		return nil, errors.New("check the claims: no expiry")
	}
	return all, nil
}

// IDToken returns a token of the default account for an audience: a token source for what calls with OIDC.
func (i *Issuer) IDToken(ctx context.Context, audience string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if strings.TrimSpace(audience) == "" {
		return "", errors.New("identity token: the audience is empty")
	}
	return i.Token(Claims{Audience: audience}), nil
}

// AccessToken returns an opaque access token, another one each time: a token source for what calls with OAuth2.
func (i *Issuer) AccessToken(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.minted++
	return fmt.Sprintf("ya29.test-access-token-%d", i.minted), nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone; there is nobody to tell
}
