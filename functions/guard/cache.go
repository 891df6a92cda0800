package guard

import (
	"container/list"
	"context"
	"sync"
	"time"
)

const (
	cacheAge  = time.Minute // after which another process's Settle is seen here too
	cacheBody = 64 << 10    // larger outcomes are not kept in memory
)

// cache keeps the last finished records, so that a duplicate need not ask the store. Only what can no longer change is in it.
type cache struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *cached, the last used first
	items map[string]*list.Element
}

type cached struct {
	rec   Record
	until time.Time
}

func newCache(size int) *cache {
	return &cache{size: size, order: list.New(), items: map[string]*list.Element{}}
}

func (c *cache) put(r Record, now time.Time) {
	if c.size == 0 || (r.Status != Completed && r.Status != Failed) || (r.Outcome != nil && len(r.Outcome.Body) > cacheBody) {
		return
	}
	until := now.Add(cacheAge)
	if !r.ExpireAt.IsZero() && r.ExpireAt.Before(until) {
		until = r.ExpireAt
	}
	r.Attempts, r.Input = nil, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(r.Token)
	c.items[r.Token] = c.order.PushFront(&cached{r, until})
	if c.order.Len() > c.size {
		c.drop(c.order.Back().Value.(*cached).rec.Token)
	}
}

func (c *cache) get(token string, now time.Time) (Record, bool) {
	if c.size == 0 {
		return Record{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[token]
	if !ok {
		return Record{}, false
	}
	item := e.Value.(*cached)
	if !now.Before(item.until) {
		c.drop(token)
		return Record{}, false
	}
	c.order.MoveToFront(e)
	return item.rec, true
}

func (c *cache) forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(token)
}

func (c *cache) drop(token string) {
	if e, ok := c.items[token]; ok {
		c.order.Remove(e)
		delete(c.items, token)
	}
}

// cached answers from memory what the store would answer, by the same decision (B10).
func (g *Guard) cached(ctx context.Context, r Request) (ending, error, bool) {
	rec, ok := g.cache.get(r.Token, g.cfg.Clock.Now())
	if !ok {
		return ending{}, nil, false
	}
	s := Snapshot{Record: rec}
	v, _ := decide(s, "", r.Fingerprint, g.cfg.Lease)
	end, err := g.refuse(ctx, v, s)
	return end, err, true
}
