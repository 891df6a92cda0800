package engine

var stdUUID = []function{
	std("uuid.generate", func(c *call) (any, error) { return c.f.x.cfg.NewUUID(), nil }),
}
