package guard

import (
	"container/list"
	"sync"
)

// cache remembers finished records of this process, the last used ones. It holds completed and failed ones only: they never
// change, so what it answers is what the store would. A nil cache holds nothing.
type cache struct {
	size int

	mu    sync.Mutex
	order *list.List // of Record, the last used first
	byTok map[string]*list.Element
}

func newCache(size int) *cache {
	if size == 0 {
		return nil
	}
	return &cache{size: size, order: list.New(), byTok: map[string]*list.Element{}}
}

func (c *cache) get(token string) (Record, bool) {
	if c == nil {
		return Record{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byTok[token]
	if !ok {
		return Record{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(Record), true
}

func (c *cache) put(rec Record) {
	if c == nil || rec.Status != Completed && rec.Status != Failed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byTok[rec.Token]; ok {
		e.Value = rec
		c.order.MoveToFront(e)
		return
	}
	c.byTok[rec.Token] = c.order.PushFront(rec)
	if c.order.Len() > c.size {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.byTok, oldest.Value.(Record).Token)
	}
}
