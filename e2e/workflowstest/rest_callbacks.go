package workflowstest

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	rest "google.golang.org/api/workflowexecutions/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/runonce/workflows/engine"
)

// restListCallbacks lists the endpoints that an execution has made and that wait for requests.
func restListCallbacks(s *Server, c *restCall) (any, error) {
	size, err := c.number("pageSize")
	if err != nil {
		return nil, err
	}
	p, err := pageOf(size, c.query.Get("pageToken"), 100, 100, c.name)
	if err != nil {
		return nil, err
	}
	execution := ownerOf(c.name + "/-")
	s.mu.Lock()
	e, err := s.execution(execution)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	endpoints := s.callbacks.List(e.id())
	slices.SortFunc(endpoints, func(a, b engine.Callback) int { return strings.Compare(a.URL, b.URL) })
	part, next := cut(p, endpoints)
	out := &rest.ListCallbacksResponse{NextPageToken: next}
	for _, cb := range part {
		out.Callbacks = append(out.Callbacks, &rest.Callback{Name: execution + "/callback/" + lastPart(cb.URL), Method: cb.Method})
	}
	return out, nil
}

// Callbacks are the URLs of the endpoints of an execution that wait for requests, in the order of their ids.
func (s *Server) Callbacks(name string) []string {
	var urls []string
	for _, cb := range s.callbacks.List(lastPart(name)) {
		urls = append(urls, cb.URL)
	}
	slices.Sort(urls)
	return urls
}

// serveCallback hands a request to the execution that made its URL.
func (s *Server) serveCallback(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		writeAnswer(w, nil, status.Errorf(codes.Canceled, "read the request: %v", err))
		return
	}
	content, err := callbackBody(r.Header.Get("Content-Type"), body)
	if err != nil {
		writeAnswer(w, nil, status.Errorf(codes.InvalidArgument, "Invalid JSON payload received. %v", err))
		return
	}
	found, err := s.callbacks.Deliver(s.URL()+r.URL.Path, engine.CallbackRequest{
		Method: r.Method, URL: r.URL.Path, Headers: firsts(r.Header), Query: firsts(r.URL.Query()), Body: content, At: s.cfg.Clock.Now(),
	})
	switch {
	case !found:
		writeAnswer(w, nil, notFound(strings.TrimPrefix(r.URL.Path, "/v1/")))
	case err != nil:
		http.Error(w, err.Error(), http.StatusMethodNotAllowed)
	default:
		writeAnswer(w, struct{}{}, nil)
	}
}

func firsts(values map[string][]string) map[string]string {
	out := make(map[string]string, len(values))
	for k, v := range values {
		out[k] = strings.Join(v, ",")
	}
	return out
}

// callbackBody is a body as the workflow sees it: decoded where it is JSON, else text; nil where there is none.
func callbackBody(contentType string, body []byte) (any, error) {
	if len(body) == 0 {
		return nil, nil
	}
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return string(body), nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v), nil
}

// numbers makes the language's numbers of JSON's: int64 where it fits, else float64.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // out of range is infinite
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}
