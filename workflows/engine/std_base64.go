package engine

import "encoding/base64"

var stdBase64 = []function{
	std("base64.decode", func(c *call) (any, error) {
		data, err := c.str(0)
		if err != nil {
			return nil, err
		}
		encoding, err := base64Encoding(c)
		if err != nil {
			return nil, err
		}
		raw, err := encoding.DecodeString(data)
		if err != nil {
			return nil, faultf(ValueError, "base64.decode: %v", err)
		}
		return raw, nil
	}),
	std("base64.encode", func(c *call) (any, error) {
		data, err := c.bytes(0)
		if err != nil {
			return nil, err
		}
		encoding, err := base64Encoding(c)
		if err != nil {
			return nil, err
		}
		return encoding.EncodeToString(data), nil
	}),
}

func base64Encoding(c *call) (*base64.Encoding, error) {
	padding, err := c.boolOr(1, true)
	if padding {
		return base64.StdEncoding, err
	}
	return base64.RawStdEncoding, err
}
