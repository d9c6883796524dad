package config

import (
	"encoding/json"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Used declares that a part of the program, by its folder below internal, acts upon these keys. Keys that
// no section names have no effect, and the program says so.
func Used(by string, keys ...string) []Section {
	out := make([]Section, 0, len(keys))
	for _, k := range keys {
		out = append(out, Section{Key: k, By: by})
	}
	return out
}

// OwnKeys are the keys this package acts upon itself.
func OwnKeys() []Section {
	return Used("feature/config", "compat", "env", "hooks", "policyHelper", "permissions.allow", "permissions.ask", "permissions.deny", "permissions.additionalDirectories")
}

// Effect is what becomes of a key.
type Effect struct {
	Key     string `json:"key"`
	Meaning string `json:"meaning"`
	By      string `json:"by,omitempty"`     // who acts upon it; empty: nothing in this release does
	Scopes  string `json:"scopes"`           // where it may stand
	Lock    string `json:"lock,omitempty"`   // what becomes of a restriction that this release cannot keep, or has no use for
	Start   bool   `json:"start,omitempty"`  // read once, when a session starts, not live
	Broken  string `json:"broken,omitempty"` // what a value that cannot be read does; empty: the key counts as not set
}

// Effects lists every known key and what becomes of it, in the order of the catalogue.
func Effects(sections ...Section) []Effect {
	cat := catalogueOf(sections)
	var out []Effect
	for _, name := range cat.order {
		k := cat.keys[name]
		e := Effect{Key: name, Meaning: k.Meaning, By: k.By, Scopes: k.Scopes.String(), Start: k.Start}
		switch {
		case k.Unkept != "":
			e.Lock = "refuses the start where an organisation sets it: " + k.Unkept
		case k.Lacks != "":
			e.Lock = "nothing to restrict yet: there are no " + k.Lacks
		}
		switch {
		case k.Refuse:
			e.Broken = "refuses the start"
		case k.Forbids:
			e.Broken = "counts as a lost rule"
		case k.Closed != "":
			e.Broken = "counts as " + k.Closed
		}
		out = append(out, e)
	}
	return out
}

// Inert lists the known keys that some file sets and nothing in this release acts upon, in the order of
// the catalogue. Locks that say so themselves are not among them.
func Inert(s *State, sections ...Section) []Entry {
	cat := catalogueOf(sections)
	var out []Entry
	for _, name := range cat.order {
		k := cat.keys[name]
		if k.By != "" || k.Lacks != "" || k.Unkept != "" {
			continue
		}
		if n := s.Lookup(name); n != nil {
			out = append(out, Entry{Key: name, Value: json.RawMessage("null"), At: placed(n)})
		}
	}
	return out
}

// placed is where a value stands; an object that was merged has the place of its first part.
func placed(n *Node) origin.Origin {
	for n.At.File == "" && len(n.Members) > 0 {
		n = n.Members[0].Value
	}
	return n.At
}

// Variable is an environment variable of the published format, or of our own.
type Variable struct {
	Name    string `json:"name"` // MYELIN_X is CLAUDE_CODE_X as well
	Meaning string `json:"meaning"`
	By      string `json:"by,omitempty"` // who acts upon it; empty: nothing in this release does
	Holds   bool   `json:"-"`            // it forbids what this program never does
}

// VariableEffects are the known variables; used are the names that are acted upon, by who does.
func VariableEffects(used map[string][]string) []Variable {
	by := map[string]string{}
	for owner, names := range used {
		for _, name := range names {
			by[name] = owner
		}
	}
	out := variables()
	for i := range out {
		out[i].By = by[out[i].Name]
		if out[i].Holds {
			out[i].By = "always holds"
		}
	}
	return out
}

// InertVariables are the names of the known variables that are set in an environment and that nothing in
// this release acts upon.
func InertVariables(env Environ, used map[string][]string) []string {
	var out []string
	for _, v := range VariableEffects(used) {
		if text, set := env.Get(v.Name); v.By == "" && set && strings.TrimSpace(text) != "" {
			out = append(out, v.Name)
		}
	}
	return out
}
