package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"example.com/runonce/functions/guard"
)

// storeCall is one call. Each write has a name of its own, which lies in the record, so that a version can be told by
// the write that made it.
type storeCall struct {
	token, method, write, old string
}

// storeAnswer is what came back: the name of the write that was found, or a refusal.
type storeAnswer struct {
	found   string
	refused bool
	open    bool
}

// CheckStore runs concurrent clients that create, read and update a few records, and judges the history.
func CheckStore(t testing.TB, store guard.Store, cfg Config) {
	t.Helper()
	cfg = cfg.filled()
	var now atomic.Int64
	var wg sync.WaitGroup
	clients := make([]*client, cfg.Clients)
	for i := range clients {
		c := cfg.client(i, &now, store)
		clients[i] = c
		wg.Go(func() {
			for step := range cfg.Steps {
				c.use(t.Context(), cfg.Tokens, step)
			}
		})
	}
	wg.Wait()
	judge(t, cfg, storeModel, clients)
}

// known is a version that a client has seen, and the write that made it.
type known struct {
	version guard.Version
	write   string
}

// use makes one call that the client's seed chooses, on what the client last saw.
func (c *client) use(ctx context.Context, tokens, step int) {
	token := fmt.Sprint("token ", c.rand.IntN(tokens))
	last := c.last[token]
	in := storeCall{token: token, write: fmt.Sprintf("w%d.%d", c.id, step)}
	rec := guard.Record{Token: token, Status: guard.InProgress, AttemptID: in.write, Seq: int64(step)}
	at := c.now.Add(1)
	switch n := c.rand.IntN(10); {
	case n < 1:
		in.method = "create"
		v, err := c.store.Create(ctx, rec)
		c.wrote(in, at, v, err)
	case n < 6 && last.version != "":
		in.method, in.old = "update", last.write
		v, err := c.store.Update(ctx, last.version, rec)
		c.wrote(in, at, v, err)
	default:
		in.method, in.write = "get", ""
		snap, err := c.store.Get(ctx, token)
		if err != nil && !errors.Is(err, guard.ErrNotFound) {
			return // a read that was not answered says nothing
		}
		c.note(in, at, storeAnswer{found: snap.Record.AttemptID}, false)
		c.last[token] = known{snap.Version, snap.Record.AttemptID}
	}
}

func (c *client) wrote(in storeCall, at int64, v guard.Version, err error) {
	refused := errors.Is(err, guard.ErrExists) || errors.Is(err, guard.ErrConflict)
	open := err != nil && !refused
	c.note(in, at, storeAnswer{refused: refused, open: open}, open)
	if err == nil {
		c.last[in.token] = known{v, in.write}
	}
}

// storeModel is the contract of guard.Store in a few lines: the state is the name of the last write.
var storeModel = porcupine.Model{
	Partition: byToken(func(in any) string { return in.(storeCall).token }),
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.(string), input.(storeCall), output.(storeAnswer)
		if in.method == "get" {
			return out.found == now, now
		}
		can := now == in.old // a create wants nothing there, which is the empty name
		switch {
		case can && !out.refused:
			return true, in.write
		case can:
			return false, now
		}
		return out.refused || out.open, now
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// byToken splits a history: records of different tokens know nothing of one another.
func byToken(token func(input any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, op := range history {
			parts[token(op.Input)] = append(parts[token(op.Input)], op)
		}
		var list [][]porcupine.Operation
		for _, p := range parts {
			list = append(list, p)
		}
		return list
	}
}
