package config

import (
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// Type is the set of shapes a value may have.
type Type uint16

// The shapes.
const (
	TBool Type = 1 << iota
	TString
	TNumber
	TInt
	TStrings // array of strings
	TObjects // array of objects
	TArray   // array of anything
	TObject
	TStringMap // object of strings
	TBoolMap   // object of booleans
	TAny
)

// Key is one entry of the catalogue.
type Key struct {
	Name    string // dotted
	Type    Type
	Meaning string
	Default string // JSON; empty: none, or described by Meaning
	Scopes  Scopes
	Need    int    // of the published format: 1 and 2 first, 3 not at all. Whether it has an effect says By
	By      string // who acts upon it, of a Section; empty: nothing does
	Enum    []string
	Min     float64 // of a number, when Max is not zero
	Max     float64
	Merge   Merge
	Kind    Kinds
	// Strict lists JSON values from lax to strict. The strictest that a level of StrictFrom sets
	// wins over every level.
	Strict     []string
	StrictFrom Scopes
	// Closed is the JSON value that stands in when a value cannot be read, for keys that restrict: a
	// lock that was mistyped is shut.
	Closed string
	// Forbids says that the value lists what is forbidden, or holds such lists: a part that cannot be
	// read counts as a lost deny rule.
	Forbids bool
	// Refuse says that a value that cannot be read refuses the start: nothing can stand in for it.
	Refuse bool
	// Open says, of a key that restricts, why a value that cannot be read leaves it open.
	Open string
	// Lacks names what the key restricts and this release does not have; whoever sets it is told.
	Lacks string
	// Unkept says why this release cannot keep what the key demands: a managed value refuses the start.
	Unkept string
	// Start says that the key is read once, when a session starts.
	Start bool

	schema []byte // of a Section
	check  func([]byte) []Fault
}

// catalogue is the table of known keys, with what sections added.
type catalogue struct {
	keys   map[string]*Key
	spaces map[string]bool // names that are objects of known keys
	order  []string
}

// catalogueOf builds the table of the known keys and sections.
func catalogueOf(sections []Section) *catalogue {
	if len(sections) == 0 {
		return plainCatalogue()
	}
	c := &catalogue{keys: map[string]*Key{}, spaces: map[string]bool{}}
	for _, k := range Keys() {
		c.add(k)
	}
	for _, s := range sections {
		c.declare(s)
	}
	return c
}

var plainCatalogue = sync.OnceValue(func() *catalogue {
	c := &catalogue{keys: map[string]*Key{}, spaces: map[string]bool{}}
	for _, k := range Keys() {
		c.add(k)
	}
	return c
})

func (c *catalogue) add(k Key) {
	if _, ok := c.keys[k.Name]; !ok {
		c.order = append(c.order, k.Name)
	}
	c.keys[k.Name] = &k
	for i := range k.Name {
		if k.Name[i] == '.' {
			c.spaces[k.Name[:i]] = true
		}
	}
}

// declare lets a section refine the catalogue's entry.
func (c *catalogue) declare(s Section) {
	k := Key{Name: s.Key, Type: TAny, Scopes: Anywhere, Need: 1, Kind: Allow}
	if old, ok := c.keys[s.Key]; ok {
		k = *old
	}
	if s.Scopes != 0 {
		k.Scopes = s.Scopes
	}
	if s.Merge != Deep {
		k.Merge = s.Merge
	}
	if s.Type != 0 {
		k.Type = s.Type
	}
	if s.Kind != 0 {
		k.Kind = s.Kind
	}
	if s.Schema != nil {
		k.schema = s.Schema
	}
	if s.By != "" {
		k.By = s.By
	}
	if s.Check != nil {
		k.check = func(raw []byte) []Fault { return s.Check(raw) }
	}
	c.add(k)
}

// nearest returns the known name that a wrong one of the same object probably means; empty when
// none is near.
func (c *catalogue) nearest(name string) string {
	dot := strings.LastIndexByte(name, '.') + 1
	prefix, last := name[:dot], name[dot:]
	var siblings []string
	for full := range c.keys {
		if rest, ok := strings.CutPrefix(full, prefix); ok {
			first, _, _ := strings.Cut(rest, ".")
			siblings = append(siblings, first)
		}
	}
	if near := slip(last, siblings); near != "" {
		return prefix + near
	}
	// The right name in the wrong object: "deny" at the top instead of "permissions.deny".
	best := ""
	for full := range c.keys {
		if strings.HasSuffix(full, "."+last) && (best == "" || len(full) < len(best) || len(full) == len(best) && full < best) {
			best = full
		}
	}
	return best
}

// slip returns the candidate that name was probably meant to be, empty when none is near enough.
func slip(name string, candidates []string) string {
	return nearest.Name(name, candidates, max(1, len(name)/3))
}

// describe is the type for a sentence: "a boolean or a string".
func (t Type) describe() string {
	var out []string
	for _, n := range []struct {
		bit  Type
		name string
	}{
		{TBool, "true or false"},
		{TString, "a string"},
		{TInt, "a whole number"},
		{TNumber, "a number"},
		{TStrings, "an array of strings"},
		{TObjects, "an array of objects"},
		{TArray, "an array"},
		{TObject, "an object"},
		{TStringMap, "an object of strings"},
		{TBoolMap, "an object of true or false"},
	} {
		if t&n.bit != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ", or ")
}

// takes reports whether a value of that kind can be of the type.
func (t Type) takes(kind jsonc.Kind) bool {
	if t&TAny != 0 {
		return true
	}
	switch kind {
	case jsonc.Bool:
		return t&TBool != 0
	case jsonc.String:
		return t&TString != 0
	case jsonc.Number:
		return t&(TNumber|TInt) != 0
	case jsonc.Array:
		return t&(TStrings|TObjects|TArray) != 0
	case jsonc.Object:
		return t&(TObject|TStringMap|TBoolMap) != 0
	}
	return false
}
