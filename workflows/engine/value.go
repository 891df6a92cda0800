package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// A value of the language is nil, bool, int64, float64, string, []byte, []any, map[string]any, or a *function (a function
// by name). Values are never changed once made: assignment to a member makes a new container on the path (setPath), so
// a copy, which is what assignment promises, costs nothing and goroutines may share.

// typeName is the word that get_type returns.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "double"
	case string:
		return "string"
	case []byte:
		return "bytes"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	case *function:
		return "function"
	}
	return fmt.Sprintf("%T", v)
}

// sizeOf is the documented memory formula: 8 bytes for a number or boolean; 8 and the elements for strings, bytes and
// lists; 8 and the keys and values for maps. Null, which the formula omits, counts as 8.
func sizeOf(v any) int64 {
	switch v := v.(type) {
	case string:
		return 8 + int64(len(v))
	case []byte:
		return 8 + int64(len(v))
	case []any:
		n := int64(8)
		for _, e := range v {
			n += sizeOf(e)
		}
		return n
	case map[string]any:
		n := int64(8)
		for k, e := range v {
			n += 8 + int64(len(k)) + sizeOf(e)
		}
		return n
	}
	return 8
}

// decodeJSON reads one JSON text. A number without fraction and exponent that fits is an int64, every other a float64.
func decodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return numbers(v), nil
}

// numbers replaces json.Number in a freshly decoded value, in place.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// encodeJSON writes a value as JSON, keys sorted, without HTML escapes. Bytes and functions have no JSON.
func encodeJSON(v any) ([]byte, error) {
	if err := encodable(v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, faultf(TypeError, "%v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func encodable(v any) error {
	switch v := v.(type) {
	case []byte, *function:
		return faultf(TypeError, "cannot encode %s as JSON", typeName(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return faultf(ValueError, "cannot encode %v as JSON", v)
		}
	case []any:
		for _, e := range v {
			if err := encodable(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := encodable(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func jsonText(v any) string {
	b, err := encodeJSON(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// sortedKeys returns a map's keys in the order in which loops and keys() see them.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// formatNumber writes a number as string() does.
func formatNumber(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if e := strings.IndexByte(s, 'e'); e < 0 {
			return s
		}
		if math.Abs(v) < 1e21 && math.Abs(v) >= 1e-6 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return s
	}
	return ""
}

// asFloat takes an integer or double.
func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
