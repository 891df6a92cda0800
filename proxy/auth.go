package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// The two modes of authentication. There is no default: which one is right depends on what stands in front of the proxy.
const (
	// ModeVerify checks a token's signature here. It works anywhere but behind Cloud Run's own check, which removes the signature.
	ModeVerify = "verify"
	// ModeCloudRunIAM trusts Cloud Run to have checked the signature and the invoker role, and checks the claims again. The service
	// must not be public: there a token with its signature removed is anybody's (threat A3).
	ModeCloudRunIAM = "cloudrun-iam"
)

const (
	googleIssuer = "https://accounts.google.com"
	googleKeys   = "https://www.googleapis.com/oauth2/v3/certs"
	// signatureRemoved stands where the signature was once Cloud Run has checked a token.
	signatureRemoved = "SIGNATURE_REMOVED_BY_GOOGLE"
	// maxToken in bytes; Google's have about 1 KiB.
	maxToken = 8 << 10
)

// Auth is the part of the configuration that says who may call.
type Auth struct {
	// AuthMode is ModeVerify or ModeCloudRunIAM. Required.
	AuthMode string `env:"AUTH_MODE" json:"auth_mode"`
	// AuthAudiences of which a token must have one: the service's URL, or a custom audience. Required.
	AuthAudiences []string `env:"AUTH_AUDIENCES" json:"auth_audiences"`
	// AuthAccounts that may call, by e-mail address. Required: anybody with a Google Cloud project can mint a token for our audience,
	// so this list is what keeps strangers out (threat A2).
	AuthAccounts []string `env:"AUTH_ACCOUNTS" json:"auth_accounts"`
	// AuthJWKSURL is where the issuer's keys are. "": Google's.
	AuthJWKSURL string `env:"AUTH_JWKS_URL" json:"auth_jwks_url"`
	// AuthLeeway for the expiry of a token. 0: 30 s.
	AuthLeeway time.Duration `env:"AUTH_LEEWAY" json:"auth_leeway"`
	// AuthKeyInterval is the least time between two fetches of keys, whatever tokens arrive (threat A6). 0: 30 s.
	AuthKeyInterval time.Duration `env:"AUTH_KEY_INTERVAL" json:"auth_key_interval"`
}

func (a Auth) withDefaults() Auth {
	or(&a.AuthJWKSURL, googleKeys)
	or(&a.AuthLeeway, 30*time.Second)
	or(&a.AuthKeyInterval, 30*time.Second)
	return a
}

func (a Auth) check(service string) (wrong []error) {
	switch a.AuthMode {
	case ModeVerify:
	case ModeCloudRunIAM:
		if service == "" {
			wrong = append(wrong, errors.New("AUTH_MODE=cloudrun-iam needs K_SERVICE, which Cloud Run sets: elsewhere nobody has checked the token; use verify"))
		}
	default:
		wrong = append(wrong, fmt.Errorf("AUTH_MODE is %q, want %q (the signature is checked here) or %q (Cloud Run checked it; the service must not be public)", a.AuthMode, ModeVerify, ModeCloudRunIAM))
	}
	if len(a.AuthAudiences) == 0 || slices.Contains(a.AuthAudiences, "") {
		wrong = append(wrong, errors.New("AUTH_AUDIENCES is empty: name the service's URL, as the job's OIDC token has it"))
	}
	if len(a.AuthAccounts) == 0 || slices.Contains(a.AuthAccounts, "") {
		wrong = append(wrong, errors.New("AUTH_ACCOUNTS is empty: list the service accounts of the jobs; a token for our audience can be had by anybody"))
	}
	if a.AuthLeeway < 0 || a.AuthLeeway > 5*time.Minute {
		wrong = append(wrong, fmt.Errorf("AUTH_LEEWAY is %v, want 0 to 5m", a.AuthLeeway))
	}
	return wrong
}

// authenticator decides who calls. It never reads the headers of Cloud Scheduler (R18).
type authenticator struct {
	cfg      Auth
	keys     *keyFetcher
	verifier *oidc.IDTokenVerifier
}

func newAuthenticator(cfg Auth, now func() time.Time, base http.RoundTripper) *authenticator {
	fetcher := &keyFetcher{base: base, now: now, interval: cfg.AuthKeyInterval}
	client := &http.Client{Transport: fetcher, Timeout: 10 * time.Second}
	var keys oidc.KeySet = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), cfg.AuthJWKSURL)
	if cfg.AuthMode == ModeCloudRunIAM {
		keys = removedKeySet{keys}
	}
	return &authenticator{cfg: cfg, keys: fetcher, verifier: oidc.NewVerifier(googleIssuer, keys, &oidc.Config{
		SkipClientIDCheck:    true, // the audience is one of a set; checked below
		SupportedSigningAlgs: []string{oidc.RS256},
		Now:                  func() time.Time { return now().Add(-cfg.AuthLeeway) },
	})}
}

// caller returns the account that sent the request, or a *problem: 401 without a valid token, 403 with that of an account that may not call.
func (a *authenticator) caller(ctx context.Context, h http.Header) (string, error) {
	raw, err := a.token(h)
	if err != nil {
		return "", err
	}
	if a.cfg.AuthMode == ModeVerify && strings.HasSuffix(raw, "."+signatureRemoved) {
		return "", unauthorized("the token's signature was removed by Cloud Run; use AUTH_MODE=cloudrun-iam, or turn Cloud Run's own check off")
	}
	token, err := a.verifier.Verify(ctx, raw)
	if err != nil && a.keys.missing() {
		return "", refuse(http.StatusInternalServerError, "no-keys", "the issuer's keys cannot be had at the moment, so no token can be checked").because(err)
	}
	if err != nil {
		return "", unauthorized("the token is not valid: it must be an RS256 identity token of Google's, unexpired").because(err)
	}
	if !slices.ContainsFunc(token.Audience, func(s string) bool { return slices.Contains(a.cfg.AuthAudiences, s) }) {
		return "", unauthorized("the token is for another audience; set the job's OIDC audience to this service's URL")
	}
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
	}
	if err := token.Claims(&claims); err != nil {
		return "", unauthorized("the token's claims cannot be read").because(err)
	}
	if claims.Email == "" || !claims.Verified {
		return "", unauthorized("the token has no verified e-mail address")
	}
	if !slices.Contains(a.cfg.AuthAccounts, claims.Email) {
		return "", refuse(http.StatusForbidden, "account-not-allowed", "this account is not in AUTH_ACCOUNTS").because(fmt.Errorf("account %q", claims.Email))
	}
	return claims.Email, nil
}

// token finds the bearer token. Behind Cloud Run X-Serverless-Authorization comes first, because that is the one which Cloud Run checked; a
// different one in Authorization was checked by nobody, and the request is refused (threat A4).
func (a *authenticator) token(h http.Header) (string, error) {
	plain, err := bearer(h, "Authorization")
	if err != nil {
		return "", err
	}
	checked, err := bearer(h, "X-Serverless-Authorization")
	if err != nil {
		return "", err
	}
	switch {
	case plain == "" && checked == "":
		return "", unauthorized("no token: set the job's OIDC token, with this service's URL as the audience")
	case checked == "":
		return plain, nil
	case plain != "" && unsigned(plain) != unsigned(checked):
		return "", unauthorized("Authorization and X-Serverless-Authorization disagree; send one")
	case a.cfg.AuthMode == ModeVerify && plain == "":
		return checked, nil
	case a.cfg.AuthMode == ModeVerify:
		return plain, nil
	}
	return checked, nil
}

// unsigned is the part of a token that the claims are in: of two copies, Cloud Run removes the signature of one.
func unsigned(token string) string { return token[:strings.LastIndexByte(token, '.')+1] }

func bearer(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", unauthorized("the header %s is there %d times", name, len(values))
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "bearer") || token == "" {
		return "", unauthorized("the header %s is no bearer token", name)
	}
	if len(token) > maxToken {
		return "", unauthorized("the token is longer than %d bytes", maxToken)
	}
	return token, nil
}

func unauthorized(format string, args ...any) *problem {
	return refuse(http.StatusUnauthorized, "unauthenticated", format, args...)
}
