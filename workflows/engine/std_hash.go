package engine

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"strings"
)

var stdHash = []function{
	std("hash.compute_checksum", func(c *call) (any, error) {
		data, err := c.bytes(0)
		if err != nil {
			return nil, err
		}
		make, err := algorithm(c, 1)
		if err != nil {
			return nil, err
		}
		h := make()
		h.Write(data)
		return h.Sum(nil), nil
	}),
	std("hash.compute_hmac", func(c *call) (any, error) {
		key, err := c.bytes(0)
		if err != nil {
			return nil, err
		}
		data, err := c.bytes(1)
		if err != nil {
			return nil, err
		}
		make, err := algorithm(c, 2)
		if err != nil {
			return nil, err
		}
		h := hmac.New(make, key)
		h.Write(data)
		return h.Sum(nil), nil
	}),
}

var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// algorithm reads a name in any case, with or without a hyphen.
func algorithm(c *call, i int) (func() hash.Hash, error) {
	name, err := c.str(i)
	if err != nil {
		return nil, err
	}
	make := algorithms[strings.ReplaceAll(strings.ToLower(name), "-", "")]
	if make == nil {
		return nil, faultf(ValueError, "%s: unknown algorithm %q", c.fn.name, name)
	}
	return make, nil
}
