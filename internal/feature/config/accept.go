package config

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// accept returns the part of a folder's tree that its kinds let through, and what was left out.
// Trees of other scopes are returned as they are.
func accept(cat *catalogue, l Layer, view View) (Layer, []Ignored) {
	kinds := AllKinds
	switch l.Scope {
	case origin.Project:
		kinds = view.Project
	case origin.Local:
		kinds = view.Local
	}
	kinds |= Restrict
	if kinds&AllKinds == AllKinds {
		return l, nil
	}
	a := accepter{cat: cat, kinds: kinds}
	l.Root = a.object("", l.Root)
	return l, a.ignored
}

type accepter struct {
	cat     *catalogue
	kinds   Kinds
	ignored []Ignored
}

func (a *accepter) object(prefix string, n *Node) *Node {
	out := &Node{Kind: n.Kind, At: n.At}
	for _, m := range n.Members {
		name := prefix + m.Key
		k, known := a.cat.keys[name]
		switch {
		case !known: // a namespace: the checker let nothing else through
			out.Members = append(out.Members, Member{Key: m.Key, Value: a.object(name+".", m.Value)})
		case a.kinds&k.Kind == k.Kind:
			out.Members = append(out.Members, m)
		case k.Kind == EnvVars:
			if v := a.env(m.Value); len(v.Members) > 0 {
				out.Members = append(out.Members, Member{Key: m.Key, Value: v})
			}
		default:
			a.leaveOut(name, k.Kind, m.Value.At)
		}
	}
	return out
}

// env lets variables through that neither run nor redirect anything.
func (a *accepter) env(n *Node) *Node {
	out := &Node{Kind: n.Kind, At: n.At}
	for _, m := range n.Members {
		if harmless(m.Key) {
			out.Members = append(out.Members, m)
			continue
		}
		a.leaveOut("env."+m.Key, EnvVars, m.Value.At)
	}
	return out
}

func (a *accepter) leaveOut(key string, kind Kinds, at origin.Origin) {
	a.ignored = append(a.ignored, Ignored{
		Key: key, At: at, Kind: strings.Join(kind.Names(), ","),
		Why: "the folder is not trusted with it",
	})
}

// Item is one thing a folder's own files want that waits for trust.
type Item struct {
	Kind Kinds
	Key  string // dotted
	At   origin.Origin
	Text string // for people: the literal command, rule or name=value
	Raw  []byte // the whole value, as canonical as a fingerprint needs
}
