package firestoretest

import (
	"cmp"
	"time"

	"example.com/runonce/e2e/fault"
)

// Mode is the concurrency mode of the database: what happens when read-write transactions meet. Both are serializable.
type Mode int

const (
	// Pessimistic is the default of the standard edition: reads of a read-write transaction lock, and a writer in their way waits or aborts.
	Pessimistic Mode = iota
	// Optimistic is the default of the enterprise edition: nothing waits, the first commit wins and the transactions that it outdated abort.
	Optimistic
)

// TTL is a time-to-live policy: documents of the collection group expire at the timestamp in Field.
type TTL struct {
	Group string // collection id
	Field string // field path of a timestamp
}

// Config sets up a Server. The zero value is a pessimistic database in memory, on the wall clock and a free port of 127.0.0.1.
type Config struct {
	// Addr is where to listen, host:port. Default 127.0.0.1:0.
	Addr string
	// Clock is the server's time. Default: the wall clock. Server.Advance adds to either.
	Clock Clock
	// Mode is the concurrency mode of transactions that do not ask for one themselves.
	Mode Mode
	// Faults fails calls and logs all of them. Default: a plan without rules, see Server.Faults.
	Faults *fault.Plan
	// LockWait is how long, in real time, a pessimistic call waits for a lock before it is aborted. Default 2 s.
	LockWait time.Duration
	// TransactionIdle and TransactionLife end a transaction, on the server's clock. Defaults 60 s and 270 s.
	TransactionIdle, TransactionLife time.Duration
	// Retention is how far back read_time may reach, on the server's clock. Default 1 h.
	Retention time.Duration
	// Versions is how many versions of one document are kept for such reads at most. Default 100.
	Versions int
	// TTL are the time-to-live policies. Default none.
	TTL []TTL
	// TTLDelay is how long after its expiry a document is deleted, on the server's clock. Default 24 h.
	TTLDelay time.Duration
	// Dir keeps the documents in this folder: every commit is on disk before it is answered, and a new server on the same folder
	// starts with them, whatever killed the old one. One server at a time; older versions do not come back. Default: memory only.
	Dir string
}

func (c Config) withDefaults() Config {
	c.Addr = cmp.Or(c.Addr, "127.0.0.1:0")
	if c.Clock == nil {
		c.Clock = wallClock{}
	}
	if c.Faults == nil {
		c.Faults = &fault.Plan{}
	}
	c.LockWait = cmp.Or(c.LockWait, 2*time.Second)
	c.TransactionIdle = cmp.Or(c.TransactionIdle, 60*time.Second)
	c.TransactionLife = cmp.Or(c.TransactionLife, 270*time.Second)
	c.Retention = cmp.Or(c.Retention, time.Hour)
	c.Versions = cmp.Or(c.Versions, 100)
	c.TTLDelay = cmp.Or(c.TTLDelay, 24*time.Hour)
	return c
}
