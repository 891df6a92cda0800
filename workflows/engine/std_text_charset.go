package engine

import (
	"strings"
	"unicode/utf8"
)

func textEncode(c *call) (any, error) {
	text, err := c.str(0)
	if err != nil {
		return nil, err
	}
	top, err := charset(c)
	if err != nil {
		return nil, err
	}
	if top == utf8.MaxRune {
		return []byte(text), nil
	}
	var out []byte
	for _, r := range text {
		if r > top {
			return nil, faultf(ValueError, "text.encode: the charset has no %q", r)
		}
		out = append(out, byte(r))
	}
	return out, nil
}

func textDecode(c *call) (any, error) {
	data, err := c.bytes(0)
	if err != nil {
		return nil, err
	}
	top, err := charset(c)
	if err != nil {
		return nil, err
	}
	if top == utf8.MaxRune {
		if !utf8.Valid(data) {
			return nil, faultf(ValueError, "text.decode: data is not UTF-8")
		}
		return string(data), nil
	}
	var out strings.Builder
	for _, b := range data {
		if rune(b) > top {
			return nil, faultf(ValueError, "text.decode: the charset has no byte %#x", b)
		}
		out.WriteRune(rune(b))
	}
	return out.String(), nil
}

// charset returns the last character of the charset that argument 1 names; utf8.MaxRune means UTF-8.
func charset(c *call) (rune, error) {
	name, err := c.strOr(1, "UTF-8")
	if err != nil {
		return 0, err
	}
	switch strings.ToUpper(strings.ReplaceAll(name, "_", "-")) {
	case "UTF-8", "UTF8":
		return utf8.MaxRune, nil
	case "US-ASCII", "ASCII":
		return 0x7f, nil
	case "ISO-8859-1", "LATIN1", "LATIN-1":
		return 0xff, nil
	}
	return 0, faultf(ValueError, "%s: charset %q is not supported by this engine (UTF-8, US-ASCII and ISO-8859-1 are)", c.fn.name, name)
}
