package proxy

import (
	"encoding/json"
	"strings"

	"example.com/runonce/tokens"
)

// push is the body of a Pub/Sub push request. Both spellings of the id are sent.
type push struct {
	Message struct {
		Data       []byte            `json:"data"`
		MessageID  string            `json:"messageId"`
		SnakeID    string            `json:"message_id"`
		Attributes map[string]string `json:"attributes"`
	} `json:"message"`
	Subscription string `json:"subscription"`
}

func pubsubPresent(r request) bool {
	var p push
	return json.Unmarshal(r.body, &p) == nil && p.Subscription != "" && (p.Message.MessageID != "" || p.Message.SnakeID != "")
}

// readPubSub reads a push of Pub/Sub: the run is the subscription and the message. A message that was published twice has two ids, and is
// two runs: that is the publisher's to prevent. The message's data becomes the argument.
func readPubSub(_ Config, r request) (delivery, error) {
	var p push
	if err := json.Unmarshal(r.body, &p); err != nil {
		return delivery{}, badRequest("bad-body", "the body is no Pub/Sub push: want {\"message\": {\"data\", \"messageId\"}, \"subscription\"}; an unwrapped push is not taken").because(err)
	}
	or(&p.Message.MessageID, p.Message.SnakeID)
	if p.Message.MessageID == "" || !strings.HasPrefix(p.Subscription, "projects/") {
		return delivery{}, badRequest("bad-body", "the push has no messageId or no subscription, so it names no run")
	}
	if p.Message.SnakeID != "" && p.Message.SnakeID != p.Message.MessageID {
		return delivery{}, badRequest("bad-body", "the push has two message ids that differ")
	}
	id, err := keyed(r, tokens.PubSub, p.Subscription, p.Message.MessageID)
	return delivery{source: sourcePubSub, runID: id, name: p.Message.MessageID, body: p.Message.Data, event: true, strict: true}, err
}
