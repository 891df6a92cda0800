package engine

import (
	"bytes"
	"encoding/json"
)

var stdJSON = []function{
	std("json.decode", func(c *call) (any, error) {
		raw, ok := c.args[0].([]byte)
		if text, isText := c.args[0].(string); isText {
			raw, ok = []byte(text), true
		}
		if !ok {
			return nil, c.wrong(0, "bytes or a string")
		}
		v, err := decodeJSON(raw)
		if err != nil {
			return nil, faultf(ValueError, "json.decode: %v", err)
		}
		return v, nil
	}),
	std("json.encode", func(c *call) (any, error) {
		b, err := encodeIndented(c)
		if err != nil {
			return nil, err
		}
		return b, nil
	}),
	std("json.encode_to_string", func(c *call) (any, error) {
		b, err := encodeIndented(c)
		return string(b), err
	}),
}

// encodeIndented reads indent: false or null for one line, true for two spaces, or a map of prefix and indent.
func encodeIndented(c *call) ([]byte, error) {
	b, err := encodeJSON(c.args[0])
	if err != nil {
		return nil, err
	}
	prefix, indent := "", "  "
	switch v := c.args[1].(type) {
	case nil:
		return b, nil
	case bool:
		if !v {
			return b, nil
		}
	case map[string]any:
		if s, ok := v["prefix"].(string); ok {
			prefix = s
		}
		if s, ok := v["indent"].(string); ok {
			indent = s
		}
	default:
		return nil, c.wrong(1, "a boolean or a map")
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, prefix, indent); err != nil {
		return nil, faultf(ValueError, "%s: %v", c.fn.name, err)
	}
	return out.Bytes(), nil
}
