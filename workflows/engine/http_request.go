package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// request is the arguments of an http.* call, checked.
type request struct {
	method    string
	url       *url.URL
	headers   map[string]any
	body      any
	auth      map[string]any
	timeout   time.Duration
	userAgent string
}

const defaultTimeout = 300 * time.Second

func (x *execution) request(method, rawURL string, args map[string]any) (*request, error) {
	r := &request{method: strings.ToUpper(method), body: args["body"], userAgent: x.cfg.Semantics.UserAgent}
	var err error
	if r.url, err = url.Parse(rawURL); err != nil || r.url.Host == "" {
		return nil, faultf(ValueError, "invalid URL %q", rawURL)
	}
	if r.url.Scheme != "http" && r.url.Scheme != "https" {
		return nil, faultf(ValueError, "URL scheme must be http or https, not %q", r.url.Scheme)
	}
	if r.headers, err = optionalMap(args, "headers"); err != nil {
		return nil, err
	}
	if r.auth, err = optionalMap(args, "auth"); err != nil {
		return nil, err
	}
	query, err := optionalMap(args, "query")
	if err != nil {
		return nil, err
	}
	if err := r.addQuery(query); err != nil {
		return nil, err
	}
	r.timeout, err = x.timeout(args["timeout"])
	return r, err
}

func optionalMap(args map[string]any, name string) (map[string]any, error) {
	v := args[name]
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, faultf(TypeError, "%s must be a map, not %s", name, typeName(v))
	}
	return m, nil
}

func (x *execution) timeout(v any) (time.Duration, error) {
	if v == nil {
		return defaultTimeout, nil
	}
	seconds, ok := asFloat(v)
	if !ok {
		return 0, faultf(TypeError, "timeout must be a number, not %s", typeName(v))
	}
	limit := x.cfg.Limits.Timeout
	if seconds <= 0 || math.IsNaN(seconds) || limit > 0 && seconds > limit.Seconds() {
		return 0, faultf(ValueError, "timeout must be above 0 and at most %g seconds, not %g", limit.Seconds(), seconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// addQuery appends the query to what the URL has already.
func (r *request) addQuery(query map[string]any) error {
	if len(query) == 0 {
		return nil
	}
	encoded, err := encodeForm(query)
	if err != nil {
		return err
	}
	if r.url.RawQuery != "" {
		encoded = r.url.RawQuery + "&" + encoded
	}
	r.url.RawQuery = encoded
	return nil
}

// encodeForm URL-encodes a map of strings, numbers, booleans, and lists of those.
func encodeForm(m map[string]any) (string, error) {
	values := url.Values{}
	for k, v := range m {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			s, ok := scalarText(e)
			if !ok {
				return "", faultf(TypeError, "cannot URL-encode %q: %s", k, typeName(e))
			}
			values.Add(k, s)
		}
	}
	return values.Encode(), nil
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return fmt.Sprint(v), true
	case int64, float64:
		return formatNumber(v), true
	}
	return "", false
}

// build makes the Go request: headers, the body in the encoding that its Content-Type asks for, the User-Agent.
func (r *request) build(ctx context.Context) (*http.Request, error) {
	header := http.Header{}
	for k, v := range r.headers {
		s, ok := v.(string)
		if !ok {
			return nil, faultf(TypeError, "header %q must be a string, not %s", k, typeName(v))
		}
		header.Set(k, s)
	}
	body, err := r.encode(header)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), nil)
	if err != nil {
		return nil, faultf(ValueError, "invalid request: %v", err)
	}
	if body != nil {
		req, err = http.NewRequestWithContext(ctx, r.method, r.url.String(), bytes.NewReader(body))
		if err != nil {
			return nil, faultf(ValueError, "invalid request: %v", err)
		}
	}
	header.Set("User-Agent", strings.TrimSpace(header.Get("User-Agent")+" "+r.userAgent))
	req.Header = header
	return req, nil
}

// encode returns the body's bytes, nil for none, and sets Content-Type where the workflow did not.
func (r *request) encode(header http.Header) ([]byte, error) {
	if r.body == nil {
		return nil, nil
	}
	raw, isBytes := r.body.([]byte)
	if header.Get("Content-Type") == "" {
		if isBytes {
			header.Set("Content-Type", "application/octet-stream")
			return raw, nil
		}
		header.Set("Content-Type", "application/json; charset=utf-8")
		return encodeJSON(r.body)
	}
	if isBytes {
		return raw, nil
	}
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if isJSON(kind) {
		return encodeJSON(r.body)
	}
	if text, ok := r.body.(string); ok {
		return []byte(text), nil
	}
	if m, ok := r.body.(map[string]any); ok && kind == "application/x-www-form-urlencoded" {
		form, err := encodeForm(m)
		return []byte(form), err
	}
	return encodeJSON(r.body)
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}
