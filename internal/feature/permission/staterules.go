package permission

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// SourceOf is the source of rules from a place of settings.
func SourceOf(s origin.Scope) Source {
	switch s {
	case origin.Managed, origin.Policy:
		return FromManaged
	case origin.Project:
		return FromProject
	case origin.Local:
		return FromLocal
	case origin.User:
		return FromUser
	case origin.Session:
		return FromSession
	case origin.Agent:
		return FromAgent
	case origin.Skill, origin.Plugin:
		return FromSkill
	}
	return FromFlag
}

// Compiled keeps the compiled rules of the newest revision of one session. It is safe for
// concurrent use; the zero value is ready.
type Compiled struct {
	mu       sync.Mutex // guards all below
	revision int
	key      string
	rules    *Rules
}

// Rules compiles the rules of s, or returns them when nothing changed since.
func (c *Compiled) Rules(s *State, env Env) *Rules {
	key := env.Dirs.Cwd + "\x00" + env.Dirs.Home + "\x00" + env.Dirs.Project + "\x00" + strconv.Itoa(len(env.Known))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rules == nil || c.revision != s.Revision || c.key != key {
		c.rules, c.revision, c.key = Compile(s.AllRules(), env), s.Revision, key
	}
	return c.rules
}

// Fault is something wrong in the value of a settings key. At leads to it.
type Fault struct {
	At       []string
	Message  string
	Expected string
}

// CheckRules looks at the value of permissions.allow, ask or deny (an array of strings) and returns
// what is malformed.
func CheckRules(value json.RawMessage) []Fault {
	var texts []json.RawMessage
	if err := json.Unmarshal(value, &texts); err != nil {
		return []Fault{{Message: "is no list", Expected: "a list of rules"}}
	}
	var out []Fault
	for i, raw := range texts {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			continue // the type is told by whoever reads the file
		}
		if _, err := ParseRule(text); err != nil {
			out = append(out, Fault{At: []string{strconv.Itoa(i)}, Message: err.Error(), Expected: "Tool or Tool(specifier)"})
		}
	}
	return out
}
