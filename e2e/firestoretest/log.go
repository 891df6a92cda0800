package firestoretest

type logFile struct{}

func (l *logFile) append(stamp, []change) (int64, error) { return 0, nil }
func (l *logFile) sync(int64) error                      { return nil }

func (l *logFile) close() error { return nil }

func openStore(cfg Config) (*store, error) { return newStore(cfg), nil }
