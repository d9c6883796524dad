package inspect

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

const noEffect = "no effect in this release"

// mostNamed is how many settings without effect one line names.
const mostNamed = 8

// InertLine names, on one line, the settings and variables that are set and that nothing acts upon; empty:
// there are none.
func InertLine(state *config.State, sections []config.Section, env config.Environ, used map[string][]string) string {
	var names []string
	for _, e := range config.Inert(state, sections...) {
		names = append(names, e.Key+" ("+e.At.Place()+")")
	}
	names = append(names, config.InertVariables(env, used)...)
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > mostNamed {
		names, more = names[:mostNamed], ", …"
	}
	return "settings with " + noEffect + ": " + strings.Join(names, ", ") + more + "; myelin config list --effects shows what works"
}

// Effects is every known key and variable and what becomes of it.
type Effects struct {
	Keys      []config.Effect   `json:"keys"`
	Variables []config.Variable `json:"variables"`
}

// Effects lists what becomes of every key and variable.
func (x *Settings) Effects() Effects {
	return Effects{config.Effects(x.Sections...), config.VariableEffects(x.Variables)}
}
