// Package pool assembles the tools a model is offered, in five steps: base list, mode filter, servers,
// blanket deny rules, dedupe. It also loads deferred tools, when the model asks for them or calls one
// without having loaded it.
//
// It is handed the tools and functions, and decides nothing about calls. Begin with [New] and
// [Pool.Offer].
package pool

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// State is the slice "tool": every tool and what became of it on its way into the pool.
type State struct {
	Pool     []Entry `json:"pool"`
	Revision int     `json:"revision"` // raised when the offered set changes
}

// Entry is one tool of the pool, also one that was dropped.
type Entry struct {
	Name   string `json:"name"`
	Source string `json:"source"` // built-in, or the server it comes from
	State  string `json:"state"`  // offered, deferred, filtered, denied, absent
	Step   string `json:"step"`   // base, mode, mcp, deny, dedupe
	Why    string `json:"why,omitempty"`
}

// Given is what a [Pool] is handed. Functions are called before each round and do not wait.
type Given struct {
	State   store.Slice[State]
	Builtin []tool.Tool
	Foreign func() map[string][]tool.Tool   // tools of servers, by server; nil: none
	Base    *[]string                       // names of built-in tools that may be used; nil: all. One that ends the turn may always be
	Answers bool                            // somebody can answer questions
	Denied  func() func(name string) string // the bare deny rule that hits a tool now, empty: none
	Absent  func(name string) string        // why a tool cannot be used with the present model; empty: it can
	Defers  func() bool                     // the present model's service keeps tools back until a result refers to them; nil: no
}

// Pool holds the tools of a session and knows which are loaded. It is safe for concurrent use.
type Pool struct {
	given  Given
	byName map[string]tool.Tool

	mu     sync.Mutex           // guards the rest
	loaded []string             // deferred tools, in the order in which they were loaded
	full   map[string]bool      // those of them to which no result refers
	shown  map[string]tool.Tool // loaded tools as they are offered in full
	search *naming              // the one of the round before
}

// New makes a pool in which nothing is loaded.
func New(given Given) *Pool {
	p := &Pool{given: given, byName: map[string]tool.Tool{}, full: map[string]bool{}, shown: map[string]tool.Tool{}}
	for _, t := range given.Builtin {
		p.byName[t.Spec().Name] = t
	}
	return p
}

// Tool finds a built-in tool by its canonical name; nil: there is none.
func (p *Pool) Tool(name string) tool.Tool { return p.byName[name] }

// Known are the names of the built-in tools, sorted.
func (p *Pool) Known() []string { return slices.Sorted(maps.Keys(p.byName)) }

// Load offers deferred tools from the next round on. A result refers to them.
func (p *Pool) Load(names ...string) { p.load(false, names...) }

func (p *Pool) load(full bool, names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range names {
		if !slices.Contains(p.loaded, n) {
			p.loaded = append(p.loaded, n)
		}
		p.full[n] = p.full[n] || full
	}
}

// Compacted is told that the results which refer to tools may be gone.
func (p *Pool) Compacted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.loaded {
		p.full[n] = true
	}
}

// LoadPlanning loads the tools that belong to plan mode.
func (p *Pool) LoadPlanning() {
	for _, t := range p.given.Builtin {
		if s := t.Spec(); s.Plans {
			p.load(true, s.Name)
		}
	}
}

// EndsTurn says whether a call of the tool that succeeds is the result of the turn.
func (p *Pool) EndsTurn(name string) bool {
	t := p.byName[name]
	return t != nil && t.Spec().EndsTurn
}

// Called loads a deferred tool that the model called without having loaded it. Where the service keeps
// tools back the call runs; elsewhere it fails with a clear word, and the next one works.
func (p *Pool) Called(name string) {
	name = tool.Current(name)
	if t := p.byName[name]; t != nil && t.Spec().Deferred && !p.isLoaded(name) {
		p.load(true, name)
	}
}

// Offer returns the tools of the next round and enters the pool in the state when something changed.
// What can be loaded is named in the description of the tool that loads it, and stays named there: the
// tools of a round begin with those of the round before. What was loaded comes last, in its order; where
// the service keeps tools back, all that are deferred come along.
func (p *Pool) Offer() []tool.Tool {
	offered, deferrable := p.refresh()
	if len(deferrable) == 0 {
		return offered
	}
	out := slices.Clone(offered)
	for i, t := range out {
		if t.Spec().Finds {
			out[i] = p.naming(t, deferrable)
		}
	}
	back := p.given.Defers != nil && p.given.Defers()
	p.mu.Lock()
	defer p.mu.Unlock()
	by := map[string]tool.Tool{}
	for _, t := range deferrable {
		by[t.Spec().Name] = t
		if back && !p.full[t.Spec().Name] {
			out = append(out, t)
		}
	}
	for _, name := range p.loaded {
		if t := by[name]; t != nil && (!back || p.full[name]) {
			out = append(out, p.inFull(t))
		}
	}
	return out
}

// inFull is a deferred tool as one that is not. The lock is held.
func (p *Pool) inFull(t tool.Tool) tool.Tool {
	spec := t.Spec()
	known, ok := p.shown[spec.Name].(*described)
	if !ok || known.Tool != t {
		spec.Deferred = false
		known = &described{t, spec}
		p.shown[spec.Name] = known
	}
	return known
}

// described is a tool with another description of itself.
type described struct {
	tool.Tool
	spec tool.Spec
}

// Spec implements tool.Tool.
func (d *described) Spec() tool.Spec { return d.spec }

// Deferred are the tools that can be loaded, those included that are.
func (p *Pool) Deferred() []tool.Tool {
	_, deferrable, _ := p.assemble()
	return deferrable
}

// Names are the tools the model can use now, those included that it must load first.
func (p *Pool) Names() []string {
	p.refresh()
	return usable(p.given.State.Get().Pool)
}

// naming is ToolSearch with the names of the tools it can load.
type naming struct {
	described
	names []string
}

// naming returns ToolSearch with the names of what it can load now. They seldom change.
func (p *Pool) naming(search tool.Tool, deferred []tool.Tool) tool.Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := func(name string, t tool.Tool) bool { return name == t.Spec().Name }
	if p.search == nil || !slices.EqualFunc(p.search.names, deferred, same) {
		n := &naming{described: described{search, search.Spec()}}
		for _, t := range deferred {
			n.names = append(n.names, t.Spec().Name)
		}
		n.spec.Description += " Can be loaded: " + strings.Join(n.names, " ")
		p.search = n
	}
	return p.search
}

// candidate is a tool on its way into the pool.
type candidate struct {
	tool   tool.Tool
	source string
}

func (c candidate) entry(state, step, why string) Entry {
	return Entry{Name: c.tool.Spec().Name, Source: c.source, State: state, Step: step, Why: why}
}

// assemble returns the tools the model is always offered, those it may load or has loaded, and what became
// of each. The order is that of the lists, so that the prompt cache holds.
func (p *Pool) assemble() (offered, deferrable []tool.Tool, all []Entry) {
	kept, all := p.candidates()
	denied, seen := p.given.Denied(), map[string]bool{}
	searchable := slices.ContainsFunc(kept, func(c candidate) bool { return c.tool.Spec().Finds })
	for _, c := range kept {
		s := c.tool.Spec()
		rule := denied(s.Name)
		switch {
		case rule != "":
			all = append(all, c.entry("denied", "deny", rule))
			continue
		case seen[s.Name]:
			all = append(all, c.entry("filtered", "dedupe", "another tool has this name"))
			continue
		case s.Deferred && searchable && !p.isLoaded(s.Name):
			deferrable = append(deferrable, c.tool)
			all = append(all, c.entry("deferred", "dedupe", "loaded by ToolSearch when needed"))
		case s.Deferred && searchable:
			deferrable = append(deferrable, c.tool)
			all = append(all, c.entry("offered", "dedupe", ""))
		case s.Deferred: // nothing could load it
			p.mu.Lock()
			offered = append(offered, p.inFull(c.tool))
			p.mu.Unlock()
			all = append(all, c.entry("offered", "dedupe", ""))
		default:
			offered = append(offered, c.tool)
			all = append(all, c.entry("offered", "dedupe", ""))
		}
		seen[s.Name] = true
	}
	return offered, deferrable, all
}

// candidates are the built-in tools that may be used here, and those of servers; dropped is what became of
// the others.
func (p *Pool) candidates() (kept []candidate, dropped []Entry) {
	for _, t := range p.given.Builtin {
		s, c := t.Spec(), candidate{t, "built-in"}
		switch why := p.given.Absent(s.Name); {
		case why != "":
			dropped = append(dropped, c.entry("absent", "base", why))
		case p.given.Base != nil && !s.EndsTurn && !slices.Contains(*p.given.Base, s.Name):
			dropped = append(dropped, c.entry("filtered", "base", "not in the list of tools that was given"))
		case s.NeedsPerson && !p.given.Answers:
			dropped = append(dropped, c.entry("filtered", "mode", "nobody can answer"))
		default:
			kept = append(kept, c)
		}
	}
	if p.given.Foreign == nil {
		return kept, dropped
	}
	servers := p.given.Foreign()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		for _, t := range servers[name] {
			kept = append(kept, candidate{t, name})
		}
	}
	return kept, dropped
}

func (p *Pool) isLoaded(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.loaded, name)
}

// refresh assembles the pool and enters it in the state when something changed.
func (p *Pool) refresh() (offered, deferrable []tool.Tool) {
	offered, deferrable, all := p.assemble()
	p.given.State.Set(func(prev *State) *State {
		if slices.Equal(prev.Pool, all) {
			return prev
		}
		next := &State{Pool: all, Revision: prev.Revision}
		if !slices.Equal(usable(prev.Pool), usable(all)) {
			next.Revision++
		}
		return next
	})
	return offered, deferrable
}

// usable are the tools of a pool the model can use, those included that it must load first.
func usable(all []Entry) []string {
	out := []string{}
	for _, e := range all {
		if e.State == "offered" || e.State == "deferred" {
			out = append(out, e.Name)
		}
	}
	return out
}
