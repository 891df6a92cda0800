package idtokentest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// SignatureRemoved stands where the signature was once Cloud Run has checked a token.
const SignatureRemoved = "SIGNATURE_REMOVED_BY_GOOGLE"

// Claims of a token. What is left out is filled in as Google does for a service account.
type Claims struct {
	// Audience is required, unless Extra has an aud.
	Audience string
	// Email is the account. "": that of the Config.
	Email string
	// Unverified makes email_verified false.
	Unverified bool
	// Issuer overrides that of the Config, e.g. GoogleIssuerBare.
	Issuer string
	// Subject is sub and azp, the account's numeric id. "": made from the e-mail address.
	Subject string
	// IssuedAt. Zero: now. Expires. Zero: IssuedAt and the lifetime.
	IssuedAt, Expires time.Time
	// Extra claims, over all others; a nil value removes a claim.
	Extra map[string]any
}

// Token returns a signed token with the claims.
func (i *Issuer) Token(c Claims) string {
	return sign(i.signingKey(), i.claims(c))
}

func (i *Issuer) claims(c Claims) map[string]any {
	if c.Email == "" {
		c.Email = i.cfg.Email
	}
	if c.Issuer == "" {
		c.Issuer = i.cfg.Issuer
	}
	if c.Subject == "" {
		c.Subject = Subject(c.Email)
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = i.cfg.Now()
	}
	if c.Expires.IsZero() {
		c.Expires = c.IssuedAt.Add(i.cfg.Lifetime)
	}
	m := map[string]any{
		"iss": c.Issuer, "aud": c.Audience, "azp": c.Subject, "sub": c.Subject, "email": c.Email, "email_verified": !c.Unverified,
		"iat": c.IssuedAt.Unix(), "exp": c.Expires.Unix(),
	}
	maps.Copy(m, c.Extra)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return m
}

// Subject is the numeric id that an account has here: 21 digits, always the same.
func Subject(email string) string {
	sum := sha256.Sum256([]byte(email))
	return fmt.Sprintf("1%020d", binary.BigEndian.Uint64(sum[:8]))
}

// StripSignature returns the token as Cloud Run passes it on: its signature replaced by SignatureRemoved.
func StripSignature(token string) string {
	unsigned := token[:strings.LastIndexByte(token, '.')+1]
	return unsigned + SignatureRemoved
}

func sign(key jose.JSONWebKey, claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic("idtokentest: make a signer: " + err.Error())
	}
	signed, err := signer.Sign(marshal(claims))
	if err != nil {
		panic("idtokentest: sign: " + err.Error())
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic("idtokentest: write the token: " + err.Error())
	}
	return token
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("idtokentest: write the claims: " + err.Error())
	}
	return b
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
