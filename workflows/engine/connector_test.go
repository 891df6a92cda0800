package engine

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestUnknownConnectorNamesItself(t *testing.T) {
	t.Parallel()
	o := runCase(t, `
- go:
    call: googleapis.translate.v2.translations.translate
    args: {body: {q: hello}}
`, "", nil)
	if o.err == nil || !strings.Contains(o.err.Error(), "googleapis.translate.v2.translations.translate is not known") {
		t.Errorf("got %v, want an error that names the connector", o.err)
	}
}

// TestConnectorRetriesByItself checks the built-in policy: a connector is tried again without any retry block.
func TestConnectorRetriesByItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		codes []int // of the first attempts
		tries int
		fails bool
	}{
		{"googleapis.pubsub.v1.projects.topics.publish", []int{503, 503}, 3, false},
		{"googleapis.pubsub.v1.projects.topics.publish", []int{429}, 2, false},
		{"googleapis.pubsub.v1.projects.topics.publish", []int{502}, 1, true},
		{"googleapis.pubsub.v1.projects.topics.publish", []int{500}, 1, true},
		{"googleapis.storage.v1.objects.get", []int{502, 504, 503, 429}, 5, false},
		{"googleapis.storage.v1.objects.get", []int{500}, 1, true},
		{"googleapis.storage.v1.objects.get", []int{503, 503, 503, 503, 503, 503}, 6, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			connector := func(_ context.Context, c ConnectorCall) (any, error) {
				tries++
				if c.Attempt != tries {
					t.Errorf("attempt %d is numbered %d", tries, c.Attempt)
				}
				if tries <= len(tt.codes) {
					return nil, APIError(tt.codes[tries-1], "", "try again")
				}
				return map[string]int{"n": tries}, nil
			}
			o := runCase(t, "- go:\n    call: "+tt.name+"\n    args: {x: 1}\n    result: r\n- done:\n    return: ${r.n}\n", "",
				func(c *Config, _ *callee) { c.Connectors = map[string]Connector{tt.name: connector} })
			if tries != tt.tries || (o.err != nil) != tt.fails {
				t.Errorf("%d tries and error %v, want %d and an error: %v", tries, o.err, tt.tries, tt.fails)
			}
		})
	}
}

func TestStubsAnswerAsTheAPIs(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, yaml, want string }{
		{"bigquery refuses a used job id", `
- one:
    call: googleapis.bigquery.v2.jobs.insert
    args: {projectId: p, body: {jobReference: {jobId: j}}}
    result: r
- two:
    try:
      call: googleapis.bigquery.v2.jobs.insert
      args: {projectId: p, body: {jobReference: {jobId: j}}}
    except:
      as: e
      steps:
        - done:
            return: '${[r.status.state, e.code, e.body.error.status]}'
`, `["DONE",409,"ALREADY_EXISTS"]`},
		{"tasks refuse a used name", `
- one:
    call: googleapis.cloudtasks.v2.projects.locations.queues.tasks.create
    args: {parent: q, body: {task: {name: q/tasks/a}}}
- two:
    try:
      call: googleapis.cloudtasks.v2.projects.locations.queues.tasks.create
      args: {parent: q, body: {task: {name: q/tasks/a}}}
    except:
      as: e
      steps:
        - done:
            return: ${e.code}
`, `409`},
		{"publishing has no token", `
- one:
    call: googleapis.pubsub.v1.projects.topics.publish
    args: {topic: t, body: {messages: [{data: a}, {data: b}]}}
    result: a
- two:
    call: googleapis.pubsub.v1.projects.topics.publish
    args: {topic: t, body: {messages: [{data: a}]}}
    result: b
- done:
    return: '${[a.messageIds, b.messageIds]}'
`, `[["1","2"],["3"]]`},
		{"objects honour ifGenerationMatch", `
- one:
    call: googleapis.storage.v1.objects.insert
    args: {bucket: b, name: o, ifGenerationMatch: 0}
- two:
    try:
      call: googleapis.storage.v1.objects.insert
      args: {bucket: b, name: o, ifGenerationMatch: "0"}
    except:
      as: e
      steps:
        - look:
            call: googleapis.storage.v1.objects.get
            args: {bucket: b, object: o}
            result: o
        - done:
            return: '${[e.code, o.generation]}'
`, `[412,"1"]`},
		{"documents are created once and patched", `
- create:
    call: googleapis.firestore.v1.projects.databases.documents.createDocument
    args: {parent: d, collectionId: c, documentId: x, body: {fields: {a: {integerValue: 1}}}}
- again:
    try:
      call: googleapis.firestore.v1.projects.databases.documents.createDocument
      args: {parent: d, collectionId: c, documentId: x, body: {}}
    except:
      as: e
      steps:
        - keep:
            assign: [{ignored: 1}]
- patch:
    call: googleapis.firestore.v1.projects.databases.documents.patch
    args: {name: d/c/x, updateMask.fieldPaths: [b], body: {fields: {b: {integerValue: 2}}}}
    result: doc
- stale:
    try:
      call: googleapis.firestore.v1.projects.databases.documents.patch
      args: {name: d/c/x, currentDocument: {updateTime: "2000-01-01T00:00:00Z"}, body: {fields: {}}}
    except:
      as: e
      steps:
        - done:
            return: '${[keys(doc.fields), e.code, e.body.error.status]}'
`, `[["a","b"],400,"FAILED_PRECONDITION"]`},
		{"secrets", `
- go:
    call: googleapis.secretmanager.v1.projects.secrets.versions.accessString
    args: {secret_id: s, project_id: p}
    result: s
- full:
    call: googleapis.secretmanager.v1.projects.secrets.versions.access
    args: {name: projects/p/secrets/s/versions/latest}
    result: v
- in_an_expression:
    assign:
      - e: ${googleapis.secretmanager.v1.projects.secrets.versions.accessString("s", null, "p")}
- done:
    return: '${[s, text.decode(base64.decode(v.payload.data)), e]}'
`, `["hush","hush","hush"]`},
		{"objects keep their data", `
- one:
    call: googleapis.storage.v1.objects.insert
    args: {bucket: b, name: '${text.url_encode("a/b")}', uploadType: media, body: hello}
    result: o
- two:
    call: googleapis.storage.v1.objects.get
    args: {bucket: b, object: '${text.url_encode("a/b")}', alt: media}
    result: data
- done:
    return: '${[o.name, data]}'
`, `["a/b","hello"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stubs := NewStubs()
			stubs.SetSecret("projects/p/secrets/s/versions/latest", []byte("hush"))
			o := runCase(t, tt.yaml, "", func(c *Config, _ *callee) { c.Connectors = stubs.Connectors() })
			if o.err != nil || !sameJSON(t, o.result, []byte(tt.want)) {
				t.Errorf("got %s, error %v, want %s", o.result, o.err, tt.want)
			}
			if len(stubs.Calls()) < 2 {
				t.Errorf("%d calls recorded", len(stubs.Calls()))
			}
		})
	}
}

// executionsAPI answers create once with 503 after it did the work, and get with a running execution first.
func executionsAPI(t *testing.T, state string) (http.HandlerFunc, http.HandlerFunc, *int) {
	created, looks := 0, 0
	create := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		created++
		if created == 1 {
			w.WriteHeader(503)
			return
		}
		if !strings.Contains(string(body), `"argument":"{\"n\":1}"`) {
			t.Errorf("create was sent %s", body)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"name": "projects/p/locations/l/workflows/w/executions/e", "state": "ACTIVE"}`)
	}
	get := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"name": "projects/p/locations/l/workflows/w/executions/e", "state": "ACTIVE"}
		if looks++; looks > 2 {
			answer["state"], answer["result"] = state, `{"ok": true}`
		}
		json.NewEncoder(w).Encode(answer)
	}
	return create, get, &created
}

func TestExecutionsRun(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"SUCCEEDED": `true`, "FAILED": `"FAILED"`} {
		create, get, created := executionsAPI(t, state)
		o := runCase(t, `
- go:
    try:
      call: googleapis.workflowexecutions.v1.projects.locations.workflows.executions.run
      args: {workflow_id: w, project_id: p, location: l, argument: {n: 1}}
      result: r
    except:
      as: e
      steps:
        - failed:
            return: ${e.operation.state}
- done:
    return: ${r.ok}
`, "", func(c *Config, s *callee) {
			c.Endpoints = map[string]string{"workflowexecutions": "http://base.test/"}
			s.extra["/v1/projects/p/locations/l/workflows/w/executions"] = create
			s.extra["/v1/projects/p/locations/l/workflows/w/executions/e"] = get
		})
		if string(o.result) != want {
			t.Errorf("%s: got %s, error %v, want %s", state, o.result, o.err, want)
		}
		// The connector has no token: its own retry starts a second execution, here as in the service.
		if *created != 2 {
			t.Errorf("%s: %d executions were created, want 2", state, *created)
		}
		if o.seconds != 1+1+1.25+1.5625 {
			t.Errorf("%s: took %v s", state, o.seconds)
		}
	}
}

// TestRESTConnectors checks that a connector with an endpoint becomes the API's own request.
func TestRESTConnectors(t *testing.T) {
	t.Parallel()
	tests := []struct{ call, args, path, want string }{
		{"firestore.v1.projects.databases.documents.createDocument",
			"{parent: projects/p/databases/(default)/documents, collectionId: c, documentId: x, body: {fields: {}}}",
			"/v1/projects/p/databases/(default)/documents/c", `POST ?documentId=x {"fields":{}}`},
		{"firestore.v1.projects.databases.documents.patch",
			"{name: projects/p/databases/d/documents/c/x, updateMask: {fieldPaths: [a, b]}, currentDocument.exists: true, body: {}}",
			"/v1/projects/p/databases/d/documents/c/x", `PATCH ?currentDocument.exists=true&updateMask.fieldPaths=a&updateMask.fieldPaths=b {}`},
		{"firestore.v1.projects.databases.documents.commit",
			"{database: projects/p/databases/d, body: {writes: []}}",
			"/v1/projects/p/databases/d/documents:commit", `POST ? {"writes":[]}`},
		{"pubsub.v1.projects.topics.publish", "{topic: projects/p/topics/t, body: {messages: []}}",
			"/v1/projects/p/topics/t:publish", `POST ? {"messages":[]}`},
		{"storage.v1.objects.get", "{bucket: b, object: a b}", "/storage/v1/b/b/o/a b", `GET ? `},
	}
	for _, tt := range tests {
		t.Run(tt.call, func(t *testing.T) {
			t.Parallel()
			o := runCase(t, "- go:\n    call: googleapis."+tt.call+"\n    args: "+tt.args+"\n    result: r\n- done:\n    return: ${r}\n", "",
				func(c *Config, s *callee) {
					api, _, _ := strings.Cut(tt.call, ".")
					c.Endpoints = map[string]string{api: "http://base.test"}
					s.extra[tt.path] = func(w http.ResponseWriter, r *http.Request) {
						body, _ := io.ReadAll(r.Body)
						io.WriteString(w, r.Method+" ?"+r.URL.RawQuery+" "+string(body))
					}
				})
			if want := jsonText(tt.want); string(o.result) != want {
				t.Errorf("got %s, error %v, want %s; asked %v", o.result, o.err, want, o.hits)
			}
		})
	}
}
