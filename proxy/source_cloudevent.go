package proxy

import (
	"encoding/json"
	"mime"
	"strings"

	"example.com/runonce/tokens"
)

func cloudEventPresent(r request) bool {
	return len(r.header.Values("Ce-Id")) > 0 || len(r.header.Values("Ce-Source")) > 0 || strings.HasPrefix(mediaType(r), "application/cloudevents")
}

// readCloudEvent reads an event of Eventarc or any other sender of CloudEvents 1.0, in binary or structured mode: the run is its source and
// its id, which together name an event. The data becomes the argument.
func readCloudEvent(_ Config, r request) (delivery, error) {
	e := event{}
	switch mediaType(r) {
	case "application/cloudevents+json":
		if err := json.Unmarshal(r.body, &e); err != nil {
			return delivery{}, badRequest("bad-body", "the body is no structured CloudEvent").because(err)
		}
		if e.DataBase64 != nil {
			e.Data = e.DataBase64
		}
	case "application/cloudevents-batch+json":
		return delivery{}, badRequest("bad-body", "a batch of events is not taken; send them one by one")
	default:
		var err error
		if e.ID, err = oneHeader(r.header, "Ce-Id"); err != nil {
			return delivery{}, err
		}
		if e.Source, err = oneHeader(r.header, "Ce-Source"); err != nil {
			return delivery{}, err
		}
		e.Data = r.body
	}
	if e.ID == "" || e.Source == "" {
		return delivery{}, badRequest("bad-body", "the event has no id or no source, so it names no run")
	}
	id, err := keyed(r, tokens.CloudEvent, e.Source, e.ID)
	return delivery{source: sourceCloudEvent, runID: id, name: e.ID, body: e.Data, event: true, strict: true}, err
}

// event is a structured CloudEvent, as far as it matters here.
type event struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	Data       json.RawMessage `json:"data"`
	DataBase64 []byte          `json:"data_base64"`
}

func mediaType(r request) string {
	t, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
