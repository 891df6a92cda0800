package proxy

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/runonce/e2e/idtokentest"
)

// theIssuer is for all tests that neither break nor rotate its keys: making a key is slow. It lives as long as the test binary.
var theIssuer = sync.OnceValue(func() *idtokentest.Issuer { return idtokentest.New(idtokentest.Config{Email: testAccount}) })

func authOf(i *idtokentest.Issuer, mode string) *authenticator {
	return newAuthenticator(Auth{
		AuthMode: mode, AuthAudiences: []string{"https://custom.example", testAudience}, AuthAccounts: []string{testAccount}, AuthJWKSURL: i.JWKSURL(),
	}.withDefaults(), time.Now, nil)
}

func bearing(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func statusOf(t *testing.T, a *authenticator, h http.Header) int {
	t.Helper()
	_, err := a.caller(t.Context(), h)
	if err == nil {
		return http.StatusOK
	}
	return problemOf(err).Status
}

// R18, A1, A2, A3, A5: every bad token is refused in both modes; a removed signature is accepted in one alone.
func TestFaultyTokens(t *testing.T) {
	t.Parallel()
	i := theIssuer()
	for _, mode := range []string{ModeVerify, ModeCloudRunIAM} {
		a := authOf(i, mode)
		for _, f := range idtokentest.Faults() {
			t.Run(mode+"/"+string(f), func(t *testing.T) {
				t.Parallel()
				want := http.StatusUnauthorized
				switch {
				case f == idtokentest.ForeignAccount:
					want = http.StatusForbidden
				case f == idtokentest.Stripped && mode == ModeCloudRunIAM:
					want = http.StatusOK
				}
				if got := statusOf(t, a, bearing(i.Bad(f, idtokentest.Claims{Audience: testAudience}))); got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			})
		}
	}
}

// A2, A3: a removed signature does not excuse the claims.
func TestStrippedTokensKeepTheirClaims(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return testNow }
	i := idtokentest.New(idtokentest.Config{Email: testAccount, Now: now})
	t.Cleanup(i.Close)
	a := newAuthenticator(Auth{AuthMode: ModeCloudRunIAM, AuthAudiences: []string{testAudience}, AuthAccounts: []string{testAccount}, AuthJWKSURL: i.JWKSURL()}.withDefaults(), now, nil)
	for name, tt := range map[string]struct {
		claims idtokentest.Claims
		want   int
	}{
		"good":            {idtokentest.Claims{Audience: testAudience}, 200},
		"bare issuer":     {idtokentest.Claims{Audience: testAudience, Issuer: idtokentest.GoogleIssuerBare}, 200},
		"other issuer":    {idtokentest.Claims{Audience: testAudience, Issuer: "https://issuer.example"}, 401},
		"other audience":  {idtokentest.Claims{Audience: "https://other.example"}, 401},
		"unverified":      {idtokentest.Claims{Audience: testAudience, Unverified: true}, 401},
		"foreign":         {idtokentest.Claims{Audience: testAudience, Email: idtokentest.ForeignEmail}, 403},
		"expired":         {idtokentest.Claims{Audience: testAudience, IssuedAt: testNow.Add(-2 * time.Hour)}, 401},
		"past the leeway": {idtokentest.Claims{Audience: testAudience, Expires: testNow.Add(-31 * time.Second)}, 401},
		"in the leeway":   {idtokentest.Claims{Audience: testAudience, Expires: testNow.Add(-5 * time.Second)}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := statusOf(t, a, bearing(idtokentest.StripSignature(i.Token(tt.claims)))); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// A1, A4: which header counts.
func TestAuthorizationHeaders(t *testing.T) {
	t.Parallel()
	i := theIssuer()
	good := i.Token(idtokentest.Claims{Audience: testAudience})
	other := i.Token(idtokentest.Claims{Audience: testAudience, Email: idtokentest.ForeignEmail})
	stripped := idtokentest.StripSignature(good)
	for name, tt := range map[string]struct {
		mode   string
		header http.Header
		want   int
		says   string
	}{
		"none":                {ModeVerify, scheduled("daily", "2026-10-16T12:00:00Z"), 401, "OIDC"},
		"no bearer":           {ModeVerify, http.Header{"Authorization": {"Basic eDp5"}}, 401, "bearer"},
		"empty bearer":        {ModeVerify, http.Header{"Authorization": {"Bearer "}}, 401, "bearer"},
		"two values":          {ModeVerify, http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}, 401, "2 times"},
		"too long":            {ModeVerify, bearing(strings.Repeat("x", maxToken+1)), 401, "longer"},
		"good":                {ModeVerify, bearing(good), 200, ""},
		"lower-case scheme":   {ModeVerify, http.Header{"Authorization": {"bearer " + good}}, 200, ""},
		"serverless alone":    {ModeVerify, http.Header{"X-Serverless-Authorization": {"Bearer " + good}}, 200, ""},
		"stripped":            {ModeVerify, bearing(stripped), 401, "cloudrun-iam"},
		"verify, disagree":    {ModeVerify, http.Header{"Authorization": {"Bearer " + good}, "X-Serverless-Authorization": {"Bearer " + other}}, 401, "disagree"},
		"iam, disagree":       {ModeCloudRunIAM, http.Header{"Authorization": {"Bearer " + stripped}, "X-Serverless-Authorization": {"Bearer " + other}}, 401, "disagree"},
		"iam, one stripped":   {ModeCloudRunIAM, http.Header{"Authorization": {"Bearer " + good}, "X-Serverless-Authorization": {"Bearer " + stripped}}, 200, ""},
		"iam, whole":          {ModeCloudRunIAM, bearing(good), 200, ""},
		"iam, other's":        {ModeCloudRunIAM, http.Header{"X-Serverless-Authorization": {"Bearer " + other}}, 403, "AUTH_ACCOUNTS"},
		"iam, no bearer type": {ModeCloudRunIAM, http.Header{"X-Serverless-Authorization": {stripped}}, 401, "bearer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who, err := authOf(i, tt.mode).caller(t.Context(), tt.header)
			if err == nil {
				if tt.want != 200 || who != testAccount {
					t.Fatalf("got %q and no error, want %d", who, tt.want)
				}
				return
			}
			if p := problemOf(err); p.Status != tt.want || !strings.Contains(p.Detail, tt.says) {
				t.Errorf("got %d %q, want %d with %q", p.Status, p.Detail, tt.want, tt.says)
			}
			if strings.Contains(err.Error(), good) || strings.Contains(err.Error(), stripped) {
				t.Error("the error holds the token")
			}
		})
	}
}

type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A6: a flood of bad tokens fetches the keys once an interval; keys outlive an issuer that is away; a new key is found.
func TestKeyFetches(t *testing.T) {
	t.Parallel()
	i := idtokentest.New(idtokentest.Config{Email: testAccount})
	t.Cleanup(i.Close)
	clock := &testClock{now: time.Now()}
	a := newAuthenticator(Auth{
		AuthMode: ModeVerify, AuthAudiences: []string{testAudience}, AuthAccounts: []string{testAccount}, AuthJWKSURL: i.JWKSURL(),
	}.withDefaults(), clock.Now, nil)
	good := func() http.Header { return bearing(i.Token(idtokentest.Claims{Audience: testAudience})) }
	i.BreakKeys(http.StatusBadGateway)
	if got := statusOf(t, a, good()); got != http.StatusInternalServerError {
		t.Errorf("no keys at all: got %d, want 500, since the caller cannot help it", got)
	}
	i.BreakKeys(0)
	clock.advance(2 * retryKeys)
	before := i.KeyFetches()
	forged := bearing(i.Bad(idtokentest.OtherKey, idtokentest.Claims{Audience: testAudience}))
	for range 50 {
		if got := statusOf(t, a, forged); got != http.StatusUnauthorized {
			t.Fatalf("bad token: got %d, want 401", got)
		}
	}
	if got := i.KeyFetches() - before; got != 1 {
		t.Errorf("50 bad tokens fetched the keys %d times, want once", got)
	}
	i.BreakKeys(http.StatusInternalServerError)
	clock.advance(time.Minute)
	if got := statusOf(t, a, bearing(i.Bad(idtokentest.UnknownKey, idtokentest.Claims{Audience: testAudience}))); got != http.StatusUnauthorized {
		t.Errorf("unknown key while the issuer is away: got %d, want 401", got)
	}
	if got := statusOf(t, a, good()); got != http.StatusOK {
		t.Errorf("good token while the issuer is away: got %d, want 200", got)
	}
	i.BreakKeys(0)
	i.Rotate(false)
	clock.advance(time.Minute)
	if got := statusOf(t, a, good()); got != http.StatusOK {
		t.Errorf("token of a new key: got %d, want 200", got)
	}
}
