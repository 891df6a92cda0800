package engine

// setPath returns a copy of root in which the member at path (map keys and list indexes) is value, and by how much its
// size grew. Containers off the path are shared with root, which stays as it was. With create, a missing map on the way
// is made.
func setPath(root any, path []any, value any, create bool) (any, int64, error) {
	if len(path) == 0 {
		return value, sizeOf(value) - sizeOf(root), nil
	}
	switch c := root.(type) {
	case map[string]any:
		return setKey(c, path, value, create)
	case []any:
		return setIndex(c, path, value, create)
	}
	return nil, 0, faultf(TypeError, "cannot assign to a member of type %s", typeName(root))
}

func setKey(m map[string]any, path []any, value any, create bool) (any, int64, error) {
	key, ok := path[0].(string)
	if !ok {
		return nil, 0, faultf(TypeError, "map key must be a string, not %s", typeName(path[0]))
	}
	old, exists := m[key]
	var member any
	var grown int64
	var err error
	switch {
	case len(path) == 1:
		member, grown = value, sizeOf(value)
		if exists {
			grown -= sizeOf(old)
		}
	case exists:
		member, grown, err = setPath(old, path[1:], value, create)
	case create:
		empty := map[string]any{}
		member, grown, err = setPath(empty, path[1:], value, create)
		grown += sizeOf(empty)
	default:
		return nil, 0, faultf(KeyError, "key not found: %s", key)
	}
	if err != nil {
		return nil, 0, err
	}
	if !exists {
		grown += sizeOf(key)
	}
	copied := make(map[string]any, len(m)+1)
	for k, v := range m {
		copied[k] = v
	}
	copied[key] = member
	return copied, grown, nil
}

func setIndex(l []any, path []any, value any, create bool) (any, int64, error) {
	index, ok := path[0].(int64)
	if !ok {
		return nil, 0, faultf(TypeError, "list index must be an integer, not %s", typeName(path[0]))
	}
	if index < 0 || index >= int64(len(l)) {
		return nil, 0, faultf(IndexError, "list index out of range: %d", index)
	}
	member, grown, err := setPath(l[index], path[1:], value, create)
	if err != nil {
		return nil, 0, err
	}
	copied := make([]any, len(l))
	copy(copied, l)
	copied[index] = member
	return copied, grown, nil
}
