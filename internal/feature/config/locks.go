package config

import (
	"bytes"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// restricts reports whether a key can only, or also, restrict: what is wrong with it must not pass
// in silence.
func (k *Key) restricts() bool {
	return k.Kind == Restrict || k.Closed != "" || k.Forbids || k.Refuse || k.Unkept != "" || k.Name == hooksKey // which may guard
}

// guardEvents are the events of hooks that guard calls: written beside "hooks" they guard nothing.
func guardEvents() []string { return []string{"PreToolUse", "PermissionRequest"} }

// restrictsBelow reports whether a namespace holds keys that restrict.
func (c *catalogue) restrictsBelow(space string) bool {
	for name, k := range c.keys {
		if strings.HasPrefix(name, space+".") && k.restricts() {
			return true
		}
	}
	return false
}

// maxSlip is how many letters a name may be away from a lock's to be taken for it.
const maxSlip = 2

// meantLock returns the key that restricts which a name that is not known was probably meant to be:
// a slip of the keyboard away, written with other signs between the words, or in the wrong object.
// A namespace that holds such keys counts too. ok is false when another key is nearer.
func (c *catalogue) meantLock(name string) (near string, ok bool) {
	best := maxSlip + 1
	try := func(known string, locks bool) {
		d := nearest.Distance(plain(name), plain(known))
		if limit := min(maxSlip, len(last(known))/3); d > limit {
			return
		}
		if d < best || d == best && known < near {
			best, near, ok = d, known, locks
		}
	}
	for known, k := range c.keys {
		try(known, k.restricts())
	}
	for space := range c.spaces {
		try(space, c.restrictsBelow(space))
	}
	for _, event := range guardEvents() {
		if nearest.Distance(plain(last(name)), plain(event)) <= maxSlip {
			return hooksKey + "." + event, true
		}
	}
	if near != "" {
		return near, ok
	}
	for known, k := range c.keys {
		short := last(known)
		telling := len(short) > 7 || k.Forbids && strings.HasPrefix(known, "permissions.")
		if telling && k.restricts() && plain(short) == plain(last(name)) && (near == "" || known < near) {
			near, ok = known, true
		}
	}
	return near, ok
}

// plain is a name without what people vary: case and signs between words.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// mentionsLocks looks at text that could not be read as settings: does it name a key that restricts,
// or hooks, which may guard? Names may be written with escapes, and then nobody can tell.
func (c *catalogue) mentionsLocks(text []byte) bool {
	if bytes.Contains(text, []byte(`\u`)) || bytes.Contains(text, []byte(`"`+hooksKey+`"`)) {
		return true
	}
	for name, k := range c.keys {
		if k.restricts() && bytes.Contains(text, []byte(`"`+last(name)+`"`)) {
			return true
		}
	}
	return false
}

// closed is what stands in for a value that is wrong and must not fall open.
func (c *checker) closed(k *Key, n *jsonc.Node) *Node {
	last := &c.problems[len(c.problems)-1]
	if k.Refuse {
		last.Refuses, last.Level = true, LevelError
		return nil
	}
	if k.Closed == "" {
		return nil
	}
	last.Message += "; " + k.Closed + " is in force instead"
	out := closedNode(k)
	out.At = c.doc.At(n)
	return out
}

// unkept says of a lock that is set and that nobody keeps why that is so.
func (c *checker) unkept(k *Key, m jsonc.Member, n *Node) {
	if n == nil || string(n.Scalar) == "false" {
		return
	}
	switch {
	case k.Unkept != "":
		p := Problem{Message: k.Unkept}
		if c.scope == origin.Managed {
			p.Level, p.Refuses = LevelError, true
		}
		c.report(c.doc.AtMember(m), k.Name, p)
	case k.Lacks != "":
		p := Problem{Level: LevelNotice, Message: "has nothing to restrict: this release has no " + k.Lacks}
		if c.scope == origin.Managed {
			p.Level = LevelWarning
		}
		c.report(c.doc.AtMember(m), k.Name, p)
	}
}

// closedNode is the value that stands in where a lock cannot be read. A test of the catalogue says that
// it parses.
func closedNode(k *Key) *Node {
	doc, err := jsonc.Parse("", "", []byte(k.Closed))
	if err != nil {
		return &Node{Kind: jsonc.Null, Scalar: []byte("null")}
	}
	return convert(doc, doc.Root())
}
