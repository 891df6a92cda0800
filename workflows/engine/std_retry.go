package engine

var stdRetry = []function{
	std("retry.always", "exception", func(*call) (any, error) { return true, nil }),
	std("retry.never", "exception", func(*call) (any, error) { return false, nil }),
}
