package idtokentest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"cloud.google.com/go/compute/metadata"
)

// R18: the metadata client of Google finds project, account and tokens here.
func TestMetadataClient(t *testing.T) { // sets the environment, so it is not parallel
	i := start(t, Config{Project: "p", Email: "fn@p.iam.gserviceaccount.com"})
	t.Setenv("GCE_METADATA_HOST", i.MetadataHost())
	c := metadata.NewClient(http.DefaultClient)
	if !c.OnGCEWithContext(t.Context()) {
		t.Error("the client does not believe to be on Google Cloud")
	}
	if p, err := c.ProjectIDWithContext(t.Context()); err != nil || p != "p" {
		t.Errorf("project %q, %v", p, err)
	}
	if e, err := c.EmailWithContext(t.Context(), ""); err != nil || e != "fn@p.iam.gserviceaccount.com" {
		t.Errorf("account %q, %v", e, err)
	}
	token, err := c.GetWithContext(t.Context(), "instance/service-accounts/default/identity?format=full&audience="+url.QueryEscape(audience))
	if err != nil {
		t.Fatal(err)
	}
	a, err := accept(t.Context(), verifier(t.Context(), i), token)
	if err != nil || a.Email != "fn@p.iam.gserviceaccount.com" || !a.Verified {
		t.Errorf("identity: %+v, %v", a, err)
	}
	access, err := c.GetWithContext(t.Context(), "instance/service-accounts/default/token?scopes=x")
	var answer struct {
		Token   string `json:"access_token"`
		Expires int    `json:"expires_in"`
		Type    string `json:"token_type"`
	}
	if err != nil || json.Unmarshal([]byte(access), &answer) != nil || answer.Token == "" || answer.Expires != 3600 || answer.Type != "Bearer" {
		t.Errorf("access token %q, %v", access, err)
	}
}

// What a metadata server refuses.
func TestMetadataRefuses(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	const flavor = "Metadata-Flavor"
	base := i.URL() + "/computeMetadata/v1/instance/service-accounts/"
	for _, tt := range []struct {
		name, url string
		header    []string
		want      int
	}{
		{"no flavor", base + "default/identity?audience=a", nil, 403},
		{"forwarded", base + "default/identity?audience=a", []string{flavor, "Google", "X-Forwarded-For", "1.2.3.4"}, 403},
		{"no audience", base + "default/identity", []string{flavor, "Google"}, 400},
		{"other account", base + "x@y/token", []string{flavor, "Google"}, 404},
		{"by address", base + DefaultEmail + "/token", []string{flavor, "Google"}, 200},
		{"unknown", base + "default/aliases", []string{flavor, "Google"}, 404},
		{"unknown path", i.URL() + "/computeMetadata/v1/instance/tags", []string{flavor, "Google"}, 404},
		{"probe", i.URL() + "/", nil, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, body, header := get(t, tt.url, tt.header...)
			if status != tt.want {
				t.Errorf("status %d, %s, want %d", status, body, tt.want)
			}
			if status == 200 && header.Get(flavor) != "Google" {
				t.Errorf("the answer does not say that it is Google's: %v", header)
			}
		})
	}
}

// A token source gives none for a cancelled caller or no audience.
func TestTokenSource(t *testing.T) {
	t.Parallel()
	i := start(t, Config{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := i.IDToken(gone, audience); err == nil {
		t.Error("identity token for a cancelled caller")
	}
	if _, err := i.AccessToken(gone); err == nil {
		t.Error("access token for a cancelled caller")
	}
	if _, err := i.IDToken(t.Context(), " "); err == nil {
		t.Error("identity token without an audience")
	}
	one, err := i.AccessToken(t.Context())
	if two, _ := i.AccessToken(t.Context()); err != nil || one == two {
		t.Errorf("access tokens %q and %q, %v", one, two, err)
	}
}
