// Package prompt says what the model is told beside the conversation: the working rules, what the
// person or host adds to them, the environment, and the background texts (instruction files,
// memory) that stand in front of the first message.
//
// It reads no files and runs nothing: the environment and the sources of background are handed in.
// What it returns is the same, byte for byte, for the whole session, since the provider's prompt
// cache depends on it; only [Prompt.Reload] and a change of model give another text. Rules are in
// rules.go. Begin with [New].
package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// State is this feature's slice: what fills the context, for /context.
type State struct {
	Items      []Item `json:"items"`
	PrefixHash string `json:"prefixHash,omitempty"` // of system prompt, tools and background: changes when the cache is lost
}

// Item is one thing that fills the context.
type Item struct {
	Source string `json:"source"` // system, style, appended, environment, tools, messages, results, summary, or the name of a source
	Label  string `json:"label"`  // for people
	Path   string `json:"path,omitempty"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"` // estimated
}

// Config says what a prompt is made of. The zero Config gives the rules and an empty environment.
type Config struct {
	State store.Slice[State] // nil: sizes are kept nowhere

	Replace *string  // stands in place of the rules; nil: the rules of this package
	Style   Style    // after the rules
	Append  string   // what the person or host adds, after all of it
	Tools   []string // names of the tools at the start: guidance is given for those alone
	Notes   Notes    // where the model may keep notes

	Environment Environment
	Model       func() string // provider/id of the model that will read it; nil: not told
	Sources     []Source      // background texts, in order

	Tokens func(bytes int) int // estimate; nil: four bytes a token
	Report func(error)         // told of a source that could not be read; nil: nobody
}

// Source gives background texts, such as the instruction files of a project.
type Source struct {
	Name string // "instructions", "memory"
	Load func(ctx context.Context) ([]Background, error)
}

// Background is one text that stands in front of the conversation.
type Background struct {
	Label string // what it is, in a few words: "project instructions, checked in"
	Path  string // where it stands; may be empty
	Text  string
}

// Notes are the places in which the model may keep notes of its own.
type Notes struct {
	Scratchpad string // a file of this session; empty: none
	Memory     string // a folder for all sessions of the project; empty: none
}

// Prompt assembles. It is safe for concurrent use.
type Prompt struct {
	cfg Config

	mu         sync.Mutex // guards all below
	model      string     // the model the system text was made for
	system     []msg.Block
	background []msg.Block
	loaded     bool            // background was loaded
	evicted    map[string]bool // paths of background that is left out
	fixed      []Item
	texts      []Item
	fronted    fronted
	counted    counted
}

// New returns a prompt for one conversation.
func New(cfg Config) *Prompt {
	if cfg.Tokens == nil {
		cfg.Tokens = func(bytes int) int { return (bytes + 3) / 4 }
	}
	return &Prompt{cfg: cfg}
}

// System returns the system prompt: the rules and what was added to them first, the environment
// last. Blocks returned earlier are never changed.
func (p *Prompt) System(context.Context) ([]msg.Block, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	model := ""
	if p.cfg.Model != nil {
		model = p.cfg.Model()
	}
	if p.system != nil && model == p.model {
		return p.system, nil
	}
	p.model, p.system, p.fixed = model, nil, nil
	if p.cfg.Replace != nil {
		p.add("system", "system prompt (given)", *p.cfg.Replace)
	} else {
		p.add("system", "working rules", Rules(p.cfg.Tools, p.cfg.Style.Text == "" || p.cfg.Style.Coding))
	}
	p.add("style", "output style "+p.cfg.Style.Name, p.cfg.Style.Text)
	if p.cfg.Replace == nil {
		p.add("notes", "where notes are kept", p.cfg.Notes.text())
	}
	p.add("appended", "appended system prompt", p.cfg.Append)
	// With a prompt of its own a host wants nothing said that it did not say, but where the work is.
	p.add("environment", "environment", p.cfg.Environment.text(model, p.cfg.Replace == nil))
	return p.system, nil
}

// add appends a block; an empty text is none.
func (p *Prompt) add(source, label, text string) {
	text = strings.TrimSpace(msg.CleanText(text))
	if text == "" {
		return
	}
	p.system = append(p.system, msg.Text{Text: text})
	p.fixed = append(p.fixed, p.item(source, label, "", len(text)))
}

func (p *Prompt) item(source, label, path string, bytes int) Item {
	return Item{Source: source, Label: label, Path: path, Bytes: bytes, Tokens: p.cfg.Tokens(bytes)}
}

// Background returns the blocks that stand in front of the first user message, nil when no source
// has a text. They are loaded once, until [Prompt.Reload]. A source that fails is reported and left
// out.
func (p *Prompt) Background(ctx context.Context) ([]msg.Block, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded {
		return p.background, nil
	}
	p.texts = nil
	var b strings.Builder
	for _, s := range p.cfg.Sources {
		texts, err := s.Load(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.report(fmt.Errorf("load %s: %w", s.Name, err))
		}
		for _, t := range texts {
			if t.Path != "" && p.evicted[t.Path] {
				continue
			}
			p.texts = append(p.texts, p.writeBackground(&b, s.Name, t)...)
		}
	}
	p.loaded, p.background = true, nil
	if b.Len() > 0 {
		text := "<system-reminder>\nBackground for this conversation:\n" + b.String() +
			"\nThis is background, to be used where it applies; it need not concern the request that follows.\n</system-reminder>"
		p.background = []msg.Block{msg.Text{Text: text}}
	}
	return p.background, nil
}

func (p *Prompt) writeBackground(b *strings.Builder, source string, t Background) []Item {
	text := strings.TrimSpace(msg.CleanText(t.Text))
	if text == "" {
		return nil
	}
	from := b.Len()
	switch {
	case t.Path != "" && t.Label != "":
		fmt.Fprintf(b, "\nContents of %s (%s):\n\n%s\n", t.Path, t.Label, text)
	case t.Path != "":
		fmt.Fprintf(b, "\nContents of %s:\n\n%s\n", t.Path, text)
	default:
		fmt.Fprintf(b, "\n%s:\n\n%s\n", t.Label, text)
	}
	return []Item{p.item(source, t.Label, t.Path, b.Len()-from)}
}

func (p *Prompt) report(err error) {
	if p.cfg.Report != nil {
		p.cfg.Report(err)
	}
}

// Show brings background of a path back, or leaves it out of requests for the rest of the session. It
// reports whether that changed anything; the text in front of the conversation is then another one.
func (p *Prompt) Show(path string, on bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := slices.ContainsFunc(p.texts, func(it Item) bool { return it.Path == path }); p.evicted[path] != on || !on && !known {
		return false
	}
	if p.evicted == nil {
		p.evicted = map[string]bool{}
	}
	p.evicted[path], p.loaded = !on, false
	return true
}

// Evicted are the paths of background that is left out.
func (p *Prompt) Evicted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for path, gone := range p.evicted {
		if gone {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Reload makes the next call load the background anew, and takes another environment, places for notes
// and output style. It is for the moments at which the prefix is new anyway: /clear, a compaction, a resume.
func (p *Prompt) Reload(env Environment, notes Notes, style Style) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cfg.Environment, p.cfg.Notes, p.cfg.Style = env, notes, style
	p.system, p.background, p.loaded = nil, nil, false
}

// Measure puts into the slice what fills the context now: the prompt, these tools, this history.
func (p *Prompt) Measure(tools []tool.Tool, history []msg.Message) {
	if p.cfg.State == nil {
		return
	}
	p.mu.Lock()
	items := append(append([]Item{}, p.fixed...), p.texts...)
	hash := p.prefix(tools)
	toolItem, _ := p.toolItem(tools)
	p.mu.Unlock()
	if toolItem.Bytes > 0 {
		items = append(items, toolItem)
	}
	items = append(items, p.conversation(history)...)
	next := State{Items: items, PrefixHash: hash}
	p.cfg.State.Set(func(prev *State) *State {
		if same(*prev, next) {
			return prev
		}
		return &next
	})
}

func same(a, b State) bool {
	if a.PrefixHash != b.PrefixHash || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if a.Items[i] != b.Items[i] {
			return false
		}
	}
	return true
}

func (p *Prompt) toolItem(tools []tool.Tool) (Item, int) {
	bytes := 0
	for _, t := range tools {
		s := t.Spec()
		bytes += len(s.Name) + len(s.Description) + len(s.Schema)
	}
	return p.item("tools", fmt.Sprintf("%d tools", len(tools)), "", bytes), bytes
}

// conversation measures messages, results and summaries.
func (p *Prompt) conversation(history []msg.Message) []Item {
	c := p.count(history)
	var out []Item
	for _, part := range []struct {
		source, label string
		bytes         int
	}{{"messages", "conversation", c.said}, {"results", "tool results", c.results}, {"summary", "summaries", c.summary}} {
		if part.bytes > 0 {
			out = append(out, p.item(part.source, part.label, "", part.bytes))
		}
	}
	return out
}

// prefix hashes what the provider's cache depends on.
func (p *Prompt) prefix(tools []tool.Tool) string {
	h := sha256.New()
	for _, t := range tools {
		s := t.Spec()
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00", s.Name, s.Description, s.Schema)
	}
	for _, b := range append(append([]msg.Block{}, p.system...), p.background...) {
		fmt.Fprintf(h, "%s\x00", b.(msg.Text).Text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
