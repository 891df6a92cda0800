package engine

var stdList = []function{
	std("list.concat", func(c *call) (any, error) {
		l, err := c.list(0)
		if err != nil {
			return nil, err
		}
		out := make([]any, 0, len(l)+1)
		return append(append(out, l...), c.args[1]), nil
	}),
	std("list.prepend", func(c *call) (any, error) {
		l, err := c.list(0)
		if err != nil {
			return nil, err
		}
		out := make([]any, 0, len(l)+1)
		return append(append(out, c.args[1]), l...), nil
	}),
}
