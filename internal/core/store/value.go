package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Snapshot serialises a whole value as JSON: for compaction, the bridge and the state command.
// Equal values give equal bytes.
func Snapshot[T any](value *T) (json.RawMessage, error) {
	return json.Marshal(value)
}

// Delta is one place in which two snapshots differ. Path holds the keys from the root down; a list
// is compared as a whole. Old or New is nil where the place was not there. By is New minus Old
// where both are numbers, or one is and the other is not there: the tokens and the money between
// two snapshots.
type Delta struct {
	Path     []string
	Old, New json.RawMessage
	By       float64
}

// Diff returns where two snapshots differ, in order of the keys.
func Diff(old, new json.RawMessage) ([]Delta, error) {
	var out []Delta
	err := diff(nil, bytes.TrimSpace(old), bytes.TrimSpace(new), &out)
	return out, err
}

func diff(path []string, old, new json.RawMessage, out *[]Delta) error {
	if bytes.Equal(old, new) {
		return nil
	}
	if !bytes.HasPrefix(old, []byte("{")) || !bytes.HasPrefix(new, []byte("{")) {
		a, errA := strconv.ParseFloat(string(old), 64)
		b, errB := strconv.ParseFloat(string(new), 64)
		d := Delta{Path: slices.Clone(path), Old: old, New: new}
		if (errA == nil || old == nil) && (errB == nil || new == nil) {
			d.By = b - a
		}
		*out = append(*out, d)
		return nil
	}
	var a, b map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(old, &a), json.Unmarshal(new, &b)); err != nil {
		return fmt.Errorf("read snapshots at %q: %w", path, err)
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if err := diff(append(path, k), a[k], b[k], out); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint hashes the memory that can be reached from value, when built with the tag
// storecheck; it is 0 otherwise.
func fingerprint[T any](value *T) uint64 {
	if !checked {
		return 0
	}
	h := fnv.New64a()
	hash(h, reflect.ValueOf(value), map[uintptr]bool{})
	return h.Sum64()
}

func hash(h io.Writer, v reflect.Value, seen map[uintptr]bool) {
	switch kind := v.Kind(); {
	case kind == reflect.Pointer:
		p := v.Pointer()
		number(h, uint64(p))
		if p != 0 && !seen[p] && v.Type() != reflect.TypeFor[*time.Location]() { // a location fills itself in lazily
			seen[p] = true
			hash(h, v.Elem(), seen)
		}
	case kind == reflect.Interface && !v.IsNil():
		hash(h, v.Elem(), seen)
	case kind == reflect.Struct:
		for i := range v.NumField() {
			hash(h, v.Field(i), seen)
		}
	case kind == reflect.Slice || kind == reflect.Array:
		number(h, uint64(v.Len()))
		for i := range v.Len() {
			hash(h, v.Index(i), seen)
		}
	case kind == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			hash(h, k, seen)
			hash(h, v.MapIndex(k), seen)
		}
	case kind == reflect.String:
		number(h, uint64(v.Len()))
		_, _ = io.WriteString(h, v.String()) // a hash takes everything
	case v.CanInt():
		number(h, uint64(v.Int()))
	case v.CanUint():
		number(h, v.Uint())
	default: // floats and booleans; functions and channels by their address
		fmt.Fprintln(h, v)
	}
}

func number(h io.Writer, n uint64) {
	_, _ = h.Write(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), n)) // a hash takes everything
}
