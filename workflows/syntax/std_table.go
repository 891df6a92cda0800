package syntax

import "strings"

// Function is a function of the standard library, as deploy-time checks need it.
type Function struct {
	Name   string
	Params []string // in positional order
	Need   int      // how many of them, from the front, must be passed
	// Blocking functions cannot be called inside an expression.
	Blocking bool

	needed map[string]bool
}

const httpParams = "url timeout? body? headers? query? auth? private_service_name? ca_certificate?"

// Functions is the standard library by name, from the standard library reference of Workflows. Parameters that may be left
// out stand last. Connectors (googleapis.…) are not in it: their arguments are the APIs'.
var Functions = table(false, map[string]string{
	"base64.decode": "data padding?", "base64.encode": "data padding?",
	"default": "val default_val", "double": "x", "get_type": "value", "if": "condition if_true if_false", "int": "x", "keys": "map", "len": "value", "string": "x",
	"hash.compute_checksum": "data algorithm", "hash.compute_hmac": "key data algorithm",
	"http.default_retry_predicate": "exception", "http.default_retry_predicate_non_idempotent": "exception",
	"json.decode": "data", "json.encode": "data indent?", "json.encode_to_string": "data indent?",
	"list.concat": "objs val", "list.prepend": "objs val",
	"map.delete": "map key", "map.get": "map keys", "map.merge": "first second", "map.merge_nested": "first second",
	"math.abs": "x", "math.floor": "x", "math.max": "x y", "math.min": "x y",
	"retry.always": "exception", "retry.never": "exception",
	"sys.get_env": "name default?", "sys.now": "",
	"text.decode": "data charset?", "text.encode": "text charset?", "text.find_all": "source substr", "text.find_all_regex": "source regexp",
	"text.match_regex": "source regexp", "text.replace_all": "source substr repl", "text.replace_all_regex": "source regexp repl",
	"text.split": "source separator", "text.substring": "source start end", "text.to_lower": "source", "text.to_upper": "source",
	"text.url_decode": "source", "text.url_encode": "source", "text.url_encode_plus": "source",
	"time.format": "seconds timezone?", "time.parse": "value", "uuid.generate": "",
}, table(true, map[string]string{
	"events.await_callback": "callback timeout?", "events.create_callback_endpoint": "http_callback_method",
	"experimental.executions.map": "workflow_id arguments location? project_id?", "experimental.executions.run": "workflow_id location? project_id? argument?",
	"gke.await_job":  "project location cluster_id namespace job_name use_dns_endpoint? timeout?",
	"gke.create_job": "project location cluster_id namespace job use_dns_endpoint?",
	"gke.delete_job": "project location cluster_id namespace job_name use_dns_endpoint? query?",
	"gke.get_job":    "project location cluster_id namespace job_name use_dns_endpoint?",
	"gke.request":    "project location cluster_id method path headers? query? body? timeout?",
	"gke.run_job":    "project location cluster_id namespace job use_dns_endpoint? timeout?",
	"http.delete":    httpParams, "http.get": httpParams, "http.patch": httpParams, "http.post": httpParams, "http.put": httpParams, "http.request": "method " + httpParams,
	"sys.log": "data? severity? text? json? timeout?", "sys.sleep": "seconds", "sys.sleep_until": "time",
}, nil))

// Values are the names that stand for a policy, without being called.
var Values = map[string]bool{
	"http.default_retry": true, "http.default_retry_non_idempotent": true, "retry.default_backoff": true,
	"retry.default_backoff.initial_delay": true, "retry.default_backoff.max_delay": true, "retry.default_backoff.multiplier": true,
}

// Connector tells whether a function is one of a Google API, whose arguments are not known here.
func Connector(name string) bool { return strings.HasPrefix(name, "googleapis.") }

func table(blocking bool, entries map[string]string, into map[string]*Function) map[string]*Function {
	if into == nil {
		into = map[string]*Function{}
	}
	for name, params := range entries {
		f := &Function{Name: name, Blocking: blocking, needed: map[string]bool{}}
		for i, p := range strings.Fields(params) {
			optional := strings.HasSuffix(p, "?")
			f.Params = append(f.Params, strings.TrimSuffix(p, "?"))
			if !optional {
				f.Need = i + 1
				f.needed[f.Params[i]] = true
			}
		}
		into[name] = f
	}
	return into
}
