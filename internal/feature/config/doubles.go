package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
)

// grouped lists the members of objects by name, in the order in which the names first stand there.
func grouped(nodes ...*jsonc.Node) [][]jsonc.Member {
	var out [][]jsonc.Member
	place := map[string]int{}
	for _, n := range nodes {
		for _, m := range n.Members {
			i, known := place[m.Name]
			if !known {
				i, place[m.Name] = len(out), len(out)
				out = append(out, nil)
			}
			out[i] = append(out[i], m)
		}
	}
	return out
}

// reportDouble says that a key stands there several times and what becomes of it.
func (c *checker) reportDouble(name string, same []jsonc.Member) {
	last := same[len(same)-1]
	line, _ := c.doc.Position(same[len(same)-2].Start)
	what := fmt.Sprintf("line %d is not used", line)
	k, known := c.cat.keys[name]
	switch {
	case c.cat.spaces[name], strings.HasPrefix(name, hooksKey+"."), known && (k.Forbids || k.Kind == Hooks):
		what = fmt.Sprintf("line %d counts too", line)
	case known && (k.restricts() || k.Kind == Allow):
		what = fmt.Sprintf("the stricter of this and line %d counts", line)
	}
	c.report(c.doc.AtMember(last), name, Problem{Message: "the key stands here twice; " + what})
}

// doublesInside looks for double keys in the value of a known key: of two entries of one name the
// first would vanish unseen.
func (c *checker) doublesInside(k *Key, name string, n *jsonc.Node) {
	if n.Kind == jsonc.Object {
		for _, same := range grouped(n) {
			if len(same) > 1 {
				last := same[len(same)-1]
				line, _ := c.doc.Position(same[len(same)-2].Start)
				c.report(c.doc.AtMember(last), name+"."+last.Name, Problem{
					Message: fmt.Sprintf("the key stands here twice; line %d is not used", line), Lost: k.Forbids,
				})
			}
		}
	}
	for _, m := range n.Members {
		c.doublesInside(k, name+"."+m.Name, m.Value)
	}
	for i, e := range n.Elems {
		c.doublesInside(k, fmt.Sprintf("%s[%d]", name, i), e)
	}
}

// hooks takes an event that stands there several times together, and keeps whatever else is wrong
// for those who read it: a guard must not vanish on the way to them.
func (c *checker) hooks(n *jsonc.Node) *Node {
	if n.Kind != jsonc.Object {
		return convertAll(c.doc, n)
	}
	out := &Node{Kind: jsonc.Object, At: c.doc.At(n)}
	for _, same := range grouped(n) {
		if len(same) > 1 {
			c.reportDouble(hooksKey+"."+same[0].Name, same)
		}
		groups := convertAll(c.doc, same[0].Value)
		for _, m := range same[1:] {
			more := convertAll(c.doc, m.Value)
			if groups.Kind != jsonc.Array || more.Kind != jsonc.Array {
				groups = &Node{Kind: jsonc.Array, At: groups.At, Elems: append(elements(groups), elements(more)...)}
				continue
			}
			groups.Elems = append(groups.Elems, more.Elems...)
		}
		out.Members = append(out.Members, Member{Key: same[0].Name, Value: groups})
	}
	return out
}

// elements are those of an array; anything else is one.
func elements(n *Node) []*Node {
	if n.Kind == jsonc.Array {
		return n.Elems
	}
	return []*Node{n}
}

// strictestOf makes one value of those a key has in one file. What forbids adds up, of what allows
// only that counts which every one allows, and of locks the one that is shut.
func strictestOf(k *Key, values []*Node) *Node {
	if len(values) == 0 {
		return nil
	}
	out := values[0]
	for _, next := range values[1:] {
		out = stricterOf(k, out, next)
	}
	return out
}

func stricterOf(k *Key, a, b *Node) *Node {
	same := bytes.Equal(jsonc.Canonical(a.JSON()), jsonc.Canonical(b.JSON()))
	switch {
	case same:
		return b
	case k.Forbids || k.Kind == Hooks:
		if a.Kind == jsonc.Object && b.Kind == jsonc.Object {
			return merger{}.objects(concatPrefix, a, b)
		}
		return &Node{Kind: jsonc.Array, At: b.At, Elems: append(slices.Clone(elements(a)), elements(b)...)}
	case len(k.Strict) > 0 && strictness(k, a) != strictness(k, b):
		if strictness(k, a) > strictness(k, b) {
			return a
		}
		return b
	case a.Kind == jsonc.Array && b.Kind == jsonc.Array && (k.Closed == "[]" || k.Kind == Allow):
		return common(a, b)
	case is(a, k.Closed) || k.Closed == "" && k.Kind == Allow && is(a, k.Default):
		return a
	case k.Closed == "" || is(b, k.Closed):
		return b
	}
	out := closedNode(k) // two that cannot be compared
	out.At = b.At
	return out
}

func is(n *Node, value string) bool {
	return value != "" && bytes.Equal(jsonc.Canonical(n.JSON()), jsonc.Canonical([]byte(value)))
}

// common are the elements of b that stand in a too.
func common(a, b *Node) *Node {
	out := &Node{Kind: jsonc.Array, At: b.At}
	for _, e := range b.Elems {
		if slices.ContainsFunc(a.Elems, func(x *Node) bool { return is(x, string(e.JSON())) }) {
			out.Elems = append(out.Elems, e)
		}
	}
	return out
}
