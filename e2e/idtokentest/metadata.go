package idtokentest

import (
	"fmt"
	"net/http"
	"strings"
)

// MetadataHost is the value of GCE_METADATA_HOST that makes Google's clients ask this issuer.
func (i *Issuer) MetadataHost() string { return strings.TrimPrefix(i.server.URL, "http://") }

// metadata adds the metadata server: what a client needs to find out where it runs and to get tokens.
func (i *Issuer) metadata(mux *http.ServeMux) {
	const base = "GET /computeMetadata/v1/"
	text := func(path, value string) {
		mux.HandleFunc(base+path, flavored(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/text")
			fmt.Fprint(w, value)
		}))
	}
	text("project/project-id", i.cfg.Project)
	text("project/numeric-project-id", "123456789012")
	text("universe/universe-domain", "googleapis.com")
	text("instance/id", "1234567890123456789")
	text("instance/zone", "projects/123456789012/zones/europe-west1-b")
	text("instance/region", "projects/123456789012/regions/europe-west1")
	mux.HandleFunc("GET /{$}", flavored(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "computeMetadata/\n") }))
	mux.HandleFunc(base+"instance/service-accounts/{account}/{what}", flavored(i.account))
}

// flavored refuses what does not come from a metadata client, which protects against forged requests through a browser.
func flavored(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		w.Header().Set("Server", "Metadata Server for VM")
		root := r.URL.Path == "/"
		if !root && r.Header.Get("Metadata-Flavor") != "Google" || r.Header.Get("X-Forwarded-For") != "" {
			http.Error(w, "the header Metadata-Flavor: Google is missing, or the request was forwarded", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

func (i *Issuer) account(w http.ResponseWriter, r *http.Request) {
	if a := r.PathValue("account"); a != "default" && a != i.cfg.Email {
		http.Error(w, "no service account "+a, http.StatusNotFound)
		return
	}
	switch r.PathValue("what") {
	case "identity":
		audience := r.URL.Query().Get("audience")
		token, err := i.IDToken(r.Context(), audience)
		if err != nil {
			http.Error(w, "non-empty audience parameter required", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/html") // as the real one does
		fmt.Fprint(w, token)
	case "token":
		token, err := i.AccessToken(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		writeJSON(w, map[string]any{"access_token": token, "expires_in": int(i.cfg.Lifetime.Seconds()), "token_type": "Bearer"})
	case "email":
		fmt.Fprint(w, i.cfg.Email)
	case "scopes":
		fmt.Fprint(w, "https://www.googleapis.com/auth/cloud-platform\n")
	default:
		http.NotFound(w, r)
	}
}
