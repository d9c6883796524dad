// Package twotier keeps answers that are dear to get: memory first, then disk, then the origin,
// and of all who ask for one value at once only one goes to the origin.
//
// It knows nothing of what it keeps and decides no lifetime. Nothing secret belongs in it, and no
// answer that depends on something its key does not see. Begin with [New] and [Cache.Get].
package twotier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Config says what a cache keeps, where and how long. The zero Config keeps 1000 values in memory
// for ever.
type Config[V any] struct {
	Dir string        // folder of the disk tier, made with mode 0700; empty: memory alone
	L1  time.Duration // how long a value is good in memory; 0: until the process ends
	L2  time.Duration // how long a value is good on disk; 0: nothing is written
	// Entries and Bytes bound the memory; the least recently used go first. Zero Entries: 1000;
	// zero Bytes: no bound.
	Entries int
	Bytes   int64
	Size    func(V) int // of a value, in bytes; nil: values count as nothing
	// Encode and Decode translate for the disk; nil: encoding/json.
	Encode func(V) ([]byte, error)
	Decode func([]byte) (V, error)
	// FileName names the file of a key; nil: the key's hash alone.
	FileName func(Key) string
	Now      func() time.Time // nil: time.Now
	// Report is told, once each, of entries that could not be read and of a disk that cannot be
	// written. It may be called from several goroutines. Nil: nobody.
	Report func(error)
}

// Tier says where a value came from.
type Tier string

// The tiers.
const (
	Memory Tier = "memory"
	Disk   Tier = "disk"
	Origin Tier = "origin"
)

// Entry is a value with its stamps.
type Entry[V any] struct {
	Value   V
	Tier    Tier
	At      time.Time // when the origin gave it
	Expires time.Time // end of its life in Tier; zero: none
}

// Cache is a two-tier cache. Values handed out are shared and must not be changed. It is safe for
// concurrent use.
type Cache[V any] struct {
	cfg  Config[V]
	disk *disk

	mu      sync.Mutex // guards the rest
	mem     *lru[V]
	flights map[Key]*flight[V]
}

// flight is one way to disk and origin, shared by all who wait for its key.
type flight[V any] struct {
	done    chan struct{} // closed when entry and err are set
	entry   Entry[V]
	err     error
	waiters int
	cancel  context.CancelCauseFunc
	dropped bool // invalidated meanwhile: told to those who wait, but not kept
}

// New makes a cache. It touches no disk.
func New[V any](cfg Config[V]) *Cache[V] {
	if cfg.Entries == 0 {
		cfg.Entries = 1000
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Encode == nil {
		cfg.Encode = func(v V) ([]byte, error) { return json.Marshal(v) }
	}
	if cfg.Decode == nil {
		cfg.Decode = func(data []byte) (v V, err error) { return v, json.Unmarshal(data, &v) }
	}
	c := &Cache[V]{cfg: cfg, mem: newLRU[V](cfg.Entries, cfg.Bytes), flights: map[Key]*flight[V]{}}
	if cfg.Dir != "" && cfg.L2 > 0 {
		c.disk = &disk{dir: cfg.Dir, report: cfg.Report, now: cfg.Now, name: cfg.FileName}
	}
	return c
}

// errUnwanted cancels an origin call that nobody waits for any more.
var errUnwanted = errors.New("nobody waits for the answer any more")

// Get returns the value of key: from memory, from disk, or from load, which is called once however
// many ask at the same time, with a context that ends when the last of them has gone. ctx bounds
// the wait of this caller alone. An error of load is given to all who wait and not kept.
func (c *Cache[V]) Get(ctx context.Context, key Key, load func(context.Context) (V, error)) (V, error) {
	now := c.cfg.Now().UnixNano()
	c.mu.Lock()
	if i := c.mem.find(key); i != nil && i.born <= now && now < i.dies {
		v := i.entry.Value
		c.mu.Unlock()
		return v, nil
	}
	c.mu.Unlock()
	e, err := c.Fetch(ctx, key, load)
	return e.Value, err
}

// Fetch is [Cache.Get] with the stamps.
func (c *Cache[V]) Fetch(ctx context.Context, key Key, load func(context.Context) (V, error)) (Entry[V], error) {
	now := c.cfg.Now()
	c.mu.Lock()
	if e, ok := c.mem.get(key); ok && fresh(e, now) {
		c.mu.Unlock()
		return e, nil
	}
	f := c.flights[key]
	if f == nil {
		f = c.depart(ctx, key, load)
	}
	f.waiters++
	c.mu.Unlock()

	select {
	case <-f.done:
		return f.entry, f.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-f.done: // at the same moment
		return f.entry, f.err
	default:
	}
	if f.waiters--; f.waiters == 0 {
		f.cancel(errUnwanted)
		if c.flights[key] == f {
			delete(c.flights, key) // who comes now must not get the cancellation of others
		}
	}
	return Entry[V]{}, context.Cause(ctx)
}

// depart starts a flight. The caller holds the lock.
func (c *Cache[V]) depart(ctx context.Context, key Key, load func(context.Context) (V, error)) *flight[V] {
	flying, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f := &flight[V]{done: make(chan struct{}), cancel: cancel}
	c.flights[key] = f
	go func() { // ends when load returns
		defer cancel(nil)
		entry, err := c.travel(flying, f, key, load)
		c.mu.Lock()
		defer c.mu.Unlock()
		f.entry, f.err = entry, err
		if err == nil && !f.dropped {
			c.remember(key, entry)
		}
		if c.flights[key] == f {
			delete(c.flights, key)
		}
		close(f.done)
	}()
	return f
}

// travel goes to the disk and then to the origin. A panic of load becomes an error, since it is in
// nobody's goroutine.
func (c *Cache[V]) travel(ctx context.Context, f *flight[V], key Key, load func(context.Context) (V, error)) (e Entry[V], err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("load %s: panic: %v", key, r)
		}
	}()
	if e, ok := c.readDisk(key); ok && fresh(e, c.cfg.Now()) {
		return e, nil
	}
	v, err := load(ctx)
	if err != nil {
		return Entry[V]{}, err
	}
	e = Entry[V]{Value: v, Tier: Origin, At: c.cfg.Now()}
	c.mu.Lock()
	dropped := f.dropped
	c.mu.Unlock()
	if !dropped {
		c.writeDisk(key, e)
	}
	c.mu.Lock()
	dropped = f.dropped && !dropped
	c.mu.Unlock()
	if dropped { // invalidated while it was written
		c.removeDisk(key)
	}
	return e, nil
}

// Put stores a value that came from the origin just now, in both tiers.
func (c *Cache[V]) Put(key Key, value V) {
	e := Entry[V]{Value: value, Tier: Origin, At: c.cfg.Now()}
	c.writeDisk(key, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil { // older than what is put
		f.dropped = true
		delete(c.flights, key)
	}
	c.remember(key, e)
}

// Peek returns what is kept under key, also when its life is over, and asks no origin. Memory is
// looked at first; an entry there that is over gives way to a younger one on disk.
func (c *Cache[V]) Peek(key Key) (Entry[V], bool) {
	now := c.cfg.Now()
	c.mu.Lock()
	mem, ok := c.mem.get(key)
	c.mu.Unlock()
	if ok && fresh(mem, now) {
		return mem, true
	}
	disk, onDisk := c.readDisk(key)
	switch {
	case onDisk && (!ok || !disk.At.Before(mem.At) && fresh(disk, now)):
		if fresh(disk, now) {
			c.mu.Lock()
			c.remember(key, disk)
			c.mu.Unlock()
		}
		return disk, true
	case ok && !mem.At.After(now):
		return mem, true
	}
	return Entry[V]{}, false
}

// remember puts an entry into memory with a life of its own. The caller holds the lock.
func (c *Cache[V]) remember(key Key, e Entry[V]) {
	// Stamps are wall clock alone: the monotonic clock stands still while a machine sleeps, and what
	// was fresh yesterday evening is not this morning.
	e.At = e.At.Round(0)
	e.Tier, e.Expires = Memory, time.Time{}
	if c.cfg.L1 > 0 {
		e.Expires = c.cfg.Now().Round(0).Add(c.cfg.L1)
	}
	size := 0
	if c.cfg.Size != nil {
		size = c.cfg.Size(e.Value)
	}
	c.mem.put(key, e, int64(size))
}

// fresh reports whether an entry is alive. One from the future is not: the clock was set back.
func fresh[V any](e Entry[V], now time.Time) bool {
	return !e.At.After(now) && (e.Expires.IsZero() || now.Before(e.Expires))
}

// Invalidate forgets a key in both tiers. A call to the origin that is on its way for it is
// answered to those who wait, and not kept.
func (c *Cache[V]) Invalidate(key Key) {
	c.mu.Lock()
	c.mem.remove(key)
	c.drop(func(k Key) bool { return k == key })
	c.mu.Unlock()
	c.removeDisk(key)
}

// InvalidatePrefix forgets every key of a session and tool (room); an empty tool stands for all of
// the session, an empty session for the session-free keys.
func (c *Cache[V]) InvalidatePrefix(session, tool string) {
	match := func(k Key) bool { return k.Session == session && (tool == "" || k.Tool == tool) }
	c.mu.Lock()
	c.mem.removeIf(match)
	c.drop(match)
	c.mu.Unlock()
	if c.disk != nil {
		c.disk.removeIf(func(h header) bool { return h.Session == session && (tool == "" || h.Tool == tool) })
	}
}

// EndSession forgets everything of a session. It does nothing for the empty session.
func (c *Cache[V]) EndSession(session string) {
	if session != "" {
		c.InvalidatePrefix(session, "")
	}
}

// drop marks flights so that their result is not kept. The caller holds the lock.
func (c *Cache[V]) drop(match func(Key) bool) {
	for k, f := range c.flights {
		if match(k) {
			f.dropped = true
			delete(c.flights, k)
		}
	}
}

func (c *Cache[V]) readDisk(key Key) (Entry[V], bool) {
	if c.disk == nil {
		return Entry[V]{}, false
	}
	h, data, ok := c.disk.read(key)
	if !ok {
		return Entry[V]{}, false
	}
	v, err := c.cfg.Decode(data)
	if err != nil {
		c.disk.broken(c.disk.path(key), err)
		return Entry[V]{}, false
	}
	return Entry[V]{Value: v, Tier: Disk, At: h.At, Expires: h.Expires}, true
}

func (c *Cache[V]) writeDisk(key Key, e Entry[V]) {
	if c.disk == nil {
		return
	}
	data, err := c.cfg.Encode(e.Value)
	if err != nil {
		c.disk.broken(c.disk.path(key), err)
		return
	}
	c.disk.write(key, header{At: e.At, Expires: e.At.Add(c.cfg.L2)}, data)
}

func (c *Cache[V]) removeDisk(key Key) {
	if c.disk != nil {
		c.disk.remove(key)
	}
}
