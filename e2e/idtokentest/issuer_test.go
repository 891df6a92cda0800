package idtokentest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const audience = "https://proxy.example"

func start(t *testing.T, cfg Config) *Issuer {
	t.Helper()
	i := New(cfg)
	t.Cleanup(i.Close)
	return i
}

// verifier is a real one, as the proxy has it.
func verifier(ctx context.Context, i *Issuer) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(GoogleIssuer, oidc.NewRemoteKeySet(ctx, i.JWKSURL()), &oidc.Config{ClientID: audience, SupportedSigningAlgs: []string{"RS256"}})
}

type account struct {
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
	AZP      string `json:"azp"`
}

// accept is what a receiver does with a token: verify, then look at the account.
func accept(ctx context.Context, v *oidc.IDTokenVerifier, token string) (account, error) {
	var a account
	id, err := v.Verify(ctx, token)
	if err != nil {
		return a, err
	}
	err = id.Claims(&a)
	return a, err
}

// R18: a token verifies with a real library, under both spellings of the issuer.
func TestTokenVerifies(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	v := verifier(t.Context(), i)
	for _, iss := range []string{"", GoogleIssuer, GoogleIssuerBare} {
		token := i.Token(Claims{Audience: audience, Issuer: iss})
		a, err := accept(t.Context(), v, token)
		if want := (account{DefaultEmail, true, Subject(DefaultEmail)}); err != nil || a != want {
			t.Errorf("issuer %q: %+v, %v, want %+v", iss, a, err, want)
		}
		if _, err := i.Verify(token, audience); err != nil {
			t.Errorf("issuer %q: own check: %v", iss, err)
		}
	}
	if got := i.KeyFetches(); got != 1 {
		t.Errorf("%d key fetches, want 1", got)
	}
}

// R18: each bad token is refused by a real verifier and an account list, and by the issuer's own check where it is one of form.
func TestBadTokens(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	ofAccount := []Fault{Unverified, NoEmail, ForeignAccount}
	for _, f := range Faults() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			token := i.Bad(f, Claims{Audience: audience})
			if strings.Count(token, ".") != 2 {
				t.Errorf("%q has not three parts", token)
			}
			a, err := accept(t.Context(), verifier(t.Context(), i), token)
			if err == nil && a.Verified && a.Email == DefaultEmail {
				t.Error("it was accepted")
			}
			byAccount := slices.Contains(ofAccount, f)
			if byAccount != (err == nil) {
				t.Errorf("the library says %v; is the fault one of the account: %t", err, byAccount)
			}
			if _, err := i.Verify(token, audience); byAccount != (err == nil) {
				t.Errorf("the issuer's own check says %v", err)
			}
		})
	}
}

// R18: the clock of the issuer stamps tokens and judges them.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 16, 12, 0, 0, 0, time.UTC)
	i := start(t, Config{Now: func() time.Time { return now }, Lifetime: time.Minute})
	token := i.Token(Claims{Audience: audience})
	claims, err := i.Verify(token, audience)
	if err != nil || claims["iat"] != float64(now.Unix()) || claims["exp"] != float64(now.Unix()+60) {
		t.Errorf("claims %v, %v", claims, err)
	}
	now = now.Add(61 * time.Second)
	if _, err := i.Verify(token, audience); err == nil {
		t.Error("an expired token was accepted")
	}
}

// R18: after a rotation new tokens verify, and old ones as long as their key is kept.
func TestRotate(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	v := verifier(t.Context(), i)
	first := i.Token(Claims{Audience: audience})
	i.Rotate(true)
	second := i.Token(Claims{Audience: audience})
	for n, token := range []string{first, second} {
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Errorf("token %d with both keys: %v", n+1, err)
		}
	}
	i.Rotate(false)
	fresh := verifier(t.Context(), i)
	if _, err := fresh.Verify(t.Context(), second); err == nil {
		t.Error("a token of a withdrawn key was accepted")
	}
	if _, err := fresh.Verify(t.Context(), i.Token(Claims{Audience: audience})); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
}

// R18: an outage of the key set is seen by a verifier that has no keys yet, and counted.
func TestBreakKeys(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	v := verifier(t.Context(), i)
	token := i.Token(Claims{Audience: audience})
	i.BreakKeys(http.StatusServiceUnavailable)
	if _, err := v.Verify(t.Context(), token); err == nil {
		t.Error("accepted without keys")
	}
	i.BreakKeys(0)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if got := i.KeyFetches(); got != 2 {
		t.Errorf("%d key fetches, want 2", got)
	}
}

// The discovery document is one that a real client accepts.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	own := start(t, Config{Issuer: Self})
	p, err := oidc.NewProvider(t.Context(), own.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Verifier(&oidc.Config{ClientID: audience}).Verify(t.Context(), own.Token(Claims{Audience: audience})); err != nil {
		t.Errorf("self-issued: %v", err)
	}
	google := start(t, Config{})
	p, err = oidc.NewProvider(oidc.InsecureIssuerURLContext(t.Context(), GoogleIssuer), google.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Verifier(&oidc.Config{ClientID: audience}).Verify(t.Context(), google.Token(Claims{Audience: audience})); err != nil {
		t.Errorf("as Google: %v", err)
	}
}

// Extra claims go over all others, and a nil one removes.
func TestExtraClaims(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	claims, err := i.Verify(i.Token(Claims{Email: "a@b", Extra: map[string]any{"aud": []string{"x", audience}, "azp": nil, "hd": "b"}}), audience)
	if err != nil {
		t.Fatal(err)
	}
	if _, there := claims["azp"]; there || claims["hd"] != "b" || claims["email"] != "a@b" {
		t.Errorf("claims %v", claims)
	}
}

// R18: the front end checks the header that Cloud Run checks, and takes away that signature only.
func TestFrontEnd(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	good := i.Token(Claims{Audience: audience})
	foreign := i.Bad(ForeignAccount, Claims{Audience: audience})
	for _, tt := range []struct {
		name, auth, serverless string
		status                 int
		wantAuth, wantServer   string
	}{
		{"none", "", "", 401, "", ""},
		{"no bearer", "Basic abc", "", 401, "", ""},
		{"good", "Bearer " + good, "", 200, "Bearer " + StripSignature(good), ""},
		{"serverless first", "Bearer " + foreign, "Bearer " + good, 200, "Bearer " + foreign, "Bearer " + StripSignature(good)},
		{"serverless bad", "Bearer " + good, "Bearer " + foreign, 403, "", ""},
		{"stripped already", "Bearer " + StripSignature(good), "", 403, "", ""},
		{"unverified", "Bearer " + i.Bad(Unverified, Claims{Audience: audience}), "", 403, "", ""},
		{"wrong audience", "Bearer " + i.Bad(WrongAudience, Claims{}), "", 403, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var auth, server string
			h := i.FrontEnd(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				auth, server = r.Header.Get("Authorization"), r.Header.Get("X-Serverless-Authorization")
			}), audience, DefaultEmail)
			req := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
			if tt.auth != "" {
				req.Header.Set("Authorization", tt.auth)
			}
			if tt.serverless != "" {
				req.Header.Set("X-Serverless-Authorization", tt.serverless)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != tt.status || auth != tt.wantAuth || server != tt.wantServer {
				t.Errorf("status %d, Authorization %q, X-Serverless-Authorization %q, want %d, %q, %q", w.Code, auth, server, tt.status, tt.wantAuth, tt.wantServer)
			}
		})
	}
}

func get(t *testing.T, url string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}
