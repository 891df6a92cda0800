package engine

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// answer makes the language's value of a response: {code, headers, body}, or an HttpError with the same keys.
func answer(res *http.Response, raw []byte) (any, error) {
	headers := map[string]any{}
	for k, v := range res.Header {
		headers[k] = strings.Join(v, ",")
	}
	result := map[string]any{"code": int64(res.StatusCode), "headers": headers, "body": decodeBody(res.Header, raw)}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return result, nil
	}
	return nil, &fault{
		kind:    HTTPError,
		message: fmt.Sprintf("HTTP server responded with error code %d", res.StatusCode),
		extra:   result,
	}
}

// decodeBody goes by the response's Content-Type: JSON becomes a value (null when empty); other text a string; what is no
// text, bytes. JSON that does not parse stays text.
func decodeBody(h http.Header, raw []byte) any {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if isJSON(kind) {
		if len(raw) == 0 {
			return nil
		}
		if v, err := decodeJSON(raw); err == nil {
			return v
		}
	}
	if utf8.Valid(raw) && kind != "application/octet-stream" {
		return string(raw)
	}
	return raw
}

const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// authorize adds the token that the `auth:` block asks for.
func (f *frame) authorize(ctx context.Context, req *http.Request, auth map[string]any) error {
	if auth == nil {
		return nil
	}
	kind, _ := auth["type"].(string)
	if kind != "OIDC" && kind != "OAuth2" {
		return faultf(ValueError, "auth type must be OIDC or OAuth2, not %s", jsonText(auth["type"]))
	}
	if f.x.cfg.Auth == nil {
		return nil
	}
	var token string
	var err error
	if kind == "OIDC" {
		token, err = f.x.cfg.Auth.IDToken(ctx, audienceOf(auth, req))
	} else {
		token, err = f.x.cfg.Auth.AccessToken(ctx, scopesOf(auth))
	}
	if err != nil {
		return faultf(AuthError, "cannot make a token: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// audienceOf is the block's audience, or the request's URL without its query.
func audienceOf(auth map[string]any, req *http.Request) string {
	if a, ok := auth["audience"].(string); ok && a != "" {
		return a
	}
	u := *req.URL
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// scopesOf reads `scopes` or `scope`: a list, or a string with commas or spaces.
func scopesOf(auth map[string]any) []string {
	for _, key := range []string{"scopes", "scope"} {
		switch v := auth[key].(type) {
		case string:
			if s := strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' }); len(s) > 0 {
				return s
			}
		case []any:
			var list []string
			for _, e := range v {
				if s, ok := e.(string); ok {
					list = append(list, s)
				}
			}
			if len(list) > 0 {
				return list
			}
		}
	}
	return []string{cloudPlatform}
}
