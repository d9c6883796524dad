package config

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Supplied lists what the project and local files want that waits for trust, in the order of the
// files: hooks, variables, helpers, servers, allow rules, directories, modes, plugins. What is only
// taste is not in it.
func (f *Files) Supplied() []Item {
	var out []Item
	for _, l := range f.layers {
		if l.Scope == origin.Project || l.Scope == origin.Local {
			s := supplier{cat: f.cat}
			s.object("", l.Root)
			out = append(out, s.items...)
		}
	}
	return out
}

type supplier struct {
	cat   *catalogue
	items []Item
}

func (s *supplier) object(prefix string, n *Node) {
	for _, m := range n.Members {
		name := prefix + m.Key
		k, known := s.cat.keys[name]
		switch {
		case !known:
			s.object(name+".", m.Value)
		case k.Kind&(Restrict|Plain) != 0 || k.Need == 3:
		case name == "hooks":
			s.hooks(k, m.Value)
		case m.Value.Kind == jsonc.Array:
			for _, e := range m.Value.Elems {
				s.add(k, name, e, label(e))
			}
		case m.Value.Kind == jsonc.Object && k.Merge != Replace:
			for _, v := range m.Value.Members {
				if k.Kind != EnvVars || !harmless(v.Key) {
					s.add(k, name+"."+v.Key, v.Value, v.Key+"="+label(v.Value))
				}
			}
		default:
			s.add(k, name, m.Value, name+" "+label(m.Value))
		}
	}
}

// hooks lists handlers one by one, so that what would run is read literally.
func (s *supplier) hooks(k *Key, n *Node) {
	for _, event := range n.Members {
		for _, group := range event.Value.Elems {
			on := event.Key
			if m := group.Get("matcher").Text(); m != "" {
				on += "(" + m + ")"
			}
			handlers := group.Get("hooks")
			if handlers == nil || len(handlers.Elems) == 0 {
				s.add(k, "hooks."+event.Key, group, on+" "+string(group.JSON()))
				continue
			}
			for _, h := range handlers.Elems {
				where := ""
				if c := h.Get("confine"); c != nil && string(c.JSON()) == "false" {
					where = " (outside of the sandbox)"
				}
				s.items = append(s.items, Item{
					Kind: k.Kind, Key: "hooks." + event.Key, At: h.At, Text: on + ": " + label(h) + where,
					// With its group: another matcher is another hook.
					Raw: append(append([]byte(event.Key+" "), jsonc.Canonical(group.JSON())...), jsonc.Canonical(h.JSON())...),
				})
			}
		}
		if len(event.Value.Elems) == 0 {
			s.add(k, "hooks."+event.Key, event.Value, event.Key+" "+string(event.Value.JSON()))
		}
	}
}

func (s *supplier) add(k *Key, key string, n *Node, text string) {
	s.items = append(s.items, Item{
		Kind: k.Kind, Key: key, At: n.At, Text: text,
		Raw: append([]byte(key+" "), jsonc.Canonical(n.JSON())...),
	})
}

// label is a value for people: text as it is, a command literally, anything else as JSON.
func label(n *Node) string {
	if n.Kind == jsonc.String {
		return n.Text()
	}
	if n.Kind == jsonc.Object {
		for _, key := range []string{"command", "url", "prompt"} {
			if text := n.Get(key).Text(); text != "" && len(n.Members) <= 3 {
				rest := ""
				if args := n.Get("args"); args != nil {
					rest = " " + string(args.JSON())
				}
				return strings.TrimSpace(fmt.Sprintf("%s%s", text, rest))
			}
		}
	}
	return string(n.JSON())
}
