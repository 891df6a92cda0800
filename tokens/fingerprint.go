package tokens

// Fingerprint returns the SHA-256, in hex, of the parts: what was asked under a token, so that another payload under the
// same token is noticed. The parts are kept apart, so ("ab", "c") and ("a", "bc") differ, and none is not one empty part.
// Give a JSON body through CanonicalJSON first, where another order of keys is not another payload.
func Fingerprint(parts ...[]byte) string {
	s := make([]string, 0, len(parts)+1)
	s = append(s, "runonce-fingerprint-v1")
	for _, p := range parts {
		s = append(s, string(p))
	}
	return hexSum(netstrings(s...))
}

// FingerprintJSON returns the Fingerprint of the canonical form of a JSON text. A body that is no JSON (see CanonicalJSON)
// is an error.
func FingerprintJSON(body []byte) (string, error) {
	c, err := CanonicalJSON(body)
	if err != nil {
		return "", err
	}
	return Fingerprint(c), nil
}
