package engine

var stdRetry = []function{
	std("retry.always", func(*call) (any, error) { return true, nil }),
	std("retry.never", func(*call) (any, error) { return false, nil }),
}
