package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// maxSuggested bounds how many parts of one command get a rule of their own.
const maxSuggested = 5

// missing is the rule that would allow the command of a part; empty when none should be offered.
func (s *shellEval) missing(p *shellsyntax.Part) string {
	if p.Kind != shellsyntax.Command || len(p.Unknown) > 0 {
		return ""
	}
	form := p.Allow()
	if !isASCII(form.Name) || form.Name == "" {
		return ""
	}
	for i := form.At; i < len(p.Words); i++ {
		if w := &p.Words[i]; !w.Static() || strings.ContainsAny(w.Text, "\n\r") {
			return ""
		}
	}
	if _, safe := assignsOK(p); !safe {
		return ""
	}
	words := p.Words[form.At:]
	if s.leaves || p.FromInput(form) {
		return s.exactly(p)
	}
	if prefix := commandPrefix(words); prefix > 0 && notByPattern(p) == "" && p.Strange == "" && s.placeVerdict(p, nil).why == "" {
		return "Bash(" + spellWords(words[:prefix]) + " *)"
	}
	if len(words) == 1 && (ruletext.IsInterpreter(form.Name) || ruletext.IsExecWrapper(form.Name) || ruletext.IsRunner(form.Name)) {
		return "" // a bare interpreter runs anything it is fed
	}
	return "Bash(" + spellWords(words) + ")"
}

// exactly is the rule for exactly the command of a part; empty when it has none.
func (s *shellEval) exactly(p *shellsyntax.Part) string {
	form := p.Allow()
	words := p.Words[form.At:]
	if p.FromInput(form) {
		words = p.Words // the words that are added are those of this very wrapper
	}
	for i := range words {
		if w := &words[i]; !w.Static() || strings.ContainsAny(w.Text, "\n\r") {
			return ""
		}
	}
	if _, safe := assignsOK(p); !safe || form.Name == "" || !isASCII(form.Name) {
		return ""
	}
	return "Bash(" + spellWords(words) + ")"
}

// spellWords writes static words so that a rule with this text means exactly them.
func spellWords(words []shellsyntax.Word) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		text := words[i].Text
		if shellsyntax.Canonical(text) == text {
			b.WriteString(text)
			continue
		}
		b.WriteString("'" + strings.ReplaceAll(text, "'", `'\''`) + "'")
	}
	return b.String()
}

// commandPrefix returns how many words name the subcommand of a program with many; 0 when the
// program has none or a pattern over its arguments would grant too much.
func commandPrefix(words []shellsyntax.Word) int {
	name := func(i int) string {
		if i < len(words) && words[i].Static() {
			return words[i].Text
		}
		return ""
	}
	second := name(1)
	if second == "" || !plainWord(second) || ruletext.RunnerVerb(second) && second != "run" {
		return 0
	}
	switch name(0) {
	case "git":
		switch second {
		case "config", "bisect", "submodule", "filter-branch", "rebase", "clone", "difftool", "mergetool":
			return 0
		}
		return 2
	case "npm", "pnpm", "yarn", "bun":
		if second == "run" || second == "run-script" {
			if plainWord(name(2)) {
				return 3
			}
			return 0
		}
		return 2
	case "docker", "podman", "kubectl", "nix", "uv", "poetry", "devbox", "mise", "pipx", "pipenv", "conda":
		if second == "run" || second == "exec" {
			return 0
		}
		if second == "compose" && plainWord(name(2)) && name(2) != "run" && name(2) != "exec" {
			return 3
		}
		if second == "compose" {
			return 0
		}
		return 2
	case "go", "cargo", "deno":
		if second == "run" || second == "generate" || second == "eval" {
			return 0
		}
		return 2
	case "gh", "terraform", "tofu", "helm", "aws", "gcloud", "az", "pip", "pip3", "brew", "apt", "apt-get", "systemctl", "dotnet",
		"mvn", "composer", "bundle", "rails", "mix", "flutter", "dart", "swift", "rustup", "ng", "nx", "turbo", "hg", "svn", "jj":
		if second == "run" || second == "exec" {
			return 0
		}
		return 2
	}
	return 0
}

// plainWord tells a word that can be the name of a subcommand.
func plainWord(s string) bool {
	if s == "" || !(s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == ':' || c == '_') {
			return false
		}
	}
	return true
}

// suggest fills in what would allow the command for good. Suggested rules are tried: when they
// would not allow this very command, nothing but "once" is offered.
func (s *shellEval) suggest(d *Decision) {
	if s.pol.ManagedOnly || len(s.verdicts) == 0 {
		d.Once = true
		return
	}
	rules := s.missingRules()
	d.Missing = rules
	if len(rules) == 0 || len(rules) > maxSuggested || !s.wouldAllow(rules) {
		d.Once = true
		if s.fileEffects() && s.wouldAllowInMode(AcceptEdits) {
			d.Once = false
			d.Suggestions = []proto.PermissionUpdate{{Type: "setMode", Mode: string(AcceptEdits), Destination: string(FromSession)}}
		}
		return
	}
	d.Suggestions = []proto.PermissionUpdate{addRules(rules, FromLocal)}
	if s.fileEffects() && s.wouldAllowInMode(AcceptEdits) {
		d.Suggestions = append(d.Suggestions, proto.PermissionUpdate{Type: "setMode", Mode: string(AcceptEdits), Destination: string(FromSession)})
	}
}

func addRules(rules []string, to Source) proto.PermissionUpdate {
	u := proto.PermissionUpdate{Type: "addRules", Behavior: string(Allow), Destination: string(to)}
	for _, r := range rules {
		p, err := ParseRule(r)
		if err != nil {
			continue // made by us; the trial of the rules has found it before
		}
		u.Rules = append(u.Rules, proto.RuleValue{ToolName: p.Tool, RuleContent: p.Specifier})
	}
	return u
}

// missingRules collects the rules the failed parts lack, each once; nil when one of them cannot be
// had by a rule.
func (s *shellEval) missingRules() []string {
	var out []string
	for i := range s.verdicts {
		v := &s.verdicts[i]
		if v.ok {
			continue
		}
		p := &s.acc.Parts[i]
		if p.Context == shellsyntax.Inner && p.Parent >= 0 && !s.verdicts[p.Parent].ok {
			continue // a rule for exactly the outer command covers it
		}
		var here []string
		if v.missing != "" {
			here = append(here, v.missing)
		}
		if m := s.missing(p); m != "" && !p.ReadOnly && v.rule == nil {
			here = append(here, m)
		}
		for k := range p.Uses { // a download or redirection needs a rule for its target, too
			u := &p.Uses[k]
			if (u.Intent == shellsyntax.Write || u.Intent == shellsyntax.Delete) && (u.Redirect || !p.FileTool) && u.Path != "" && !u.Unknown && !u.Glob {
				if s.editRule(u) == nil {
					here = append(here, "Edit("+s.editPattern(s.placeOf(u.Path).path)+")")
				}
			}
		}
		if len(here) == 0 {
			return nil
		}
		for _, r := range here {
			if !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// fileEffects tells whether a part changes files inside the project, which the mode "accept edits" may cover.
func (s *shellEval) fileEffects() bool {
	for i := range s.acc.Parts {
		for k := range s.acc.Parts[i].Uses {
			if u := &s.acc.Parts[i].Uses[k]; u.Intent == shellsyntax.Write || u.Intent == shellsyntax.Delete {
				return true
			}
		}
	}
	return false
}

// wouldAllow tries the rules on the same command.
func (s *shellEval) wouldAllow(rules []string) bool {
	extra := make([]Rule, len(rules))
	for i, r := range rules {
		extra[i] = Rule{List: AllowList, Text: r, Source: FromLocal}
	}
	pol := *s.pol
	pol.Rules = s.pol.Rules.with(extra)
	return s.tryPolicy(pol)
}

func (s *shellEval) wouldAllowInMode(m Mode) bool {
	if s.pol.Mode == m {
		return false
	}
	pol := *s.pol
	pol.Mode = m
	return s.tryPolicy(pol)
}

// tryPolicy approves the same account under another policy. Deny and ask rules have been checked
// and are the same.
func (s *shellEval) tryPolicy(pol Policy) bool {
	e := *s.eval
	e.pol = &pol
	try := &shellEval{eval: &e, acc: s.acc, command: s.command, sandboxed: s.sandboxed, leaves: s.leaves}
	return try.approve().Behavior == Allow
}

// understood tells in words how the command was understood, a line a part.
func (s *shellEval) understood() []string {
	if !s.acc.Parsed {
		return nil
	}
	const most = 100
	out := make([]string, 0, min(len(s.acc.Parts), most))
	for i := range s.acc.Parts {
		if i == most {
			out = append(out, fmt.Sprintf("… and %d more parts", len(s.acc.Parts)-most))
			break
		}
		out = append(out, s.describePart(i))
	}
	return out
}

func (s *shellEval) describePart(i int) string {
	p := &s.acc.Parts[i]
	if p.Parent < 0 && len(p.Forms) < 2 && len(p.Uses)+len(p.Hosts)+len(p.Unknown) == 0 && p.Source != "" && (i >= len(s.verdicts) || s.verdicts[i].why == "") {
		return visible.Exact(p.Source)
	}
	var b strings.Builder
	depth := 0
	for q := p.Parent; q >= 0 && depth < 8; q = s.acc.Parts[q].Parent {
		depth++
	}
	b.WriteString(strings.Repeat("  ", depth))
	src := p.Source
	if src == "" {
		src = "(nothing runs)"
	}
	b.WriteString(visible.Exact(src))
	sep := " — "
	note := func(format string, args ...any) {
		b.WriteString(sep)
		fmt.Fprintf(&b, format, args...)
		sep = "; "
	}
	if len(p.Forms) > 1 {
		note("runs %s", p.Name())
	}
	var seen [4][]string
	for k := range p.Uses {
		u := &p.Uses[k]
		if !slices.Contains(seen[u.Intent], u.Text) {
			seen[u.Intent] = append(seen[u.Intent], u.Text)
		}
	}
	for intent, verb := range []string{"reads", "goes to", "writes", "removes"} {
		if len(seen[intent]) > 0 {
			note("%s %s", verb, visible.Exact(strings.Join(seen[intent], ", ")))
		}
	}
	if len(p.Hosts) > 0 {
		note("talks to %s", visible.Exact(strings.Join(p.Hosts, ", ")))
	}
	if len(p.Unknown) > 0 {
		note("%s", p.Unknown[0])
	}
	if i < len(s.verdicts) && s.verdicts[i].why != "" {
		if s.verdicts[i].ok {
			note("allowed: %s", s.verdicts[i].why)
		} else {
			note("%s", s.verdicts[i].why)
		}
	}
	return b.String()
}

// with returns the set with more allow rules on top, for a trial.
func (r *Rules) with(extra []Rule) *Rules {
	out := *r
	out.extra = Compile(extra, r.env)
	return &out
}

// ruleForPath is the rule that allows a tool to use one path.
func ruleForPath(list string, p string) string {
	return list + "(/" + pathpattern.Escape(path.Clean(p)) + ")"
}
