package proxy

import (
	"bytes"
	"encoding/json"
)

// maxArgument is the limit of the Workflows Executions API for an argument, in bytes.
const maxArgument = 32 << 10

// joinRunID puts the run id into a workflow's argument, the text of a JSON object (R15). No argument is an empty object; any other JSON,
// or another run_id in it, is the caller's mistake. Numbers keep their digits.
func joinRunID(argument, runID string) (string, error) {
	fields := map[string]json.RawMessage{}
	if argument != "" {
		if err := json.Unmarshal([]byte(argument), &fields); err != nil || fields == nil {
			return "", badRequest("bad-argument", "argument must be the text of a JSON object, like \"{\\\"region\\\": \\\"eu\\\"}\", because run_id joins it")
		}
	}
	if given, ok := fields["run_id"]; ok {
		var s string
		if err := json.Unmarshal(given, &s); err != nil || s != runID {
			return "", badRequest("run-id-clash", "argument has a run_id that is not this run's; leave it out, the proxy sets it")
		}
	}
	fields["run_id"] = json.RawMessage(`"` + runID + `"`)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		return "", badRequest("bad-argument", "argument is no JSON that can be written again").because(err)
	}
	joined := string(bytes.TrimRight(b.Bytes(), "\n"))
	if len(joined) > maxArgument {
		return "", badRequest("argument-too-long", "argument has %d bytes with run_id in it, Workflows takes %d; pass a reference instead", len(joined), maxArgument)
	}
	return joined, nil
}

// runIDIn returns the run_id of an argument, "" if it has none. Names are matched exactly, unlike by a struct's tag.
func runIDIn(argument string) string {
	var fields map[string]json.RawMessage
	var id string
	if json.Unmarshal([]byte(argument), &fields) != nil || json.Unmarshal(fields["run_id"], &id) != nil {
		return ""
	}
	return id
}
