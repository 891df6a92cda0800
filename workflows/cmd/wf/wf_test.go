package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wf runs the program in-process.
func wf(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = realMain(t.Context(), args, streams{in: strings.NewReader(stdin), out: &out, err: &err})
	return code, out.String(), err.String()
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const echo = `
main:
  params: [args]
  steps:
    - done:
        return: '${[args, sys.get_env("A"), sys.get_env("B")]}'
`

func TestRun(t *testing.T) {
	t.Parallel()
	echoFile := file(t, "echo.yaml", echo)
	raise := file(t, "raise.yaml", "- go:\n    raise: {code: 7, message: it broke}\n")
	broken := file(t, "broken.yaml", "- go:\n    return: ${nothing}\n- go:\n    next: nowhere\n")
	hour := file(t, "hour.yaml", "- go:\n    call: sys.sleep\n    args: {seconds: 3600}\n")
	argument := file(t, "arg.json", `{"from": "file"}`)
	tests := []struct {
		name   string
		stdin  string
		args   []string
		code   int
		stdout string   // exact
		stderr []string // each must be there
	}{
		{"result", "", []string{"run", echoFile, "-args", `{"n": 1}`, "-env", "A=1", "-env", "B=x=y"}, 0, `[{"n":1},"1","x=y"]` + "\n", nil},
		{"two dashes", "", []string{"run", "--args=[]", echoFile}, 0, "[[],null,null]\n", nil},
		{"argument from a file", "", []string{"run", echoFile, "-args", "@" + argument}, 0, `[{"from":"file"},null,null]` + "\n", nil},
		{"standard input", "- a:\n    return: 1\n", []string{"run", "-"}, 0, "1\n", nil},
		{"unhandled error", "", []string{"run", raise}, 1, "", []string{`"payload":{"code":7,"message":"it broke"}`, `in step \"go\", routine \"main\", line: 2`}},
		{"deploy errors, all of them", "", []string{"run", broken}, 2, "", []string{"broken.yaml:2:", "nothing", "broken.yaml:4:", "nowhere"}},
		{"virtual clock", "", []string{"run", hour, "-clock", "virtual"}, 0, "null\n", nil},
		{"trace", "", []string{"run", hour, "-clock", "virtual", "-trace"}, 0, "null\n", []string{"3600.000s", "main/go:2", "std_lib_call"}},
		{"no file", "", []string{"run", "/nowhere.yaml"}, 3, "", []string{"/nowhere.yaml"}},
		{"no argument", "", []string{"run"}, 3, "", []string{"<file>"}},
		{"argument is no JSON", "", []string{"run", echoFile, "-args", "{"}, 3, "", []string{"-args is no JSON"}},
		{"environment without a name", "", []string{"run", echoFile, "-env", "x"}, 3, "", []string{"K=V"}},
		{"unknown clock", "", []string{"run", echoFile, "-clock", "sun"}, 3, "", []string{"real"}},
		{"unknown flag", "", []string{"run", echoFile, "-nope"}, 3, "", []string{"nope"}},
		{"unknown command", "", []string{"walk"}, 3, "", []string{"walk"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := wf(t, tt.stdin, tt.args...)
			if code != tt.code || stdout != tt.stdout {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and %q", code, stdout, stderr, tt.code, tt.stdout)
			}
			for _, part := range tt.stderr {
				if !strings.Contains(stderr, part) {
					t.Errorf("stderr %q has no %q", stderr, part)
				}
			}
		})
	}
}

func TestErrorIsJSON(t *testing.T) {
	t.Parallel()
	_, _, stderr := wf(t, "- go:\n    raise: boom\n", "run", "-")
	var report struct{ Payload, Context string }
	if err := json.Unmarshal([]byte(stderr), &report); err != nil || report.Payload != "boom" {
		t.Errorf("stderr is %q: %v", stderr, err)
	}
}

func TestStubs(t *testing.T) {
	t.Parallel()
	workflow := `
- translate:
    call: googleapis.translate.v2.translations.translate
    args: {body: {q: hello}}
    result: first
- again:
    try:
      call: googleapis.translate.v2.translations.translate
      args: {body: {q: hello}}
    except:
      as: e
      steps:
        - keep:
            assign: [{unused: 1}]
        - go_on:
            next: publish
- publish:
    call: googleapis.pubsub.v1.projects.topics.publish
    args: {topic: t, body: {messages: [{data: a}]}}
    result: published
- secret:
    call: googleapis.secretmanager.v1.projects.secrets.versions.accessString
    args: {secret_id: s, project_id: p}
    result: secret
- fetch:
    try:
      call: http.get
      args: {url: "https://shop.example/items?x=1"}
      result: items
    retry: ${http.default_retry}
- done:
    return: '${[first, published.messageIds, secret, items.body]}'
`
	stubs := file(t, "stubs.yaml", `
connectors:
  - call: googleapis.translate.v2.translations.translate
    args: {body: {q: hello}}
    result: {text: bonjour}
    times: 1
  - call: googleapis.translate.v2.translations.translate
    error: {code: 404, status: NOT_FOUND, message: no more}
secrets:
  projects/p/secrets/s/versions/latest: hush
http:
  - url: https://shop.example/items
    code: 503
    times: 1
  - method: GET
    url: https://shop.example/items
    body: [1, 2]
`)
	code, stdout, stderr := wf(t, workflow, "run", "-", "-stubs", stubs, "-clock", "virtual")
	if want := `[{"text":"bonjour"},["1"],"hush",[1,2]]` + "\n"; code != 0 || stdout != want {
		t.Errorf("exit %d, stdout %q, stderr %q, want %q", code, stdout, stderr, want)
	}
	code, _, stderr = wf(t, workflow, "run", "-")
	if code != 1 || !strings.Contains(stderr, "googleapis.translate.v2.translations.translate is not known") {
		t.Errorf("without stubs: exit %d, stderr %q, want an error that names the connector", code, stderr)
	}
	code, _, stderr = wf(t, workflow, "run", "-", "-stubs", file(t, "bad.yaml", "connectors: 7\n"))
	if code != 3 || !strings.Contains(stderr, "bad.yaml") {
		t.Errorf("broken stub file: exit %d, stderr %q", code, stderr)
	}
}
