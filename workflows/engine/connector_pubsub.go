package engine

import "strconv"

// pubsubStubs record messages. Publishing has no token: every call makes new messages.
var pubsubStubs = map[string]stub{
	"googleapis.pubsub.v1.projects.topics.publish": func(s *Stubs, c ConnectorCall) (any, error) {
		if _, err := argText(c, "topic"); err != nil {
			return nil, err
		}
		messages, _ := argMap(c, "body")["messages"].([]any)
		if len(messages) == 0 {
			return nil, APIError(400, "INVALID_ARGUMENT", "missing body.messages")
		}
		ids := make([]any, len(messages))
		for i := range ids {
			ids[i] = strconv.FormatInt(s.nextID(), 10)
		}
		return map[string]any{"messageIds": ids}, nil
	},
}
