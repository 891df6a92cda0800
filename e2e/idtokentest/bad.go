package idtokentest

import (
	"crypto/x509"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Fault is what is wrong with a token.
type Fault string

// The faults. A receiver must refuse each of them, where it is told which audience and accounts it accepts.
const (
	WrongAudience  Fault = "wrong audience"              // minted for another service
	NoAudience     Fault = "no audience"                 // no aud claim
	Expired        Fault = "expired"                     // an hour ago
	OtherIssuer    Fault = "other issuer"                // signed by the right key
	OtherKey       Fault = "other key"                   // signed by a key of its own under the present key's id
	UnknownKey     Fault = "unknown key"                 // signed by a key of its own under an id that is in no set
	AlgNone        Fault = "alg none"                    // not signed at all
	PublicKeyHMAC  Fault = "HMAC with the public key"    // HS256, the published key taken for a secret
	ShortES256     Fault = "short ES256 signature"       // says ES256, and its signature has 20 bytes; crashed a library
	Stripped       Fault = "signature removed"           // as behind Cloud Run
	ChangedClaims  Fault = "changed claims"              // the e-mail address edited after signing
	Unverified     Fault = "unverified e-mail"           // email_verified false
	NoEmail        Fault = "no e-mail"                   // no email claim
	ForeignAccount Fault = "account of another tenant"   // valid in all else: anybody can have one for any audience
	NotYet         Fault = "not yet valid"               // nbf an hour ahead
	Garbage        Fault = "three parts that are no JWT" // not even base64
)

// Faults lists all of them.
func Faults() []Fault {
	return []Fault{
		WrongAudience, NoAudience, Expired, OtherIssuer, OtherKey, UnknownKey, AlgNone, PublicKeyHMAC, ShortES256, Stripped,
		ChangedClaims, Unverified, NoEmail, ForeignAccount, NotYet, Garbage,
	}
}

// ForeignEmail is the account of a ForeignAccount token.
const ForeignEmail = "anybody@another-tenant.iam.gserviceaccount.com"

// Bad returns the token that Token(c) would be, with one fault.
func (i *Issuer) Bad(f Fault, c Claims) string {
	key := i.signingKey()
	switch f {
	case OtherKey:
		return sign(jose.JSONWebKey{Key: newKey(), KeyID: key.KeyID, Algorithm: key.Algorithm}, i.claims(c))
	case UnknownKey:
		return sign(jose.JSONWebKey{Key: newKey(), KeyID: "unknown", Algorithm: key.Algorithm}, i.claims(c))
	case AlgNone:
		return i.unsigned("none", c) + "."
	case ShortES256:
		return i.unsigned("ES256", c) + "." + SignatureRemoved
	case PublicKeyHMAC:
		public, err := x509.MarshalPKIXPublicKey(key.Public().Key)
		if err != nil {
			panic("idtokentest: write the public key: " + err.Error())
		}
		return sign(jose.JSONWebKey{Key: public, KeyID: key.KeyID, Algorithm: string(jose.HS256)}, i.claims(c))
	case Stripped:
		return StripSignature(i.Token(c))
	case ChangedClaims:
		c.Email = ForeignEmail
		parts := strings.Split(i.Token(c), ".")
		c.Email = ""
		return parts[0] + "." + encode(marshal(i.claims(c))) + "." + parts[2]
	case Garbage:
		return "not*base64.not*base64.not*base64"
	}
	return i.Token(i.spoil(f, c))
}

// spoil sets the claims of the faults that are properly signed.
func (i *Issuer) spoil(f Fault, c Claims) Claims {
	extra := map[string]any{}
	for k, v := range c.Extra {
		extra[k] = v
	}
	c.Extra = extra
	now := i.cfg.Now()
	switch f {
	case WrongAudience:
		c.Audience = "https://another-service.example"
	case NoAudience:
		extra["aud"] = nil
	case Expired:
		c.IssuedAt, c.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour)
	case OtherIssuer:
		c.Issuer = "https://issuer.example"
	case Unverified:
		c.Unverified = true
	case NoEmail:
		extra["email"], extra["email_verified"] = nil, nil
	case ForeignAccount:
		c.Email = ForeignEmail
	case NotYet:
		extra["nbf"] = now.Add(time.Hour).Unix()
	default:
		panic("idtokentest: no such fault: " + string(f))
	}
	return c
}

// unsigned returns header and claims of a token whose header says alg.
func (i *Issuer) unsigned(alg string, c Claims) string {
	return encode(marshal(map[string]any{"alg": alg, "kid": i.signingKey().KeyID, "typ": "JWT"})) + "." + encode(marshal(i.claims(c)))
}
