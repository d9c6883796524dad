package twotier

import (
	"container/list"
	"math"
)

// lru is the memory tier: bounded by number and bytes, least recently used first out. It does not
// lock.
type lru[V any] struct {
	entries int
	bytes   int64
	used    int64
	order   *list.List               // of *item[V], most recently used first
	items   map[digest]*list.Element // by hash alone: a third of the time of the whole key
}

type item[V any] struct {
	key   Key
	entry Entry[V]
	size  int64
	born  int64 // entry.At and entry.Expires in Unix nanoseconds, for the fast path
	dies  int64
}

func newLRU[V any](entries int, bytes int64) *lru[V] {
	return &lru[V]{entries: entries, bytes: bytes, order: list.New(), items: map[digest]*list.Element{}}
}

func (l *lru[V]) get(key Key) (Entry[V], bool) {
	if i := l.find(key); i != nil {
		return i.entry, true
	}
	return Entry[V]{}, false
}

// find returns nil when there is nothing.
func (l *lru[V]) find(key Key) *item[V] {
	e, ok := l.items[key.hash]
	if !ok {
		return nil
	}
	l.order.MoveToFront(e)
	return e.Value.(*item[V])
}

func (l *lru[V]) put(key Key, entry Entry[V], size int64) {
	l.remove(key)
	if l.bytes > 0 && size > l.bytes {
		return // it would push out everything else and still not fit
	}
	i := &item[V]{key: key, entry: entry, size: size, born: entry.At.UnixNano(), dies: math.MaxInt64}
	if !entry.Expires.IsZero() {
		i.dies = entry.Expires.UnixNano()
	}
	l.items[key.hash] = l.order.PushFront(i)
	l.used += size
	for len(l.items) > l.entries || (l.bytes > 0 && l.used > l.bytes) {
		l.remove(l.order.Back().Value.(*item[V]).key)
	}
}

func (l *lru[V]) remove(key Key) {
	e, ok := l.items[key.hash]
	if !ok {
		return
	}
	l.used -= e.Value.(*item[V]).size
	l.order.Remove(e)
	delete(l.items, key.hash)
}

func (l *lru[V]) removeIf(match func(Key) bool) {
	for _, e := range l.items {
		if key := e.Value.(*item[V]).key; match(key) {
			l.remove(key)
		}
	}
}
