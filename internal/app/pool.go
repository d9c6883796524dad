package app

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// pool assembles the tools of the conversation, in five steps: base list, mode filter, MCP,
// blanket-deny filter, dedupe. One pool makes the tools of the main conversation and of every
// child; a child's is a filter over it.
type pool struct {
	builtin []tool.Tool
	foreign func() map[string][]tool.Tool   // tools of servers, by server; nil: none
	base    *[]string                       // names of built-in tools that may be used; nil: all
	answers bool                            // somebody can answer questions
	denied  func() func(name string) string // the bare deny rule that hits a tool now, empty: none
	absent  map[string]string               // tools that cannot be used here, and why

	mu     sync.Mutex // guards the rest
	loaded map[string]bool
	search *naming // the one of the round before
}

// naming is ToolSearch with the names of the tools it can load.
type naming struct {
	tool.Tool
	names []string
	spec  tool.Spec
}

// Spec implements tool.Tool.
func (n *naming) Spec() tool.Spec { return n.spec }

// naming returns ToolSearch with the names of what it can load now. They seldom change.
func (p *pool) naming(search tool.Tool, deferred []tool.Tool) tool.Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := func(name string, t tool.Tool) bool { return name == t.Spec().Name }
	if p.search == nil || !slices.EqualFunc(p.search.names, deferred, same) {
		n := &naming{Tool: search, spec: search.Spec()}
		for _, t := range deferred {
			n.names = append(n.names, t.Spec().Name)
		}
		n.spec.Description += " Can be loaded: " + strings.Join(n.names, " ")
		p.search = n
	}
	return p.search
}

// load offers deferred tools from the next round on.
func (p *pool) load(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded == nil {
		p.loaded = map[string]bool{}
	}
	for _, n := range names {
		p.loaded[n] = true
	}
}

// called loads a deferred tool that the model called without having loaded it: the call fails with a
// clear word, the next one works.
func (p *pool) called(name string) {
	name = tool.Current(name)
	for _, t := range p.builtin {
		if s := t.Spec(); s.Deferred && s.Name == name && !p.isLoaded(name) {
			p.load(name)
		}
	}
}

// assemble returns the tools the model is offered, those it may load, and what became of each. The
// order is that of the lists, so that the prompt cache holds.
func (p *pool) assemble() (offered, deferred []tool.Tool, all []Pooled) {
	drop := func(t tool.Tool, source, state, step, why string) {
		all = append(all, Pooled{Name: t.Spec().Name, Source: source, State: state, Step: step, Why: why})
	}
	type candidate struct {
		tool   tool.Tool
		source string
	}
	var kept []candidate
	for _, t := range p.builtin {
		s := t.Spec()
		switch why := p.absent[s.Name]; {
		case why != "":
			drop(t, "built-in", "absent", "base", why)
		case p.base != nil && !slices.Contains(*p.base, s.Name):
			drop(t, "built-in", "filtered", "base", "not in the list of tools that was given")
		case s.NeedsPerson && !p.answers:
			drop(t, "built-in", "filtered", "mode", "nobody can answer")
		default:
			kept = append(kept, candidate{t, "built-in"})
		}
	}
	if p.foreign != nil {
		servers := p.foreign()
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			for _, t := range servers[name] {
				kept = append(kept, candidate{t, name})
			}
		}
	}
	denied, seen := p.denied(), map[string]bool{}
	searchable := slices.ContainsFunc(kept, func(c candidate) bool { return c.tool.Spec().Name == "ToolSearch" })
	for _, c := range kept {
		s := c.tool.Spec()
		if rule := denied(s.Name); rule != "" {
			drop(c.tool, c.source, "denied", "deny", rule)
			continue
		}
		if seen[s.Name] {
			drop(c.tool, c.source, "filtered", "dedupe", "another tool has this name")
			continue
		}
		seen[s.Name] = true
		if s.Deferred && searchable && !p.isLoaded(s.Name) {
			deferred = append(deferred, c.tool)
			drop(c.tool, c.source, "deferred", "dedupe", "loaded by ToolSearch when needed")
			continue
		}
		offered = append(offered, c.tool)
		drop(c.tool, c.source, "offered", "dedupe", "")
	}
	return offered, deferred, all
}

func (p *pool) isLoaded(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loaded[name]
}

// refresh assembles the pool and enters it in the state when something changed.
func (s *Session) refresh() (offered, deferred []tool.Tool) {
	offered, deferred, all := s.rooms.pool.assemble()
	s.part.pool.Set(func(prev *Pool) *Pool {
		if slices.Equal(prev.Pool, all) {
			return prev
		}
		next := &Pool{Pool: all, Revision: prev.Revision}
		if !slices.Equal(names(prev.Pool), names(all)) {
			next.Revision++
		}
		return next
	})
	return offered, deferred
}

// names are the tools of a pool the model can use, those included that it must load first.
func names(all []Pooled) []string {
	out := []string{}
	for _, p := range all {
		if p.State == "offered" || p.State == "deferred" {
			out = append(out, p.Name)
		}
	}
	return out
}

func (s *Session) offered() []string {
	s.refresh()
	return names(s.part.pool.Get().Pool)
}
