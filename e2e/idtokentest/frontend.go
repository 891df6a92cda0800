package idtokentest

import (
	"net/http"
	"strings"
)

// FrontEnd imitates what stands before a Cloud Run service whose invoker check is on: it reads X-Serverless-Authorization,
// else Authorization, refuses a token that does not verify for the audience (401 where there is none, else 403), removes the
// signature of the one it checked, and leaves the other header as it came. accounts are those with the invoker role; none:
// every account.
func (i *Issuer) FrontEnd(next http.Handler, audience string, accounts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "X-Serverless-Authorization"
		if r.Header.Get(name) == "" {
			name = "Authorization"
		}
		scheme, token, _ := strings.Cut(r.Header.Get(name), " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="Secured Resource"`)
			http.Error(w, "the request was not authenticated", http.StatusUnauthorized)
			return
		}
		claims, err := i.Verify(token, audience)
		if err != nil || !invoker(claims, accounts) {
			http.Error(w, "the client does not have permission to get this URL", http.StatusForbidden)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set(name, scheme+" "+StripSignature(token))
		next.ServeHTTP(w, r)
	})
}

func invoker(claims map[string]any, accounts []string) bool {
	if len(accounts) == 0 {
		return true
	}
	email, _ := claims["email"].(string)
	for _, a := range accounts {
		if a == email && claims["email_verified"] == true {
			return true
		}
	}
	return false
}
