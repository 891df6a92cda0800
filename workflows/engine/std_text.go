package engine

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

var stdText = []function{
	std("text.decode", textDecode),
	std("text.encode", textEncode),
	std("text.find_all", textFindAll),
	std("text.find_all_regex", textFindAllRegex),
	std("text.match_regex", func(c *call) (any, error) {
		return withPattern(c, func(source string, re *regexp.Regexp) any { return re.MatchString(source) })
	}),
	std("text.replace_all", textReplaceAll),
	std("text.replace_all_regex", func(c *call) (any, error) {
		repl, err := c.str(2)
		if err != nil {
			return nil, err
		}
		return withPattern(c, func(source string, re *regexp.Regexp) any { return re.ReplaceAllLiteralString(source, repl) })
	}),
	std("text.split", textSplit),
	std("text.substring", textSubstring),
	std("text.to_lower", mapText(strings.ToLower)),
	std("text.to_upper", mapText(strings.ToUpper)),
	std("text.url_decode", func(c *call) (any, error) {
		s, err := c.str(0)
		if err != nil {
			return nil, err
		}
		decoded, err := url.QueryUnescape(s)
		if err != nil {
			return nil, faultf(ValueError, "text.url_decode: %v", err)
		}
		return decoded, nil
	}),
	std("text.url_encode", mapText(func(s string) string {
		return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	})),
	std("text.url_encode_plus", mapText(url.QueryEscape)),
}

func mapText(f func(string) string) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		s, err := c.str(0)
		return f(s), err
	}
}

func withPattern(c *call, f func(source string, re *regexp.Regexp) any) (any, error) {
	source, err := c.str(0)
	if err != nil {
		return nil, err
	}
	pattern, err := c.str(1)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, faultf(ValueError, "%s: %v", c.fn.name, err)
	}
	return f(source, re), nil
}

// textFindAll returns where the substring begins, counted in characters, without overlaps.
func textFindAll(c *call) (any, error) {
	source, err := c.str(0)
	if err != nil {
		return nil, err
	}
	substr, err := c.str(1)
	if err != nil {
		return nil, err
	}
	found := []any{}
	if substr == "" {
		return found, nil
	}
	var at int64
	for {
		i := strings.Index(source, substr)
		if i < 0 {
			return found, nil
		}
		at += int64(utf8.RuneCountInString(source[:i]))
		found = append(found, at)
		at += int64(utf8.RuneCountInString(substr))
		source = source[i+len(substr):]
	}
}

// textFindAllRegex returns the leftmost and, of those, the longest matches.
func textFindAllRegex(c *call) (any, error) {
	return withPattern(c, func(source string, re *regexp.Regexp) any {
		re.Longest()
		found := []any{}
		for _, m := range re.FindAllStringIndex(source, -1) {
			index := int64(utf8.RuneCountInString(source[:m[0]]))
			found = append(found, map[string]any{"index": index, "match": source[m[0]:m[1]]})
		}
		return found
	})
}

func textReplaceAll(c *call) (any, error) {
	var s [3]string
	for i := range s {
		var err error
		if s[i], err = c.str(i); err != nil {
			return nil, err
		}
	}
	return strings.ReplaceAll(s[0], s[1], s[2]), nil
}

func textSplit(c *call) (any, error) {
	source, err := c.str(0)
	if err != nil {
		return nil, err
	}
	separator, err := c.str(1)
	if err != nil {
		return nil, err
	}
	return stringsToList(strings.Split(source, separator)), nil
}

// textSubstring takes characters from start up to, not including, end.
func textSubstring(c *call) (any, error) {
	source, err := c.str(0)
	if err != nil {
		return nil, err
	}
	start, err := c.integer(1)
	if err != nil {
		return nil, err
	}
	end, err := c.integer(2)
	if err != nil {
		return nil, err
	}
	characters := []rune(source)
	if start < 0 || end < start || end > int64(len(characters)) {
		return nil, faultf(IndexError, "text.substring: [%d, %d) is outside a text of %d characters", start, end, len(characters))
	}
	return string(characters[start:end]), nil
}
