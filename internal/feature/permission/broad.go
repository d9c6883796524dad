package permission

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
)

// isBroad tells whether an allow rule grants running anything, so that auto mode sets it aside:
// the classifier could not see what runs under it.
func isBroad(p Parsed, t ruletext.Shell) bool {
	switch p.Tool {
	case "Agent", "Monitor":
		return true
	case "Bash", "PowerShell":
	default:
		return false
	}
	if p.Specifier == "" {
		return true
	}
	if t.Pattern.Literal {
		return false
	}
	if t.First == "" {
		return true // begins with a wildcard: any program
	}
	words := strings.Fields(strings.TrimSuffix(t.Pattern.Parts[0], " "))
	switch name := words[0]; {
	case ruletext.IsInterpreter(name), ruletext.IsExecWrapper(name):
		return true
	case ruletext.IsRunner(name):
		return len(words) == 1 || ruletext.RunnerVerb(words[1])
	}
	return false
}
