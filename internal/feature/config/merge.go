package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
)

// merger makes one tree of the trees of all levels.
type merger struct {
	cat *catalogue
}

// merge lays the layers over each other, lowest first.
func merge(cat *catalogue, layers []Layer) *Node {
	m := merger{cat: cat}
	root := &Node{Kind: jsonc.Object}
	for _, l := range layers {
		root = m.objects("", root, l.Root)
	}
	for _, name := range cat.order {
		if k := cat.keys[name]; len(k.Strict) > 0 {
			root = m.strictest(root, k, layers)
		}
	}
	return root
}

// objects merges by key. Neither argument is changed.
func (m merger) objects(prefix string, low, high *Node) *Node {
	out := &Node{Kind: jsonc.Object, At: high.At, Members: slices.Clone(low.Members)}
	if len(high.Members) == 0 && !low.At.IsZero() {
		out.At = low.At
	}
	for _, hm := range high.Members {
		i := slices.IndexFunc(out.Members, func(x Member) bool { return x.Key == hm.Key })
		if i < 0 {
			out.Members = append(out.Members, hm)
			continue
		}
		out.Members[i].Value = m.values(prefix+hm.Key, out.Members[i].Value, hm.Value)
	}
	return out
}

// values merges two values of one key.
func (m merger) values(name string, low, high *Node) *Node {
	how := Deep
	if strings.HasPrefix(name, concatPrefix) {
		how = Concat
	} else if k, ok := m.cat.keys[name]; ok {
		how = k.Merge
		if how == ReplaceManaged {
			how = Deep
			if scopeBit(high.At.Scope) == InManaged && scopeBit(low.At.Scope) != InManaged {
				how = Replace
			}
		}
	}
	switch {
	case how == Replace || low.Kind != high.Kind:
		return over(high, low)
	case high.Kind == jsonc.Object && how == ReplaceEach:
		return m.each(low, high)
	case high.Kind == jsonc.Object:
		prefix := name + "."
		if how == Concat { // for everything in it
			prefix = concatPrefix
		}
		return m.objects(prefix, low, high)
	case high.Kind == jsonc.Array:
		return arrays(low, high, how == Concat)
	}
	return over(high, low)
}

// concatPrefix marks names inside a key that merges by [Concat]; no key begins so.
const concatPrefix = "\x00"

func (m merger) each(low, high *Node) *Node {
	out := &Node{Kind: jsonc.Object, At: high.At, Members: slices.Clone(low.Members)}
	for _, hm := range high.Members {
		i := slices.IndexFunc(out.Members, func(x Member) bool { return x.Key == hm.Key })
		if i < 0 {
			out.Members = append(out.Members, hm)
			continue
		}
		out.Members[i].Value = over(hm.Value, out.Members[i].Value)
	}
	return out
}

// over is high with low, and what low had won against, among what it won against.
func over(high, low *Node) *Node {
	out := *high
	out.Over = append([]Candidate{{At: low.At, Value: low.JSON()}}, low.Over...)
	return &out
}

// arrays appends, lowest first; without doubles unless they are kept.
func arrays(low, high *Node, doubles bool) *Node {
	out := &Node{Kind: jsonc.Array, At: high.At, Elems: slices.Clone(low.Elems), Over: low.Over}
	if doubles {
		out.Elems = append(out.Elems, high.Elems...)
		return out
	}
	seen := make(map[string]bool, len(out.Elems)+len(high.Elems))
	for _, e := range out.Elems {
		seen[string(jsonc.Canonical(e.JSON()))] = true
	}
	for _, e := range high.Elems {
		text := string(jsonc.Canonical(e.JSON()))
		if !seen[text] {
			seen[text] = true
			out.Elems = append(out.Elems, e)
		}
	}
	return out
}

// strictest lets a restrictive value of a level that may restrict win over every level.
func (m merger) strictest(root *Node, k *Key, layers []Layer) *Node {
	now := lookup(root, k.Name)
	best, rank := (*Node)(nil), strictness(k, now)
	for _, l := range layers {
		n := lookup(l.Root, k.Name)
		if n == nil || k.StrictFrom&scopeBit(l.Scope) == 0 {
			continue
		}
		if r := strictness(k, n); r > rank {
			best, rank = n, r
		}
	}
	if best == nil {
		return root
	}
	if now != nil {
		best = over(best, now)
	}
	return with(root, k.Name, best)
}

// strictness is the place of a value in the key's list, from 1; 0 when it is not in it.
func strictness(k *Key, n *Node) int {
	if n == nil {
		return 0
	}
	text := n.JSON()
	for i, s := range k.Strict {
		if bytes.Equal(text, []byte(s)) {
			return i + 1
		}
	}
	return 0
}

// with returns a copy of root in which the dotted key has the value; what it does not touch is
// shared.
func with(root *Node, key string, value *Node) *Node {
	name, rest, deeper := cutKey(key)
	out := *root
	out.Members = slices.Clone(root.Members)
	i := slices.IndexFunc(out.Members, func(x Member) bool { return x.Key == name })
	if deeper {
		inner := &Node{Kind: jsonc.Object, At: value.At}
		if i >= 0 && out.Members[i].Value.Kind == jsonc.Object {
			inner = out.Members[i].Value
		}
		value = with(inner, rest, value)
	}
	if i < 0 {
		out.Members = append(out.Members, Member{Key: name, Value: value})
	} else {
		out.Members[i].Value = value
	}
	return &out
}
