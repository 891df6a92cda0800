package workflowstest

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"
)

// page is which part of a list is asked for.
type page struct {
	size, skip int
	bound      string // hash of the request's other fields
}

// pageOf reads page_size and page_token. fallback is the size where none is asked for, limit the one that larger sizes become.
// fields are the other fields of the request, which a token is bound to.
func pageOf(size int32, token string, fallback, limit int, fields ...string) (page, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(fields, "\x00")))
	p := page{size: int(size), bound: fmt.Sprintf("%08x", h.Sum32())}
	switch {
	case size < 0:
		return p, invalid("page_size", "%d is negative", size)
	case size == 0:
		p.size = fallback
	}
	p.size = min(p.size, limit)
	if token == "" {
		return p, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return p, invalid("page_token", "%q is not a token of this server", token)
	}
	var bound string
	if n, _ := fmt.Sscanf(string(text), "%d %s", &p.skip, &bound); n != 2 || p.skip < 0 {
		return p, invalid("page_token", "%q is not a token of this server", token)
	}
	if bound != p.bound {
		return p, invalid("page_token", "the token belongs to a request with other parameters")
	}
	return p, nil
}

// cut returns the page of all, and the token of the next one, or "".
func cut[T any](p page, all []T) (part []T, next string) {
	from := min(p.skip, len(all))
	to := min(from+p.size, len(all))
	if to < len(all) {
		next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", to, p.bound))
	}
	return all[from:to], next
}
