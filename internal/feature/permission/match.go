package permission

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// Matcher tells whether a call is of the kind one rule describes. It is for others than the
// decision: a hook's condition, a filter. It errs towards matching, as a condition that starts a guard
// must: a command that cannot be read matches, and so does one whose words are only known at run time
// where the rule says more than the name of a program. It is safe for concurrent use.
type Matcher struct {
	rule   Parsed
	rules  *Rules
	list   List
	shell  ruletext.Shell
	simple bool // a shell rule that names a program alone
	env    Env
}

// NewMatcher compiles a rule as [ParseRule] reads it. Unlike in deny and ask rules, "dir/**" is anchored at
// the working directory.
func NewMatcher(rule string, env Env) (*Matcher, error) {
	parsed, err := ParseRule(rule)
	if err != nil {
		return nil, err
	}
	text := tool.Current(parsed.Tool) + strings.TrimPrefix(strings.TrimSpace(rule), parsed.Tool)
	parsed.Tool = tool.Current(parsed.Tool)
	m := &Matcher{rule: parsed, env: env, list: DenyList}
	if dir, ok := strings.CutSuffix(parsed.Specifier, "/**"); ok && dir != "" && !strings.ContainsAny(dir, "/*") && (parsed.Tool == "Read" || parsed.Tool == "Edit") {
		text = parsed.Tool + "(./" + parsed.Specifier + ")"
	}
	if pathTool(parsed.Tool) && parsed.Specifier != "" {
		text = "Read" + strings.TrimPrefix(text, parsed.Tool) // any path of the call counts, read or written
	}
	m.rules = Compile([]Rule{{List: DenyList, Text: text, Source: FromSession}}, env)
	for _, p := range m.rules.Problems() {
		if p.Malformed {
			return nil, p.Err
		}
	}
	m.shell = ruletext.ParseShell(parsed.Specifier)
	head := strings.TrimSuffix(parsed.Specifier, ":*")
	m.simple = !strings.ContainsAny(strings.TrimSuffix(head, " *"), " \t")
	return m, nil
}

func pathTool(name string) bool {
	switch name {
	case "Read", "Edit", "Write", "NotebookEdit", "Grep", "Glob":
		return true
	}
	return false
}

// Match tells whether the rule describes the call.
func (m *Matcher) Match(req Request) bool {
	if req.Input == nil {
		req.Input = req.Literal
	}
	if req.Cwd == "" {
		req.Cwd = m.env.Dirs.Cwd
	}
	if req.Traits.Command != "" && (m.rule.Tool == "Bash" || m.rule.Tool == req.Tool) {
		return m.matchShell(req)
	}
	if m.rule.Tool != req.Tool && !strings.Contains(m.rule.Tool, "*") {
		if _, server := bareServer(m.rule.Tool); !server {
			return false
		}
	}
	pol := Policy{Rules: m.rules, Dirs: m.env.Dirs, Resolve: m.env.Resolve, Folds: m.env.Folds}
	e := newEval(&req, &pol)
	if m.rule.Specifier == "" || !pathTool(m.rule.Tool) {
		return e.anyRule(m.list) != nil
	}
	return m.matchPaths(e)
}

func (m *Matcher) matchPaths(e *eval) bool {
	paths := e.req.Traits.Paths
	if len(paths) == 0 {
		for _, f := range []string{"file_path", "notebook_path", "path"} {
			if p := e.field(f); p != "" {
				paths = append(paths, tool.PathUse{Path: p})
			}
		}
	}
	rules := e.pathRules("Read", m.list)
	for _, u := range paths {
		if e.anySpelling(rules, e.placeOf(clean(e.req.Cwd, u.Path))) != nil {
			return true
		}
	}
	return false
}

func (m *Matcher) matchShell(req Request) bool {
	if m.rule.Specifier == "" {
		return true
	}
	acc := m.env.Accounts.of(req.Traits.Command, req.Cwd, m.env.Dirs.Home)
	if !acc.Parsed || len(acc.Problems) > 0 {
		return true
	}
	pol := Policy{Rules: m.rules, Dirs: m.env.Dirs}
	s := &shellEval{eval: newEval(&req, &pol), acc: acc, command: req.Traits.Command}
	if s.toolRule(m.list) != nil || s.wholeLine(m.list) != nil {
		return true
	}
	for i := range acc.Parts {
		p := &acc.Parts[i]
		if s.matchPart(p, m.list) != nil || s.mayHold(p) != nil || s.mayRun(i) != nil || len(p.Unknown) > 0 {
			return true
		}
		if !m.simple && expands(p) {
			return true
		}
	}
	return false
}

// expands tells whether a part holds a substitution or a variable.
func expands(p *shellsyntax.Part) bool {
	if p.Context != shellsyntax.TopLevel && p.Context != shellsyntax.Inner {
		return true
	}
	for i := range p.Words {
		if p.Words[i].Unknown() {
			return true
		}
	}
	for _, a := range p.Assigns {
		if !a.Static {
			return true
		}
	}
	return len(p.Loose) > 0
}
