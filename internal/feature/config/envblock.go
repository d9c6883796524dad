package config

import (
	"fmt"
	"sort"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// EnvVar is one variable of the env blocks, after all rules.
type EnvVar struct {
	Name  string
	Value string // empty: the variable is taken away where it was exported
	At    origin.Origin
	// Children says that the variable is for started processes alone and does not change this
	// program.
	Children bool
}

// String hides the value: variables are logged, and some hold keys.
func (v EnvVar) String() string { return fmt.Sprintf("%s=*** (%s)", v.Name, v.At) }

// Env returns the effective env block, sorted by name: a value overwrites what the shell exported,
// an empty one cancels it. Of MYELIN_X and CLAUDE_CODE_X in one level the former wins. Variables a
// file may not set are left out and returned as ignored.
func (s *State) Env() (vars []EnvVar, ignored []Ignored) {
	byName := map[string]EnvVar{}
	for _, l := range s.Effective.Layers {
		block := lookup(l.Root, "env")
		if block == nil {
			continue
		}
		own := map[string]bool{} // canonical names this level gave under our own prefix
		for _, m := range block.Members {
			if why := mayNotSet(m.Key, l.Scope); why != "" {
				ignored = append(ignored, Ignored{Key: "env." + m.Key, At: m.Value.At, Why: why})
				continue
			}
			name := canonicalName(m.Key)
			native := name != m.Key
			if own[name] && !native {
				continue
			}
			own[name] = own[name] || native
			byName[name] = EnvVar{
				Name: name, Value: m.Value.Text(), At: m.Value.At,
				Children: name == "NO_COLOR" || name == "FORCE_COLOR",
			}
		}
	}
	for _, v := range byName {
		vars = append(vars, v)
	}
	sort.Slice(vars, func(i, j int) bool { return vars[i].Name < vars[j].Name })
	return vars, ignored
}

func mayNotSet(name string, scope origin.Scope) string {
	switch {
	case name == "":
		return "a variable needs a name"
	case ownVariable(name):
		return "the program sets it itself, or reads it before there are settings"
	case folderMayNot(name) && (scope == origin.Project || scope == origin.Local):
		return "project and local files may not set it"
	}
	return ""
}

// With returns the environment with the env block laid over it: for this program (children false),
// or for what it starts.
func (e Environ) With(vars []EnvVar, children bool) Environ {
	out := make(map[string]string, len(e.vars)+len(vars))
	for k, v := range e.vars {
		out[k] = v
	}
	for _, v := range vars {
		if v.Children && !children {
			continue
		}
		// Both spellings: the block wins over an export under the other name.
		if rest, ok := cutPublic(v.Name); ok {
			delete(out, nativePrefix+rest)
		}
		delete(out, v.Name)
		if v.Value != "" {
			out[v.Name] = v.Value
		}
	}
	return Environ{vars: out}
}

// Lines are the variables as KEY=value, sorted.
func (e Environ) Lines() []string {
	out := make([]string, 0, len(e.vars))
	for k, v := range e.vars {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}
