// Package store holds one value that many read and many change, and through which every change
// passes in one order: who changes state anywhere in the program does it with [Store.Set], and
// who wants to know of it watches here.
//
// It is mechanism only. It knows no domain, writes nothing to disk and keeps no history; what a
// value means belongs to the feature that owns it. Begin with [New], give each feature its part
// with [Focus], and see value.go for what can be done with the values themselves.
package store

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Store holds the current value, an immutable T. All methods are safe for concurrent use. What
// can be reached from a value must never be changed after it was handed to the store or read from
// it: who wants another value makes one. (The analyzer in internal/lint/immutable looks for
// offenders; the build tag storecheck finds them at run time.)
type Store[T any] struct {
	value  atomic.Pointer[T]
	report func(recovered any)

	mu         sync.Mutex // guards the rest of this group, and serialises updates
	revision   uint64
	sum        uint64         // fingerprint of the value
	queue      []Change[T]    // applied while another was announced, and still to be
	announcing bool           // somebody empties the queue
	listeners  []*listener[T] // watchers before signals; never changed in place

	// The change being announced and who still has to hear of it, touched only by the goroutine
	// that announces; fields, so that another can go on where that one ended.
	current  Change[T]
	audience []*listener[T]
	upNext   int // index in audience
}

// Change is one transition. Revisions count from 1 without gaps; the initial value has none.
type Change[T any] struct {
	Revision uint64
	Old, New *T
}

type listener[T any] struct {
	rank  int    // watchers 0, signals 1
	since uint64 // the revision at which it came: older changes are not its own
	gone  atomic.Bool
	tell  func(Change[T])
}

// New returns a store that holds initial. onChange, where not nil, is told of every transition
// before anybody else: it is the one place through which every change of state passes. report is
// given what a panicking listener (onChange included) panicked with; with a nil report the panic
// goes on in the goroutine that announces, and the listeners after it hear of the change from
// another goroutine.
func New[T any](initial T, onChange func(Change[T]), report func(recovered any)) *Store[T] {
	s := &Store[T]{report: report, sum: fingerprint(&initial)}
	s.value.Store(&initial)
	if onChange != nil {
		s.listen(0, onChange)
	}
	return s
}

// Get returns the current value: one consistent snapshot. It takes no lock and never waits.
func (s *Store[T]) Get() *T { return s.value.Load() }

// Set replaces the value by what update makes of it. Updates are serial. An update that returns
// prev itself is no change: no revision, nobody is told. It must not return nil, must not call the
// store, and should be quick; one that panics changes nothing.
//
// The new value is in force at once. Then the change is announced: to onChange, to the watchers of
// the slices that changed, to subscribers, each in order of subscription. A Set made inside an
// announcement applies at once and is announced after it. On one goroutine all announcements are
// done when the outermost Set returns; while another goroutine announces, Set may return before
// its own change is announced, which then is done by that goroutine, in revision order.
func (s *Store[T]) Set(update func(prev *T) *T) {
	if s.replace(update) {
		s.announce()
	}
}

// Subscribe calls signal after every change made from now on; it is for those who then look at
// the newest value themselves. It is called in the goroutine that announces, so it must not block:
// a surface sends to a channel of length one and drops the signal when the channel is full.
// Several changes may be merged into one signal, the last is never missed. After cancel no call
// begins; one that runs in another goroutine at that moment may still end.
func (s *Store[T]) Subscribe(signal func()) (cancel func()) {
	return s.listen(1, func(Change[T]) { signal() })
}

// replace reports whether the caller has to announce.
func (s *Store[T]) replace(update func(prev *T) *T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	prev := s.value.Load()
	next := update(prev)
	if s.sum != fingerprint(prev) || next == nil {
		panic("store: an update returned nil, or the current value was changed in place")
	}
	if next == prev {
		return false
	}
	s.value.Store(next)
	s.sum, s.revision = fingerprint(next), s.revision+1
	c := Change[T]{s.revision, prev, next}
	if s.announcing {
		s.queue = append(s.queue, c)
		return false
	}
	s.announcing, s.current, s.audience, s.upNext = true, c, s.listeners, 0
	return true
}

// announce empties the queue. When a listener ends this goroutine (runtime.Goexit, or a panic
// nobody reports), a new one goes on, so that nothing is left unsaid; it ends with the queue.
func (s *Store[T]) announce() {
	done := false
	defer func() {
		if !done {
			go s.announce()
		}
	}()
	for s.upNext < len(s.audience) || s.next() {
		s.tell()
	}
	done = true
}

// next takes the oldest change that was not announced yet. When there is none it gives up the role
// of announcer.
func (s *Store[T]) next() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.announcing = len(s.queue) > 0; !s.announcing {
		s.current = Change[T]{}
		return false
	}
	s.current, s.audience, s.upNext = s.queue[0], s.listeners, 0
	s.queue = slices.Delete(s.queue, 0, 1)
	return true
}

// tell tells those who have not heard of the current change. A panic ends it early.
func (s *Store[T]) tell() {
	if s.report != nil {
		defer func() {
			if r := recover(); r != nil {
				s.report(r)
			}
		}()
	}
	for s.upNext < len(s.audience) {
		l := s.audience[s.upNext]
		s.upNext++
		if l.since < s.current.Revision && !l.gone.Load() {
			l.tell(s.current)
		}
	}
}

func (s *Store[T]) listen(rank int, tell func(Change[T])) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &listener[T]{rank: rank, since: s.revision, tell: tell}
	s.listeners = append(slices.Clone(s.listeners), l)
	slices.SortStableFunc(s.listeners, func(a, b *listener[T]) int { return cmp.Compare(a.rank, b.rank) })
	return func() {
		l.gone.Store(true)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(x *listener[T]) bool { return x == l })
	}
}

// Slice is a feature's view of its part of a store, all it needs to know of it. The contracts of
// [Store] hold for it: values are immutable, updates serial. Watch tells of every transition of
// this part, and of no other, exactly once and in order, from now on; what holds for Subscribe
// holds for its calls and for cancel.
type Slice[S any] interface {
	Get() *S
	Set(update func(prev *S) *S)
	Watch(changed func(old, new *S)) (cancel func())
}

// Focus returns the part of s that get reads. with returns a copy of the whole with that part
// replaced; it must leave its argument as it is. Parts are compared by their pointer.
func Focus[T, S any](s *Store[T], get func(whole *T) *S, with func(whole *T, part *S) *T) Slice[S] {
	return focus[T, S]{s, get, with}
}

type focus[T, S any] struct {
	store *Store[T]
	get   func(*T) *S
	with  func(*T, *S) *T
}

func (f focus[T, S]) Get() *S { return f.get(f.store.Get()) }

func (f focus[T, S]) Set(update func(*S) *S) {
	f.store.Set(func(whole *T) *T {
		prev := f.get(whole)
		if next := update(prev); next != prev {
			return f.with(whole, next)
		}
		return whole
	})
}

func (f focus[T, S]) Watch(changed func(old, new *S)) (cancel func()) {
	return f.store.listen(0, func(c Change[T]) {
		if was, is := f.get(c.Old), f.get(c.New); was != is {
			changed(was, is)
		}
	})
}
