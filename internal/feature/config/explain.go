package config

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Explanation says what a key's value is and why.
type Explanation struct {
	Key     string
	Known   bool
	Nearest string // of an unknown key
	Meaning string
	By      string // who acts upon it; empty: nothing in this release does
	Type    string
	Scopes  string
	Start   bool            // read once, when a session starts
	Set     bool            // some file sets it
	Value   json.RawMessage // nil: neither set nor a default
	At      origin.Origin   // of the value, or the default
	// Parts are the elements or members of an array or object, each with its place.
	Parts []Part
	// Over are the values it won against, strongest first.
	Over []Candidate
	// Ignored are values of the key, or inside it, that have no effect, and why.
	Ignored []Ignored
	// Problems are what is wrong with it in the files.
	Problems []Problem
}

// Part is one element or member.
type Part struct {
	Key   string // empty for elements
	Value json.RawMessage
	At    origin.Origin
	Over  []Candidate
}

// Explain says what the value of a dotted key is, which file and line it is from, and what it won
// against. Sections should be those the state was loaded with.
func Explain(s *State, key string, sections ...Section) Explanation {
	cat := catalogueOf(sections)
	e := Explanation{Key: key, At: origin.Origin{Scope: origin.Default}}
	if k, ok := cat.keys[key]; ok {
		e.Known, e.Meaning, e.By, e.Type, e.Scopes, e.Start = true, k.Meaning, k.By, k.Type.describe(), k.Scopes.String(), k.Start
		if k.Default != "" {
			e.Value = json.RawMessage(k.Default)
		}
	} else if cat.spaces[key] {
		e.Known = true
	} else {
		e.Nearest = cat.nearest(key)
	}
	if n := s.Lookup(key); n != nil {
		e.Set, e.Known, e.Nearest = true, true, ""
		e.Value, e.At, e.Over = n.JSON(), n.At, n.Over
		for _, m := range n.Members {
			e.Parts = append(e.Parts, Part{Key: m.Key, Value: m.Value.JSON(), At: m.Value.At, Over: m.Value.Over})
		}
		for _, el := range n.Elems {
			e.Parts = append(e.Parts, Part{Value: el.JSON(), At: el.At, Over: el.Over})
		}
	}
	for _, i := range s.Effective.Ignored {
		if i.Key == key || strings.HasPrefix(i.Key, key+".") {
			e.Ignored = append(e.Ignored, i)
		}
	}
	for _, p := range s.Errors {
		if p.Key == key || strings.HasPrefix(p.Key, key+".") || strings.HasPrefix(p.Key, key+"[") {
			e.Problems = append(e.Problems, p)
		}
	}
	return e
}

// Entry is one effective setting.
type Entry struct {
	Key   string
	Value json.RawMessage
	At    origin.Origin
}

// List returns every known key that some file sets, sorted, with the values of env and of keys that
// may hold secrets hidden.
func List(s *State, sections ...Section) []Entry {
	cat := catalogueOf(sections)
	var out []Entry
	for _, name := range cat.order {
		n := s.Lookup(name)
		if n == nil {
			continue
		}
		out = append(out, Entry{Key: name, Value: masked(name, n).JSON(), At: n.At})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// masked hides what must not be printed.
func masked(key string, n *Node) *Node {
	if key != "env" && key != "pluginConfigs" {
		return n
	}
	out := &Node{Kind: n.Kind, At: n.At}
	for _, m := range n.Members {
		out.Members = append(out.Members, Member{Key: m.Key, Value: &Node{Kind: jsonc.String, At: m.Value.At, Scalar: json.RawMessage(`"***"`)}})
	}
	return out
}
