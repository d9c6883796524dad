// Package config knows the settings files: where they are, which wins, how they merge, and from
// which file and line every value came. It never knows what a value means: each feature declares
// its part as a [Section], and is handed data.
//
// It does not decide trust, match rules or run hooks. Begin with [Find] for the places, [Load] for
// one reading, [Open] for settings that follow their files, and [Value] to read a key. docs.go
// writes the schema, write.go changes files, statefile.go keeps the program's own state file.
package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// State is the slice config: what is in force, where it came from and what was wrong. It is data
// only and immutable.
type State struct {
	Effective Settings  `json:"effective"`
	Sources   []Source  `json:"sources"`
	Errors    []Problem `json:"errors,omitempty"`
	Revision  int       `json:"revision"` // raised by each accepted reload
}

// Settings are the merged values, and beside them what each source supplies.
type Settings struct {
	Root    *Node     `json:"root"`              // all levels merged
	Layers  []Layer   `json:"layers"`            // lowest first, only what is accepted
	Ignored []Ignored `json:"ignored,omitempty"` // what a file says and does not get
}

// Layer is what one source supplies.
type Layer struct {
	Scope origin.Scope `json:"scope"`
	File  string       `json:"file"`
	Guest bool         `json:"guest,omitempty"`
	Root  *Node        `json:"root"`
}

// Source is one settings file, or the text of --settings, that was read.
type Source struct {
	Scope    origin.Scope `json:"scope"`
	Path     string       `json:"path"`
	Guest    bool         `json:"guest,omitempty"` // a file of the other tool, read and never written
	Hash     string       `json:"hash,omitempty"`  // SHA-256 of the content
	LoadedAt time.Time    `json:"loadedAt"`
	Bad      bool         `json:"bad,omitempty"` // it could not be read; see Errors
}

// Ignored is a value that has no effect, and why.
type Ignored struct {
	Key  string        `json:"key"`
	At   origin.Origin `json:"at"`
	Kind string        `json:"kind"` // what the folder would need to be trusted with; empty: another reason
	Why  string        `json:"why"`
}

// Node is one value with its place. Values of objects and arrays have places of their own.
type Node struct {
	Kind    jsonc.Kind      `json:"kind"`
	At      origin.Origin   `json:"at"`
	Scalar  json.RawMessage `json:"scalar,omitempty"` // of what is neither object nor array
	Members []Member        `json:"members,omitempty"`
	Elems   []*Node         `json:"elems,omitempty"`
	Over    []Candidate     `json:"over,omitempty"` // what it won against, strongest first
}

// Member is one key of an object.
type Member struct {
	Key   string `json:"key"`
	Value *Node  `json:"value"`
}

// Candidate is a value that lost.
type Candidate struct {
	At    origin.Origin   `json:"at"`
	Value json.RawMessage `json:"value"`
}

// Level says how bad a problem is.
type Level string

// The levels. A notice is for whoever looks, a warning for everybody at start, an error means that
// a whole file is not used.
const (
	LevelNotice  Level = "notice"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Problem is something wrong in a settings file. Everything else of the file stays in force, unless
// Skipped says otherwise.
type Problem struct {
	Level    Level        `json:"level"`
	Scope    origin.Scope `json:"scope,omitempty"`
	File     string       `json:"file"`
	Line     int          `json:"line,omitempty"`
	Column   int          `json:"column,omitempty"`
	Key      string       `json:"key,omitempty"`
	Message  string       `json:"message"`
	Expected string       `json:"expected,omitempty"`
	Nearest  string       `json:"nearest,omitempty"` // a known name or value that was probably meant
	Skipped  bool         `json:"skipped,omitempty"` // the whole file is not used
	// Lost says that a deny or ask rule, or something else that forbids, is not in force because of
	// this: a headless run must not go on unless it was told to.
	Lost bool `json:"lost,omitempty"`
	// Refuses says that the program must not start with this.
	Refuses bool `json:"refuses,omitempty"`
}

// String is one line: place, key, what is wrong, what was expected, what was probably meant.
func (p Problem) String() string {
	var b strings.Builder
	if place := p.At().Place(); place != "" {
		b.WriteString(place + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Expected != "" {
		b.WriteString("; expected " + p.Expected)
	}
	if p.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", p.Nearest)
	}
	if p.Skipped {
		b.WriteString("; the file is not used")
	}
	switch {
	case p.Lost && (p.Skipped || isRules(p.Key)):
		b.WriteString("; a deny or ask rule may be missing because of this")
	case p.Lost:
		b.WriteString("; what it restricts may not be in force because of this")
	}
	return b.String()
}

// At is the place of the problem.
func (p Problem) At() origin.Origin {
	return origin.Origin{Scope: p.Scope, File: p.File, Line: p.Line, Column: p.Column}
}

// LostRules are the problems that cost a deny or ask rule.
func (s *State) LostRules() []Problem {
	var out []Problem
	for _, p := range s.Errors {
		if p.Lost {
			out = append(out, p)
		}
	}
	return out
}

// JSON is the value as plain JSON.
func (n *Node) JSON() json.RawMessage { return n.appendJSON(nil) }

func (n *Node) appendJSON(b []byte) []byte {
	switch n.Kind {
	case jsonc.Object:
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote.JSON(b, m.Key), ':')
			b = m.Value.appendJSON(b)
		}
		return append(b, '}')
	case jsonc.Array:
		b = append(b, '[')
		for i, e := range n.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.appendJSON(b)
		}
		return append(b, ']')
	}
	return append(b, n.Scalar...)
}

// Get returns the member of an object; nil when there is none.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Text is the value of a string, empty for anything else.
func (n *Node) Text() string {
	if n == nil || n.Kind != jsonc.String {
		return ""
	}
	var s string
	if json.Unmarshal(n.Scalar, &s) != nil {
		return "" // the parser let no such literal through
	}
	return s
}

// Lookup returns the effective value of a dotted key; nil when no file sets it.
func (s *State) Lookup(key string) *Node { return lookup(s.Effective.Root, key) }

func lookup(n *Node, key string) *Node {
	for name := range strings.SplitSeq(key, ".") {
		n = n.Get(name)
	}
	return n
}

// Value decodes the effective value of a dotted key and tells its place. ok is false when no file
// sets it, or when it does not fit T: files are checked when they are read, so that means T is not
// the type the catalogue gives the key.
func Value[T any](s *State, key string) (value T, at origin.Origin, ok bool) {
	n := s.Lookup(key)
	if n == nil {
		return value, origin.Origin{}, false
	}
	if err := json.Unmarshal(n.JSON(), &value); err != nil {
		var zero T
		return zero, n.At, false
	}
	return value, n.At, true
}

// Block is what one source supplies under a key, unmerged.
type Block struct {
	At    origin.Origin
	Guest bool
	JSON  json.RawMessage
	// Lines tells the place of every object and array element inside, by JSON pointer
	// ("/PreToolUse/0/hooks/1").
	Lines map[string]origin.Origin
}

// Blocks returns what each source supplies under a dotted key, lowest first.
func (s *State) Blocks(key string) []Block {
	var out []Block
	for _, l := range s.Effective.Layers {
		n := lookup(l.Root, key)
		if n == nil {
			continue
		}
		b := Block{At: n.At, Guest: l.Guest, JSON: n.JSON(), Lines: map[string]origin.Origin{}}
		n.places("", b.Lines)
		out = append(out, b)
	}
	return out
}

func (n *Node) places(at string, into map[string]origin.Origin) {
	for _, m := range n.Members {
		p := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m.Key)
		into[p] = m.Value.At
		m.Value.places(p, into)
	}
	for i, e := range n.Elems {
		p := fmt.Sprintf("%s/%d", at, i)
		into[p] = e.At
		e.places(p, into)
	}
}

// Rule is one permission rule as it stands in a file.
type Rule struct {
	List string // allow, ask, deny
	Text string
	At   origin.Origin
}

// Rules returns the permission rules of all sources, lowest first, in the order of the files.
func (s *State) Rules() []Rule {
	var out []Rule
	for _, l := range s.Effective.Layers {
		for _, list := range []string{"allow", "ask", "deny"} {
			for _, text := range texts(lookup(l.Root, "permissions."+list)) {
				out = append(out, Rule{List: list, Text: text.Text(), At: text.At})
			}
		}
	}
	return out
}

// Dir is one additional working directory as it stands in a file.
type Dir struct {
	Path string
	At   origin.Origin
}

// Dirs returns permissions.additionalDirectories of all sources, lowest first.
func (s *State) Dirs() []Dir {
	var out []Dir
	for _, l := range s.Effective.Layers {
		for _, n := range texts(lookup(l.Root, "permissions.additionalDirectories")) {
			out = append(out, Dir{Path: n.Text(), At: n.At})
		}
	}
	return out
}

// Hooks returns the hooks of each source, lowest first.
func (s *State) Hooks() []Block { return s.Blocks("hooks") }

func texts(n *Node) []*Node {
	if n == nil {
		return nil
	}
	return n.Elems
}
