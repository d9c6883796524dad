// Package pmap provides a persistent map: changing one gives a new map that shares all but a few
// nodes with the old, so one change among ten thousand entries costs about a microsecond and both
// maps stay good for ever. Values that many read and few change are held in it.
//
// It wraps the sorted map of github.com/benbjohnson/immutable, which writes itself to JSON as {}.
// Up to some hundred entries a cloned Go map is as fast. Begin with the zero [Map].
package pmap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/benbjohnson/immutable"
)

// Map is an immutable map with keys in byte order. The zero Map is empty and ready. A Map is
// a value; it may be copied and read from many goroutines. What its values point to must not be
// changed.
type Map[K ~string, V any] struct {
	m *immutable.SortedMap[K, V] // nil: empty
}

// Len returns the number of entries.
func (m Map[K, V]) Len() int {
	if m.m == nil {
		return 0
	}
	return m.m.Len()
}

// IsZero reports whether the map is empty, for the JSON option omitzero.
func (m Map[K, V]) IsZero() bool { return m.Len() == 0 }

// Get returns the value of key, and whether there is one.
func (m Map[K, V]) Get(key K) (V, bool) {
	if m.m == nil {
		var none V
		return none, false
	}
	return m.m.Get(key)
}

// Set returns a map in which key has the value.
func (m Map[K, V]) Set(key K, value V) Map[K, V] {
	if m.m == nil {
		m.m = immutable.NewSortedMap[K, V](byBytes[K]{})
	}
	return Map[K, V]{m.m.Set(key, value)}
}

// Delete returns a map without key. When there was none, it is m itself.
func (m Map[K, V]) Delete(key K) Map[K, V] {
	if _, ok := m.Get(key); !ok {
		return m
	}
	return Map[K, V]{m.m.Delete(key)}
}

// All yields the entries in order of their keys.
func (m Map[K, V]) All() iter.Seq2[K, V] { return m.From("") }

// From yields the entries from key on, in order of their keys.
func (m Map[K, V]) From(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m.m == nil {
			return
		}
		it := m.m.Iterator()
		for it.Seek(key); !it.Done(); {
			k, v, _ := it.Next()
			if !yield(k, v) {
				return
			}
		}
	}
}

// MarshalJSON writes an object with the keys in byte order; an empty map is {}.
func (m Map[K, V]) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	buf.WriteByte('{')
	for k, v := range m.All() {
		if buf.Len() > 1 {
			buf.WriteByte(',')
		}
		if err := enc.Encode(string(k)); err != nil {
			return nil, err
		}
		buf.WriteByte(':')
		if err := enc.Encode(v); err != nil {
			return nil, fmt.Errorf("write value of %q: %w", string(k), err)
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// UnmarshalJSON reads an object; null gives the empty map. Of equal keys the last one counts.
func (m *Map[K, V]) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	first, err := dec.Token()
	if err != nil {
		return err
	}
	*m = Map[K, V]{}
	if first == nil {
		return nil
	}
	if first != json.Delim('{') {
		return fmt.Errorf("read map: expected a JSON object, not %v", first)
	}
	b := immutable.NewSortedMapBuilder[K, V](byBytes[K]{})
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value V
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("read value of %q: %w", key, err)
		}
		b.Set(K(key.(string)), value)
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	*m = Map[K, V]{b.Map()}
	return nil
}

type byBytes[K ~string] struct{}

func (byBytes[K]) Compare(a, b K) int { return strings.Compare(string(a), string(b)) }
