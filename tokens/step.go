package tokens

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxLen is the longest token, in bytes. It is what FromHeader and Step keep to.
const MaxLen = 255

var stepPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Step returns the token of one state-changing operation of a run: "run_id/step", or "run_id/step/key" where the step is
// done for several items, a key for each. The parent may be any token; of one that has a slash already, because it names a
// step itself, the token is "run_id/step//call".
//
// No two (parent, name, keys) give one token, and every process that knows them gives the same. A name is a word of your
// own, 1 to 64 of letters, digits, "_", "." and "-", so it never depends on what Go calls a function. A key is data: what is
// not a letter, a digit or one of "-._~" is written %XX as RFC 3986 has it, which is text.url_encode in a workflow. An
// empty name or key is an error: it is an item without an id, and two of those would be taken for one.
//
// A token longer than MaxLen is cut down by hashing: "run_id/step/*" and 52 characters for long keys, "run_id/*…" where
// that is too long as well. A star occurs in no name and in no written key.
func Step(runID, name string, key ...string) (string, error) {
	if err := Check(runID); err != nil {
		return "", err
	}
	if !stepPattern.MatchString(name) {
		return "", fmt.Errorf("step name %s: want 1 to 64 letters, digits, '_', '.' or '-', not starting with '.' or '-'", quote(name))
	}
	slash := "/"
	if strings.Contains(runID, "/") {
		slash = "//"
	}
	var b strings.Builder
	b.WriteString(runID + slash + name)
	for i, k := range key {
		if k == "" {
			return "", fmt.Errorf("step %s: key %d is empty", name, i+1)
		}
		b.WriteByte('/')
		escape(&b, k)
	}
	if b.Len() <= MaxLen {
		return b.String(), nil
	}
	sum := digest(string(netstrings(append([]string{"runonce-step-v1", runID, name}, key...)...)))
	if short := runID + slash + name + "/*" + sum; len(short) <= MaxLen {
		return short, nil
	}
	return head(runID) + "/*" + sum, nil
}

// head is what stays readable of a parent that is too long: its run, if that is of the usual length.
func head(parent string) string {
	if run := Run(parent); len(run) <= 64 {
		return run
	}
	return "*"
}

// Run returns the root of a token: what stands before the first slash.
func Run(token string) string {
	run, _, _ := strings.Cut(token, "/")
	return run
}

// Check returns an error unless token can be one: 1 to MaxLen visible ASCII characters, no space among them.
func Check(token string) error {
	if token == "" {
		return ErrNoToken
	}
	if len(token) > MaxLen {
		return fmt.Errorf("token %s: %d characters, at most %d", quote(token), len(token), MaxLen)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return fmt.Errorf("token %s: character %d is not visible ASCII", quote(token), i+1)
		}
	}
	return nil
}

const upperHex = "0123456789ABCDEF"

func escape(b *strings.Builder, s string) {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
}
