package workflowstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// route is one method of the REST APIs, by the paths of their discovery documents without v1/.
type route struct {
	method string
	path   string // * stands for one part; a custom verb follows a colon
	query  string // the names of its parameters
	serve  func(s *Server, c *restCall) (any, error)
}

// restCall is a request on its way to its route.
type restCall struct {
	request *http.Request
	name    string // the path without v1/ and the verb
	query   url.Values
	body    []byte
}

// systemParameters are taken by every Google API and mean nothing here.
var systemParameters = []string{"alt", "prettyPrint", "key", "fields", "quotaUser", "userIp", "callback", "access_token", "oauth_token", "uploadType", "upload_protocol", "$.xgafv"}

const maxBody = 4 << 20

// serveREST answers a request of either API, or one that arrives at a callback.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutPrefix(r.URL.Path, "/v1/")
	if found && strings.HasPrefix(path, "executions/") {
		s.serveCallback(w, r)
		return
	}
	name, verb := splitVerb(path)
	for _, to := range routes {
		if found && to.method == r.Method && to.fits(name, verb) {
			answer, err := s.call(to, name, r)
			writeAnswer(w, answer, err)
			return
		}
	}
	writeAnswer(w, nil, status.Errorf(codes.NotFound, "no method of the Workflows or the Executions API is %s %s", r.Method, r.URL.Path))
}

// splitVerb takes the custom verb from a path.
func splitVerb(path string) (name, verb string) {
	if i := strings.LastIndexByte(path, ':'); i > strings.LastIndexByte(path, '/') {
		return path[:i], path[i:]
	}
	return path, ""
}

func (t route) fits(name, verb string) bool {
	pattern, want := splitVerb(t.path)
	parts, wants := strings.Split(name, "/"), strings.Split(pattern, "/")
	return verb == want && slices.EqualFunc(parts, wants, func(part, want string) bool { return part != "" && (want == "*" || part == want) })
}

func (s *Server) call(to route, name string, r *http.Request) (any, error) {
	c := &restCall{request: r, name: name, query: r.URL.Query()}
	for p := range c.query {
		if !slices.Contains(strings.Fields(to.query), p) && !slices.Contains(systemParameters, p) {
			return nil, status.Errorf(codes.InvalidArgument,
				"Invalid JSON payload received. Unknown name %q: Cannot bind query parameter. Field '%s' could not be found in request message.", p, p)
		}
	}
	var err error
	if c.body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return nil, status.Errorf(codes.Canceled, "read the request: %v", err)
	}
	if len(c.body) > maxBody {
		return nil, status.Errorf(codes.InvalidArgument, "Request payload size exceeds the limit: %d bytes.", maxBody)
	}
	return to.serve(s, c)
}

// number reads a parameter that is a whole number; none is 0.
func (c *restCall) number(name string) (int32, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, invalid(name, "Invalid value at '%s' (TYPE_INT32), %q", name, text)
	}
	return int32(n), nil
}

// enum reads a parameter that is a value of an enum, by its name.
func (c *restCall) enum(name string, values map[string]int32) (int32, error) {
	text := c.query.Get(name)
	n, ok := values[text]
	if text != "" && !ok {
		return 0, invalid(name, "Invalid value at '%s' (TYPE_ENUM), %q", name, text)
	}
	return n, nil
}

// decode reads the body, which may be empty, into a message.
func (c *restCall) decode(into proto.Message) error {
	if len(strings.TrimSpace(string(c.body))) == 0 {
		return nil
	}
	return decodeJSON(c.body, into)
}

func decodeJSON(body []byte, into proto.Message) error {
	if err := protojson.Unmarshal(body, into); err != nil {
		return status.Errorf(codes.InvalidArgument, "Invalid JSON payload received. %v", err)
	}
	return nil
}

// writeAnswer writes a message, another value as JSON, or an error as Google's APIs do.
func writeAnswer(w http.ResponseWriter, answer any, err error) {
	code, body := http.StatusOK, []byte(nil)
	if err == nil {
		body, err = encodeJSON(answer)
	}
	if err != nil {
		code, body = restError(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the client may be gone, which is its own business
}

func encodeJSON(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return protojson.Marshal(m)
	}
	return json.Marshal(v)
}

// restError is an error's HTTP status and JSON.
func restError(err error) (int, []byte) {
	st := status.Convert(err)
	code := httpStatus(st.Code())
	inner := map[string]any{"code": code, "message": st.Message(), "status": codeName(st.Code())}
	var details []json.RawMessage
	for _, d := range st.Proto().GetDetails() {
		if b, err := protojson.Marshal(d); err == nil {
			details = append(details, b)
		}
	}
	if details != nil {
		inner["details"] = details
	}
	body, err := json.Marshal(map[string]any{"error": inner})
	if err != nil {
		return http.StatusInternalServerError, fmt.Appendf(nil, `{"error":{"code":500,"message":%q,"status":"INTERNAL"}}`, err.Error())
	}
	return code, body
}
