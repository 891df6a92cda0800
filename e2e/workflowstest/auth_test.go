package workflowstest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/runonce/e2e/idtokentest"
)

func TestAuthBlocks(t *testing.T) {
	t.Parallel()
	issuer := idtokentest.New(idtokentest.Config{Email: "wf@p.iam.gserviceaccount.com"})
	t.Cleanup(issuer.Close)
	headers := make(chan string, 2)
	function := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header.Get("Authorization") }))
	t.Cleanup(function.Close)
	w := newWorld(t, Config{Auth: issuer})
	w.deploy(testWorkflow, `
- identity:
    call: http.get
    args:
      url: ${sys.get_env("URL")}
      auth: {type: OIDC, audience: "https://function.example"}
- access:
    call: http.get
    args:
      url: ${sys.get_env("URL")}
      auth: {type: OAuth2}
`, Deployment{Env: map[string]string{"URL": function.URL}})
	w.ended(w.create(nil).Name)
	token := strings.TrimPrefix(<-headers, "Bearer ")
	claims, err := issuer.Verify(token, "https://function.example")
	if err != nil || claims["email"] != "wf@p.iam.gserviceaccount.com" {
		t.Errorf("claims %v, error %v", claims, err)
	}
	if access := <-headers; !strings.HasPrefix(access, "Bearer ") || len(access) < 10 {
		t.Errorf("access token %q", access)
	}
}
