// Package origin says where a value came from: the scope that supplied it and the place in a file,
// so that every message, explanation and list can name both.
//
// It is vocabulary only: it reads no file and knows no precedence. Begin with [Origin].
package origin

import (
	"strconv"
	"strings"
)

// Scope names who supplied a value. The zero Scope is unknown.
type Scope string

// The scopes. Settings files have one of Managed, User, Project and Local.
const (
	Default Scope = "default" // built into the program
	User    Scope = "user"    // the person's own files in home
	Project Scope = "project" // files shared with everybody who has the folder
	Local   Scope = "local"   // one person's files for one folder
	Flag    Scope = "flag"    // the command line
	Env     Scope = "env"     // an environment variable
	Managed Scope = "managed" // the administrator of the machine
	Policy  Scope = "policy"  // the organisation's served limits
	Session Scope = "session" // answers and commands of the running session
	Agent   Scope = "agent"   // an agent definition
	Skill   Scope = "skill"   // a skill or command file
	Plugin  Scope = "plugin"  // a plugin
	Host    Scope = "host"    // the program that embeds this one
)

// Origin is one place. The zero Origin means unknown; File may be empty (a flag, a default), Line
// and Column are from 1, Column counted in bytes, and 0 where unknown. It is a comparable value.
type Origin struct {
	Scope  Scope  `json:"scope,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Place is file:line:column as compilers and editors write it, with the parts that are known; empty
// when there is no file.
func (o Origin) Place() string {
	if o.File == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(o.File)
	if o.Line > 0 {
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(o.Line))
		if o.Column > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(o.Column))
		}
	}
	return b.String()
}

// String is for people: the place and, in brackets, the scope.
func (o Origin) String() string {
	place := o.Place()
	switch {
	case place == "" && o.Scope == "":
		return "unknown"
	case place == "":
		return o.Scope.Label()
	case o.Scope == "":
		return place
	}
	return place + " (" + o.Scope.Label() + ")"
}

// IsZero reports whether nothing is known.
func (o Origin) IsZero() bool { return o == Origin{} }

// Label is the scope's name for people.
func (s Scope) Label() string {
	switch s {
	case "":
		return "unknown"
	case Default:
		return "built-in default"
	case Flag:
		return "command line"
	case Env:
		return "environment"
	case Policy:
		return "organisation policy"
	}
	return string(s)
}
