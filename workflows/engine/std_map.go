package engine

import "maps"

var stdMap = []function{
	std("map.get", mapGet),
	std("map.delete", func(c *call) (any, error) {
		m, err := c.mapping(0)
		if err != nil {
			return nil, err
		}
		key, err := c.str(1)
		if err != nil {
			return nil, err
		}
		if _, ok := m[key]; !ok {
			return nil, faultf(KeyError, "key not found: %s", key)
		}
		out := maps.Clone(m)
		delete(out, key)
		return out, nil
	}),
	std("map.merge", func(c *call) (any, error) { return mergeCall(c, false) }),
	std("map.merge_nested", func(c *call) (any, error) { return mergeCall(c, true) }),
}

// mapGet follows a key or a list of keys, and answers null as soon as one is missing or what holds it is no map.
func mapGet(c *call) (any, error) {
	keys, ok := c.args[1].([]any)
	if key, isString := c.args[1].(string); isString {
		keys, ok = []any{key}, true
	}
	if !ok {
		return nil, c.wrong(1, "a string or a list of strings")
	}
	value := c.args[0]
	for _, k := range keys {
		key, ok := k.(string)
		if !ok {
			return nil, c.wrong(1, "a string or a list of strings")
		}
		m, ok := value.(map[string]any)
		if !ok {
			return nil, nil
		}
		value = m[key]
	}
	return value, nil
}

func mergeCall(c *call, nested bool) (any, error) {
	first, err := c.mapping(0)
	if err != nil {
		return nil, err
	}
	second, err := c.mapping(1)
	if err != nil {
		return nil, err
	}
	return merge(first, second, nested), nil
}

// merge returns first overlaid with second; nested, maps under the same key are merged likewise.
func merge(first, second map[string]any, nested bool) map[string]any {
	out := maps.Clone(first)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range second {
		inner, ok := v.(map[string]any)
		outer, both := out[k].(map[string]any)
		if nested && ok && both {
			out[k] = merge(outer, inner, true)
			continue
		}
		out[k] = v
	}
	return out
}
