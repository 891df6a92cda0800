package workflowstest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"example.com/runonce/workflows/engine"
)

const awaiting = `
- make:
    call: events.create_callback_endpoint
    args: {http_callback_method: POST}
    result: c
- tell:
    call: sys.log
    args: {text: '${c.url}', severity: NOTICE}
- wait:
    call: events.await_callback
    args: {callback: '${c}', timeout: 3600}
    result: r
- done:
    return:
      n: ${r.http_request.body.n + 1}
      header: ${r.http_request.headers["X-Answer"]}
      query: ${r.http_request.query.q}
      method: ${r.http_request.method}
`

func TestCallback(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	w := newWorld(t, Config{Engine: engine.Config{Log: func(e engine.LogEntry) { told <- e.Text }}})
	w.deploy(testWorkflow, awaiting, Deployment{})
	name := w.create(nil).Name
	url := <-told
	if got := w.Callbacks(name); len(got) != 1 || got[0] != url {
		t.Errorf("callbacks %v, want %s", got, url)
	}
	list, err := w.rest.Callbacks.List(name).Context(w.ctx).Do()
	if err != nil || len(list.Callbacks) != 1 || list.Callbacks[0].Method != "POST" || !strings.HasPrefix(list.Callbacks[0].Name, name+"/callback/") {
		t.Errorf("list: %+v, %v", list, err)
	}
	send := func(method, contentType, body string) int {
		req, err := http.NewRequestWithContext(w.ctx, method, url+"?q=1", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("X-Answer", "yes")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, c := range []struct {
		method, contentType, body string
		want                      int
	}{
		{"GET", "text/plain", "", http.StatusMethodNotAllowed},
		{"POST", "application/json", "{", http.StatusBadRequest},
		{"POST", "application/json", `{"n":41,"more":[1.5,1e400]}`, http.StatusOK},
	} {
		if got := send(c.method, c.contentType, c.body); got != c.want {
			t.Errorf("%s %s: got %d, want %d", c.method, c.body, got, c.want)
		}
	}
	got := w.ended(name)
	if want := `{"header":"yes","method":"POST","n":42,"query":"1"}`; got.Result != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if logs := w.Logs(name); len(logs) != 1 || logs[0].Text != url || logs[0].Severity != "NOTICE" {
		t.Errorf("logs %v", logs)
	}
	if got := send("POST", "text/plain", "late"); got != http.StatusNotFound {
		t.Errorf("after the end: got %d, want 404", got)
	}
}

const parent = `
- child:
    call: googleapis.workflowexecutions.v1.projects.locations.workflows.executions.run
    args:
      workflow_id: child
      argument: {n: 1}
    result: r
- done:
    return: ${r}
`

// A workflow starts another through the connector, which finds this server by itself.
func TestChildExecution(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Clock: engine.NewVirtual(epoch)})
	w.deploy(testWorkflow, parent, Deployment{})
	w.deploy(testLocation+"/workflows/child", echo, Deployment{})
	got := w.ended(w.create(nil).Name)
	if got.Result != `{"n":1}` {
		t.Errorf("got %v", got)
	}
	out, err := w.rest.List(testLocation + "/workflows/child").Context(w.ctx).Do()
	if err != nil || len(out.Executions) != 1 {
		t.Errorf("children %+v, %v", out, err)
	}
}
