package permission

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
)

// Shadow is a rule that can never decide anything because another one always comes first.
type Shadow struct {
	Rule Rule
	By   Rule
}

// Shadowed finds the rules that another one fully covers: allow rules under a deny or ask rule, ask
// rules under a deny rule. Rules that share only a part are not reported.
func Shadowed(rules []Rule, env Env) []Shadow {
	compiledRules := make([]*compiled, 0, len(rules))
	for _, r := range rules {
		set := Compile([]Rule{r}, env)
		if x := set.only(); x != nil {
			compiledRules = append(compiledRules, x)
		}
	}
	var out []Shadow
	for _, x := range compiledRules {
		for _, y := range compiledRules {
			if rank(y.rule.List) < rank(x.rule.List) && coversRule(y, x) {
				out = append(out, Shadow{Rule: x.rule, By: y.rule})
				break
			}
		}
	}
	return out
}

func rank(l List) int {
	switch l {
	case DenyList:
		return 0
	case AskList:
		return 1
	}
	return 2
}

// only returns the one compiled rule of a set of one; nil when it is inert.
func (r *Rules) only() *compiled {
	for _, g := range r.globs {
		return g
	}
	for _, t := range r.byTool {
		for _, list := range [][]*compiled{t.bare, t.specs, t.params} {
			if len(list) > 0 {
				return list[0]
			}
		}
		for _, list := range t.paths {
			if len(list) > 0 {
				return list[0]
			}
		}
		for _, ix := range t.shell {
			for _, list := range ix.byFirst {
				return list[0]
			}
			if len(ix.leading) > 0 {
				return ix.leading[0]
			}
		}
	}
	return nil
}

// anything stands for "whatever" in a sample of what a rule matches; no literal of a rule holds it.
const anything = "\x02"

// coversRule tells whether everything x matches is also matched by y.
func coversRule(y, x *compiled) bool {
	if y.param != "" {
		return x.param == y.param && x.parsed.Tool == y.parsed.Tool && ruletext.MatchStars(y.value, strings.ReplaceAll(x.value, "*", anything))
	}
	if y.isGlob {
		return y.covers(strings.ReplaceAll(x.parsed.Tool, "*", anything))
	}
	if y.parsed.Tool != x.parsed.Tool || x.isGlob || x.param != "" {
		return false
	}
	if y.parsed.Specifier == "" {
		return true
	}
	if x.parsed.Specifier == "" {
		return false
	}
	switch x.parsed.Tool {
	case "Bash", "PowerShell", "Monitor":
		return coversShell(y.shell, x.shell)
	case "Read", "Edit", "Cd":
		return coversPath(y, x)
	case "WebFetch":
		return y.host.CoversAll(x.host)
	}
	return y.parsed.Specifier == x.parsed.Specifier || ruletext.MatchStars(y.parsed.Specifier, strings.ReplaceAll(x.parsed.Specifier, "*", anything))
}

func coversShell(y, x ruletext.Shell) bool {
	sample := strings.Join(x.Pattern.Parts, anything)
	if !y.Pattern.Match(sample) {
		return false
	}
	return !x.Pattern.Trail || y.Pattern.Match(strings.TrimSuffix(sample, " "+anything))
}

func coversPath(y, x *compiled) bool {
	if len(y.path.bases) == 0 || len(x.path.bases) == 0 || y.path.bases[0] != x.path.bases[0] {
		return y.path.whole && len(y.path.bases) > 0 && y.path.bases[0] == "/"
	}
	if y.path.whole {
		return true
	}
	if x.path.whole {
		return false
	}
	sample := strings.Trim(x.path.pattern.String(), "/")
	if !strings.Contains(sample, "/") {
		sample = anything + "/" + sample
	}
	if strings.ContainsAny(sample, `?[\`) {
		return y.path.pattern.String() == x.path.pattern.String()
	}
	return y.path.pattern.Covers(strings.ReplaceAll(strings.ReplaceAll(sample, "**", anything), "*", anything))
}
