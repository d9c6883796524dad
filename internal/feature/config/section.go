package config

import (
	"encoding/json"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Section is a feature's declaration of one key: how a value is checked, where it may stand and how
// it merges. What is left zero is taken from the catalogue; a key the catalogue does not have is
// added to it.
type Section struct {
	Key string // dotted
	By  string // who acts upon the key, as a folder below internal; empty: another section says it
	// Check looks at the value of one source and returns what is wrong in it; nil when all is well.
	// The parts it names are dropped, the rest stays in force. Nil: the type alone is checked.
	Check func(value json.RawMessage) []Fault
	// Schema is the JSON Schema of the value, for docs and editors; nil: by type.
	Schema json.RawMessage
	Scopes Scopes
	Merge  Merge
	Type   Type
	Kind   Kinds // what it can do to the machine; needed for keys the catalogue does not have
}

// Fault is something wrong inside a value. At leads to it by keys and decimal indexes; an empty At
// is the whole value.
type Fault struct {
	At       []string
	Message  string
	Expected string
	Nearest  string
	// Keep leaves the part in force: it is only talked about.
	Keep bool
	// Grants says that the part would only have allowed something: nothing that forbids is lost.
	Grants bool
}

// Scopes is a set of scopes a key may stand in.
type Scopes uint16

// The scopes of settings, and the sets the catalogue uses.
const (
	InUser Scopes = 1 << iota
	InProject
	InLocal
	InFlag
	InManaged
	InGlobal // the program's state file

	Anywhere         = InUser | InProject | InLocal | InFlag | InManaged
	UserManaged      = InUser | InFlag | InManaged
	UserLocalManaged = UserManaged | InLocal
	ManagedOnly      = InManaged
)

func scopeBit(s origin.Scope) Scopes {
	switch s {
	case origin.User:
		return InUser
	case origin.Project:
		return InProject
	case origin.Local:
		return InLocal
	case origin.Flag:
		return InFlag
	case origin.Managed:
		return InManaged
	}
	return 0
}

// String lists the scopes for people.
func (s Scopes) String() string {
	var out []string
	for _, n := range []struct {
		bit  Scopes
		name string
	}{
		{InManaged, "managed"},
		{InFlag, "--settings"},
		{InLocal, "local"},
		{InProject, "project"},
		{InUser, "user"},
		{InGlobal, "the state file"},
	} {
		if s&n.bit != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ", ")
}

// Merge says how the values of several levels become one.
type Merge uint8

// The kinds of merging.
const (
	// Deep merges objects by key and concatenates arrays without doubles, lowest level first.
	Deep Merge = iota
	// Replace takes the value of the highest level whole.
	Replace
	// ReplaceEach merges an object by key, and takes each of its values whole.
	ReplaceEach
	// ReplaceManaged is Replace when the managed level sets the key, else Deep.
	ReplaceManaged
	// Concat is Deep with doubles kept.
	Concat
)

// Kinds is a set of things a folder's settings can do, by which they wait for trust.
type Kinds uint16

// The kinds. Restrict only tightens and needs no trust.
const (
	Restrict Kinds = 1 << iota
	Plain          // taste and model: nothing runs, nothing is granted
	Allow          // allow rules, directories, modes, holes in the sandbox
	Hooks
	EnvVars
	Helpers // commands the program runs for itself
	MCP
	Plugins

	AllKinds = Restrict | Plain | Allow | Hooks | EnvVars | Helpers | MCP | Plugins
)

// kindNames are the words of --trust and of the trust question.
func kindNames() []struct {
	Bit  Kinds
	Name string
} {
	return []struct {
		Bit  Kinds
		Name string
	}{
		{Restrict, "restrict"},
		{Plain, "plain"},
		{Allow, "allow"},
		{Hooks, "hooks"},
		{EnvVars, "env"},
		{Helpers, "helpers"},
		{MCP, "mcp"},
		{Plugins, "plugins"},
	}
}

// Names are the names of the kinds in the set, in a fixed order.
func (k Kinds) Names() []string {
	var out []string
	for _, n := range kindNames() {
		if k&n.Bit != 0 {
			out = append(out, n.Name)
		}
	}
	return out
}

// KindsOf is the set of the kinds of these names. Unknown names are returned.
func KindsOf(names ...string) (set Kinds, unknown []string) {
	for _, name := range names {
		bit := Kinds(0)
		for _, n := range kindNames() {
			if n.Name == name {
				bit = n.Bit
			}
		}
		if bit == 0 {
			unknown = append(unknown, name)
		}
		set |= bit
	}
	return set, unknown
}

// View says which kinds of settings the folder's own files may supply. The zero View is that of a
// folder nobody trusts: only what restricts.
type View struct {
	Project Kinds `json:"project"`
	Local   Kinds `json:"local"`
}

// TrustAll is the view of a folder that is trusted with everything.
func TrustAll() View { return View{Project: AllKinds, Local: AllKinds} }
