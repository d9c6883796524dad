package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// safeVariable tells the variables whose value changes nothing but looks.
func safeVariable(name string) bool {
	switch name {
	case "NODE_ENV", "CI", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM",
		"COLUMNS", "LINES", "GOOS", "GOARCH", "CGO_ENABLED", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// dangerousVariable tells the variables that decide which code runs.
func dangerousVariable(name string) bool {
	for _, p := range []string{"LD_", "DYLD_", "GIT_", "SSH_", "BASH_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "PATH", "ENV", "SHELLOPTS", "BASHOPTS", "IFS", "CDPATH", "PS4", "PROMPT_COMMAND", "PAGER", "MANPAGER", "EDITOR", "VISUAL",
		"BROWSER", "NODE_OPTIONS", "NODE_PATH", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GOFLAGS", "RUSTFLAGS", "RUSTC_WRAPPER", "RIPGREP_CONFIG_PATH",
		"LESSOPEN", "LESSCLOSE", "HOME", "SHELL", "PS0", "PS1", "FPATH", "ZDOTDIR", "MAKEFLAGS", "npm_config_script_shell":
		return true
	}
	return false
}

// assignsOK tells whether all assignments are of safe variables with values known beforehand.
func assignsOK(p *shellsyntax.Part) (bad string, ok bool) {
	for _, a := range p.Assigns {
		if !safeVariable(a.Name) || a.Odd || (!a.Static && !a.Naked) {
			return a.Name, false
		}
	}
	return "", true
}

// partVerdict looks for what lets part i run. Deny and ask rules have been checked.
func (s *shellEval) partVerdict(i int) partVerdict {
	p := &s.acc.Parts[i]
	if p.Background && !s.autoAllowed() {
		return partVerdict{kind: ByOther, why: "it would leave a job running in the background; the tool's own background option is the way"}
	}
	if v, bad := s.badContext(p); bad {
		return v
	}
	v := s.commandVerdict(i)
	if !v.ok || v.far && v.inherited {
		return v
	}
	if s.leaves && !v.exact && !s.mayLeave(p) {
		return partVerdict{kind: ByOther, why: "it asks to run outside of the sandbox, which only a rule for exactly this command or a person allows", missing: s.exactly(p)}
	}
	return s.pathsVerdict(p, v)
}

// mayLeave tells whether a rule lets a part that needs none run outside of the sandbox: one for exactly it, or
// for the whole tool.
func (s *shellEval) mayLeave(p *shellsyntax.Part) bool {
	if s.bareRule(AllowList) != nil {
		return true
	}
	if len(p.Forms) == 0 {
		return false
	}
	_, safe := assignsOK(p)
	_, exact := s.allowRule(p, safe)
	return exact
}

// badContext refuses substitutions whose output becomes more than one text.
func (s *shellEval) badContext(p *shellsyntax.Part) (partVerdict, bool) {
	switch p.Context {
	case shellsyntax.Bare:
		return partVerdict{kind: ByOther, why: "the output of " + p.Source + " becomes words that are only known at run time"}, true
	case shellsyntax.CommandWord, shellsyntax.Target, shellsyntax.Value:
		return partVerdict{kind: ByOther, why: "the output of " + p.Source + " is only known at run time"}, true
	}
	return partVerdict{}, false
}

// commandVerdict judges the command itself, without its paths.
func (s *shellEval) commandVerdict(i int) partVerdict {
	p := &s.acc.Parts[i]
	if p.Context == shellsyntax.Inner && p.Parent >= 0 && p.Parent < i {
		v := s.verdicts[p.Parent]
		v.far = v.far || s.acc.Parts[p.Parent].Remote()
		if v.exact || v.far { // what runs on another machine is covered by what reaches it; deny and ask rules were looked at
			return partVerdict{ok: v.ok, kind: v.kind, why: v.why, exact: v.exact, inherited: true, far: v.far, rule: v.rule}
		}
	}
	bare := s.bareRule(AllowList)
	if bare == nil {
		bare = s.allowGlob()
	}
	switch p.Kind {
	case shellsyntax.Redirection:
		return partVerdict{ok: true, kind: ByReadOnly, why: "redirections alone"}
	case shellsyntax.Assignment, shellsyntax.Declaration:
		return s.assignVerdict(p, bare)
	case shellsyntax.Function, shellsyntax.Arithmetic:
		if bare != nil {
			return partVerdict{ok: true, kind: ByRule, rule: bare, exact: true}
		}
		return partVerdict{kind: ByOther, why: p.WhyNot}
	}
	name, safe := assignsOK(p)
	tool := orElse(s.gitVerdict(p), func() string { return s.toolVerdict(p) })
	if r := s.addedRuled(p); r != nil && p.ReadOnly && bare == nil {
		return partVerdict{kind: ByRule, why: "the words that xargs adds could be what the rule " + r.rule.Text + " names", missing: s.missing(p)}
	}
	if safe && p.ReadOnly && s.quietDocuments(p) && tool == "" {
		return partVerdict{ok: true, kind: ByReadOnly, why: "it only reads", rule: s.explicit(p)}
	}
	if v, ok := s.fileCommand(p, safe); ok {
		return v
	}
	if v, ok := s.byRule(p, bare, safe); ok {
		return v
	}
	if !safe && name != "" {
		return partVerdict{kind: ByOther, why: "it sets " + name + " for the command", missing: s.missing(p)}
	}
	v := s.notAllowed(p)
	if tool != "" && p.ReadOnly {
		v.why += ": " + tool
	}
	return v
}

// addedRuled finds a deny or ask rule that words added from standard input could make match: any about the programs of the part.
func (s *shellEval) addedRuled(p *shellsyntax.Part) *compiled {
	if len(p.Forms) == 0 || !p.FromInput(p.Forms[len(p.Forms)-1]) {
		return nil
	}
	for _, t := range s.shellRules() {
		for _, list := range [2]List{DenyList, AskList} {
			ix := t.shell[list]
			if ix == nil {
				continue
			}
			found := slices.Concat(ix.leading, ix.spans)
			for _, f := range p.Forms {
				found = append(append(found, ix.byFirst[p.Words[f.At].Canon]...), ix.named[f.Name]...)
			}
			if len(found) > 0 {
				return found[0]
			}
		}
	}
	return nil
}

// allowGlob finds an allow rule with a wildcard in the tool name; for shell tools there can be none, but MCP
// servers may run shells.
func (s *shellEval) allowGlob() *compiled {
	for _, r := range s.pol.Rules.globs {
		if r.rule.List == AllowList && r.name.MatchParts(s.req.Tool) {
			return r
		}
	}
	return nil
}

// explicit finds the rule that would allow a part that needs none, since some checks ask for a
// rule of its own.
func (s *shellEval) explicit(p *shellsyntax.Part) *compiled {
	if n := p.Name(); n != "cd" && n != "git" {
		return nil
	}
	if r := s.bareRule(AllowList); r != nil {
		return r
	}
	if r, _ := s.allowRule(p, true); r != nil {
		return r
	}
	return nil
}

// quietDocuments tells whether here-documents and here-strings hold nothing unknown.
func (s *shellEval) quietDocuments(p *shellsyntax.Part) bool { return len(p.Loose) == 0 }

func (s *shellEval) assignVerdict(p *shellsyntax.Part, bare *compiled) partVerdict {
	if len(p.Assigns) == 0 && p.Kind == shellsyntax.Assignment {
		return partVerdict{ok: true, kind: ByReadOnly, why: "nothing runs"}
	}
	name, safe := assignsOK(p)
	if p.Kind == shellsyntax.Declaration {
		safe = safe && len(p.Assigns) > 0
	}
	if safe {
		return partVerdict{ok: true, kind: ByReadOnly, why: "sets a harmless variable"}
	}
	if bare != nil && !dangerousVariable(name) {
		return partVerdict{ok: true, kind: ByRule, rule: bare, exact: true}
	}
	why := "it sets " + name + ", which later commands see"
	if name == "" {
		why = "it shows or changes variables of the shell"
	}
	return partVerdict{kind: ByOther, why: why}
}

// editCommand tells the commands that the mode acceptEdits covers.
func editCommand(name string) bool {
	switch name {
	case "mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed":
		return true
	}
	return false
}

// plainEdit tells the commands that do nothing but change the content of the files they name, so
// that an Edit rule for these files is enough.
func plainEdit(name string) bool { return editCommand(name) || name == "tee" || name == "truncate" }

// fileCommand allows file commands by mode or by Edit rules.
func (s *shellEval) fileCommand(p *shellsyntax.Part, safe bool) (partVerdict, bool) {
	name := p.Name()
	if !safe || !plainEdit(name) || len(p.Exec) > 0 || len(p.Loose) > 0 || p.Forms[len(p.Forms)-1].Name != name || !p.Forms[len(p.Forms)-1].Stripped {
		return partVerdict{}, false
	}
	for k := range p.Words {
		if w := &p.Words[k]; w.Unknown() {
			return partVerdict{}, false
		}
	}
	writes := 0
	all := true
	var rule *compiled
	for k := range p.Uses {
		u := &p.Uses[k]
		if u.Redirect {
			continue
		}
		if u.Intent != shellsyntax.Write && u.Intent != shellsyntax.Delete {
			continue
		}
		writes++
		r := s.editRule(u)
		all = all && r != nil
		if r != nil {
			rule = r
		}
	}
	if writes == 0 {
		return partVerdict{}, false
	}
	if s.pol.Mode == AcceptEdits && editCommand(name) {
		if bad := s.placeVerdict(p, nil); bad.why != "" {
			return bad, true
		}
		return partVerdict{ok: true, kind: ByMode, why: "the mode “accept edits” covers it"}, true
	}
	if all && s.pol.Mode != Plan {
		return partVerdict{ok: true, kind: ByRule, why: "an Edit rule covers its files", rule: rule}, true
	}
	return partVerdict{}, false
}

// editRule finds the Edit allow rule for a path that is written.
func (s *shellEval) editRule(u *shellsyntax.PathUse) *compiled {
	if u.Glob || u.Unknown || u.Unbased || u.Path == "" {
		return nil
	}
	return s.bothSpellings(s.pathRules("Edit", AllowList), s.placeOfUse(u))
}

// byRule allows a command by an allow rule.
func (s *shellEval) byRule(p *shellsyntax.Part, bare *compiled, safe bool) (partVerdict, bool) {
	if bare != nil {
		if !isASCII(p.Allow().Name) {
			return partVerdict{kind: ByOther, why: "the name of the command holds letters that may look like others"}, true
		}
		for _, a := range p.Assigns {
			if dangerousVariable(a.Name) || !a.Static {
				return partVerdict{kind: ByOther, why: "it sets " + a.Name + " for the command, which may decide what code runs"}, true
			}
		}
		return partVerdict{ok: true, kind: ByRule, rule: bare, exact: true}, true
	}
	r, exact := s.allowRule(p, safe)
	if r == nil {
		return partVerdict{}, false
	}
	if exact {
		return partVerdict{ok: true, kind: ByRule, rule: r, exact: true}, true
	}
	if why := notByPattern(p); why != "" {
		return partVerdict{kind: ByOther, why: why + "; a pattern does not cover that, only a rule for exactly this command", missing: s.missing(p)}, true
	}
	if p.Strange != "" && !namesCommand(r, p.Strange) {
		return partVerdict{kind: ByOther, why: p.Strange + " is not on the list of harmless sub-commands; a pattern covers it only where the rule names it", missing: s.missing(p)}, true
	}
	if bad := s.placeVerdict(p, r); bad.why != "" {
		return bad, true
	}
	return partVerdict{ok: true, kind: ByRule, rule: r}, true
}

// namesCommand tells whether a rule begins with a program and its sub-command.
func namesCommand(r *compiled, command string) bool {
	return strings.HasPrefix(r.shell.Pattern.Parts[0]+" ", command+" ")
}

// notByPattern tells why no rule with a wildcard can vouch for a part.
func notByPattern(p *shellsyntax.Part) string {
	if len(p.Exec) > 0 {
		return p.Exec[0]
	}
	if name, wrapped := p.Wrapped(); wrapped {
		return name + " runs another program"
	}
	for i := range p.Words {
		if p.Words[i].Evaluates() {
			return "the word " + p.Words[i].Text + " evaluates text that is only known at run time"
		}
	}
	return ""
}

// allowRule finds an allow rule for a part, and whether it names the part exactly. A rule that
// covers the text only by a wildcard is returned when there is no exact one.
func (s *shellEval) allowRule(p *shellsyntax.Part, safe bool) (found *compiled, exact bool) {
	if len(p.Forms) == 0 {
		return nil, false // no command of its own: redirections, assignments
	}
	form := p.Allow()
	for _, text := range s.allowTexts(p, form, safe) {
		for _, t := range s.shellRules() {
			ix := t.shell[AllowList]
			if ix == nil {
				continue
			}
			r, ex := ix.allow(text, s.pol.Mode == Auto, s.pol.ClassifyShell)
			ex = ex && !text.more
			if ex && r != nil {
				return r, true
			}
			if r != nil && found == nil && !text.exactOnly {
				found = r
			}
		}
	}
	return found, false
}

// allowText is one spelling a permission may name.
type allowText struct {
	first, text string
	exactOnly   bool
	more        bool // standard input adds words: no rule names it exactly
}

func (s *shellEval) allowTexts(p *shellsyntax.Part, form shellsyntax.Form, safe bool) []allowText {
	if !isASCII(form.Name) || form.Name == "" {
		return nil
	}
	out := make([]allowText, 0, 3)
	if !safe {
		prefix := assignText(p)
		return append(out, allowText{text: prefix + p.Canonical(0), first: firstOf(prefix), exactOnly: true})
	}
	out = append(out, allowText{first: p.Words[form.At].Canon, text: p.Canonical(form.At), more: p.FromInput(form)})
	if form.Name == "git" {
		if sub := shellsyntax.GitSubcommand(p, form.At); sub > form.At+1 {
			if plain, dirs := shellsyntax.GitPlain(p, form.At); plain || dirs {
				out = append(out, allowText{first: "git", text: "git " + p.Canonical(sub), more: p.FromInput(form)})
			}
		}
	}
	if form.At > 0 {
		out = append(out, allowText{first: p.Words[0].Canon, text: p.Canonical(0), exactOnly: true})
	}
	return out
}

func assignText(p *shellsyntax.Part) string {
	var b strings.Builder
	for _, a := range p.Assigns {
		if !a.Static || a.Odd {
			return "\x02" // matches nothing
		}
		b.WriteString(a.Name + "=" + shellsyntax.Canonical(a.Value) + " ")
	}
	return b.String()
}

func firstOf(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// allow finds an allow rule for a text.
func (ix *shellIndex) allow(t allowText, auto, noShell bool) (found *compiled, exact bool) {
	for _, list := range [2][]*compiled{ix.byFirst[t.first], ix.leading} {
		for _, r := range list {
			if auto && (r.broad || noShell) {
				continue
			}
			switch {
			case r.shell.Spans:
			case r.shell.Exact != "" && r.shell.Exact == t.text:
				return r, true
			case found == nil && !t.exactOnly && r.shell.Pattern.Match(t.text):
				found = r
			}
		}
	}
	return found, false
}

// notAllowed is the verdict of a part nothing allows.
func (s *shellEval) notAllowed(p *shellsyntax.Part) partVerdict {
	v := partVerdict{kind: ByOther, missing: s.missing(p)}
	switch {
	case p.WhyNot != "" && p.Known:
		v.why = "nothing allows it, and " + p.WhyNot
	default:
		v.why = "nothing allows " + displayName(p)
	}
	if s.pol.Mode == AcceptEdits && editCommand(p.Name()) {
		v.kind = ByDirectory
	}
	return v
}

func displayName(p *shellsyntax.Part) string {
	if n := p.Name(); n != "" && n != "/" {
		return path.Base(n)
	}
	return p.Source
}
