package permission

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// The limits over which an otherwise allowed command asks. Deny and ask rules know no limit.
const (
	maxChars = 10_000
	maxParts = 50
)

// shellCall decides about a call that runs shell text.
func (e *eval) shellCall() Decision {
	command := e.req.Traits.Command
	if command == "" {
		command = e.field("command")
	}
	e.acc = e.pol.Accounts.of(command, e.req.Cwd, e.pol.Dirs.Home)
	s := &shellEval{eval: e, acc: e.acc, command: command}
	s.confine()
	d := s.decide()
	if d.Behavior != Allow {
		d.Understood = s.understood()
	}
	if d.Behavior == Ask && !d.Firm && !d.Once {
		s.suggest(&d)
	}
	if d.Behavior != Deny {
		d.Confine = s.confinement(d)
	}
	return d
}

// shellEval is the decision about one command line.
type shellEval struct {
	*eval
	acc       *shellsyntax.Account
	command   string
	sandboxed bool
	leaves    bool                // the call itself asks to run outside of a sandbox that is on
	expanded  map[string]*matched // patterns, as they are now
	outside   string              // why it runs outside of a sandbox that is on
	verdicts  []partVerdict
	indexes   []*toolRules
	room      [4]*toolRules

	ruledKnown bool
	ruled0     []*shellIndex // the deny and ask rules about commands

	pathsKnown           [2]bool // of deny and ask
	readRules, editRules [2][]*compiled
}

// partVerdict is what was found of one part.
type partVerdict struct {
	ok        bool
	why       string     // not ok: why; ok: by what
	kind      ReasonKind // of why
	path      string
	rule      *compiled // the allow rule
	exact     bool      // the rule names the whole text, or the whole tool
	inherited bool      // by the exact rule of the command that holds the part
	far       bool      // it runs on another machine: what it names there is no place of this one
	missing   string    // the rule that would cover it
}

// shellRules returns the rule sets a shell call is judged by: those of its own tool and of Bash.
func (s *shellEval) shellRules() []*toolRules {
	if s.indexes == nil {
		s.indexes = s.room[:0]
		for set := s.pol.Rules; set != nil; set = set.extra {
			if t := set.byTool["Bash"]; t != nil {
				s.indexes = append(s.indexes, t)
			}
			if t := set.byTool[s.req.Tool]; t != nil && s.req.Tool != "Bash" {
				s.indexes = append(s.indexes, t)
			}
		}
	}
	return s.indexes
}

// bareRule finds a rule about the whole tool.
func (s *shellEval) bareRule(list List) *compiled {
	for _, t := range s.shellRules() {
		for _, r := range t.bare {
			if r.rule.List == list && !(s.pol.Mode == Auto && list == AllowList) {
				return r
			}
		}
	}
	return nil
}

func (s *shellEval) decide() Decision {
	if r := s.toolRule(DenyList); r != nil {
		return s.denyBy(r, "", "denied by the rule "+r.rule.Text)
	}
	if r := s.bareRule(DenyList); r != nil {
		return s.denyBy(r, "", "denied by the rule "+r.rule.Text)
	}
	reach, d, done := s.ruled()
	if done {
		return d
	}
	if d, done = s.floors(reach); done {
		return d
	}
	if s.pol.Mode == Bypass && !s.leaves { // the sandbox stays on in every mode
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByMode, Text: "the mode “bypass permissions” runs it without asking"}}
	}
	return s.approve()
}

// ruled looks for deny and ask rules on every part. reach is a path that only the running command
// knows and that a denied file could be behind.
func (s *shellEval) ruled() (reach *Reason, d Decision, done bool) {
	var ask *Decision
	if r := s.askToolRule(); r != nil {
		got := s.askBy(r, "", "the rule "+r.rule.Text+" asks for it")
		ask = &got
	}
	for i := range s.acc.Parts {
		p := &s.acc.Parts[i]
		if r := s.matchPart(p, DenyList); r != nil {
			return nil, s.denyBy(r, p.Source, "denied by the rule "+r.rule.Text), true
		}
		if r, path := (pathRuling{s}).deniedPath(p, DenyList); r != nil {
			d := s.denyBy(r, p.Source, fmt.Sprintf("it touches %s, which the rule %s denies", path, r.rule.Text))
			d.Reason.Path = path
			return nil, d, true
		}
		if ask == nil {
			ask = s.askedPart(p)
		}
		if reach == nil {
			reach = pathRuling{s}.couldTouch(p)
		}
		if reach == nil {
			reach = s.mayHold(p)
		}
		if reach == nil {
			reach = s.mayRun(i)
		}
	}
	if r := s.wholeLine(DenyList); r != nil {
		return nil, s.denyBy(r, "", "denied by the rule "+r.rule.Text), true
	}
	if ask == nil {
		if r := s.wholeLine(AskList); r != nil {
			got := s.askBy(r, "", "the rule "+r.rule.Text+" asks for it")
			ask = &got
		}
	}
	if ask != nil {
		return nil, *ask, true
	}
	return reach, Decision{}, false
}

// askToolRule finds an ask rule about the whole call. One about the bare tool is skipped for what
// runs in the sandbox, except in plan mode.
func (s *shellEval) askToolRule() *compiled {
	r := s.toolRule(AskList)
	if r == nil {
		r = s.bareRule(AskList)
	}
	if r == nil {
		return nil
	}
	if r.param == "" && !r.isGlob && s.autoAllowed() {
		for _, t := range s.shellRules() {
			for _, p := range t.params {
				if p.rule.List == AskList && s.paramMatches(p) {
					return p
				}
			}
		}
		return nil
	}
	return r
}

// autoAllowed tells whether the command runs without a question because it runs sandboxed.
func (s *shellEval) autoAllowed() bool {
	return s.sandboxed && !s.pol.Sandbox.NoAutoAllow && s.pol.Mode != Plan
}

func (s *shellEval) askedPart(p *shellsyntax.Part) *Decision {
	if r := s.matchPart(p, AskList); r != nil {
		d := s.askBy(r, p.Source, "the rule "+r.rule.Text+" asks for it")
		return &d
	}
	if r, path := (pathRuling{s}).deniedPath(p, AskList); r != nil {
		d := s.askBy(r, p.Source, fmt.Sprintf("it touches %s, for which the rule %s asks", path, r.rule.Text))
		d.Reason.Path = path
		return &d
	}
	return nil
}

// floors are the questions that no mode and no rule answers.
func (s *shellEval) floors(reach *Reason) (Decision, bool) {
	firm := func(kind ReasonKind, format string, args ...any) (Decision, bool) {
		return Decision{Behavior: Ask, Reason: Reason{Kind: kind, Text: fmt.Sprintf(format, args...)}, Firm: true, Once: true}, true
	}
	if s.req.Traits.NeedsPerson {
		d, _ := firm(ByOther, "only a person can answer it")
		d.NeedsPerson = true
		return d, true
	}
	if part, target := (removals{s}).first(); part != nil {
		d, _ := firm(BySafety, "it would remove %s", target)
		d.Reason.Part, d.Reason.Path = part.Source, target
		return d, true
	}
	if len(s.acc.Problems) > 0 {
		return firm(ByParse, "%s", s.acc.Problems[0].Text)
	}
	if len(s.acc.Parts) == 0 {
		return firm(ByParse, "there is no command in it")
	}
	for i := range s.acc.Parts {
		if u := s.acc.Parts[i].Unknown; len(u) > 0 {
			d, _ := firm(ByParse, "%s", u[0])
			d.Reason.Part = s.acc.Parts[i].Source
			return d, true
		}
	}
	if reach != nil {
		return Decision{Behavior: Ask, Reason: *reach, Firm: true, Once: true}, true
	}
	if len(s.acc.Outside) > 0 && s.deniesCommands() {
		return firm(ByParse, "%s, and whether a rule denies what that may run cannot be known", s.acc.Outside[0])
	}
	if s.acc.Commands > maxParts {
		return firm(ByLimit, "it has %d parts; over %d it asks, whatever is allowed", s.acc.Commands, maxParts)
	}
	if len(s.command) > maxChars && utf8.RuneCountInString(s.command) > maxChars {
		return firm(ByLimit, "it is %d characters long; over %d it asks, whatever is allowed", utf8.RuneCountInString(s.command), maxChars)
	}
	return Decision{}, false
}

// deniesCommands tells whether a deny rule about commands is in force.
func (s *shellEval) deniesCommands() bool {
	for _, t := range s.shellRules() {
		if ix := t.shell[DenyList]; ix != nil {
			return true
		}
	}
	return false
}

// approve looks for what lets every part run.
func (s *shellEval) approve() Decision {
	s.verdicts = make([]partVerdict, len(s.acc.Parts))
	auto := s.autoAllowed()
	readOnly := true
	var first *partVerdict
	var firstPart *shellsyntax.Part
	var matched []Match
	for i := range s.acc.Parts {
		p := &s.acc.Parts[i]
		v := s.partVerdict(i)
		s.verdicts[i] = v
		readOnly = readOnly && v.ok && v.kind == ByReadOnly
		if v.rule != nil {
			matched = append(matched, v.rule.rule.match(p.Source))
		}
		if !v.ok && first == nil {
			first, firstPart = &s.verdicts[i], p
		}
	}
	if first == nil {
		first, firstPart = s.gitElsewhere()
	}
	switch {
	case first == nil && readOnly:
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByReadOnly, Text: "it only reads"}}
	case s.pol.Mode == Plan:
		d := Decision{Behavior: Ask, Reason: Reason{Kind: ByMode, Text: "plan mode runs only what reads"}}
		if first != nil {
			d.Reason.Text += "; " + first.why
			d.Reason.Part, d.Reason.Path = firstPart.Source, first.path
		}
		return d
	case first == nil:
		d := Decision{Behavior: Allow, Matched: matched, Reason: Reason{Kind: ByRule, Text: "every part is allowed"}}
		if len(matched) == 0 {
			d.Reason.Kind = s.modeKind()
		}
		return d
	case auto && first.kind != BySafety:
		return s.sandboxAllows()
	}
	d := Decision{Behavior: Ask, Leaves: s.leaves, Matched: matched, Reason: Reason{Kind: first.kind, Text: first.why, Path: first.path, Part: firstPart.Source}}
	if s.outside != "" {
		d.Reason.Text += "; " + s.outside
	}
	if first.kind == BySafety && s.pol.Mode == DontAsk {
		d.Firm = true
	}
	return d
}

// sandboxAllows lets a sandboxed command run unless it writes what is protected.
func (s *shellEval) sandboxAllows() Decision {
	for i := range s.verdicts {
		if v := &s.verdicts[i]; !v.ok && v.kind == BySafety {
			return Decision{Behavior: Ask, Reason: Reason{Kind: BySafety, Text: v.why, Path: v.path, Part: s.acc.Parts[i].Source}}
		}
	}
	return Decision{Behavior: Allow, Reason: Reason{Kind: BySandbox, Text: "it runs in the sandbox"}}
}

func (s *shellEval) modeKind() ReasonKind {
	for _, v := range s.verdicts {
		if v.kind != ByReadOnly {
			return v.kind
		}
	}
	return ByReadOnly
}

// gitElsewhere asks for git after a change into another directory: that directory's hooks and
// configuration would run. Explicit rules for both the change and the git command settle it.
func (s *shellEval) gitElsewhere() (*partVerdict, *shellsyntax.Part) {
	cdByRule := true
	for i := range s.acc.Parts {
		if n := s.acc.Parts[i].Name(); n == "cd" && s.verdicts[i].rule == nil {
			cdByRule = false
		}
	}
	for i := range s.acc.Parts {
		p := &s.acc.Parts[i]
		if p.Name() != "git" || !p.Moved || (cdByRule && s.verdicts[i].rule != nil) {
			continue
		}
		s.verdicts[i] = partVerdict{kind: BySafety, why: "git would run in another directory, with that directory's hooks and configuration"}
		s.verdicts[i].kind = ByDirectory
		return &s.verdicts[i], p
	}
	return nil, nil
}

// confine settles whether the command runs in the sandbox.
func (s *shellEval) confine() {
	if !s.pol.Sandbox.Enabled {
		return
	}
	if v, ok := s.literal("dangerouslyDisableSandbox"); ok && v == "true" && !s.pol.Sandbox.NoEscape && s.pol.Mode != Plan {
		s.outside, s.leaves = "it asks to run outside of the sandbox", true
		return
	}
	for _, pattern := range s.pol.Sandbox.Excluded {
		t := ruletext.ParseShell(pattern)
		for i := range s.acc.Parts {
			if partMatchesText(&s.acc.Parts[i], t) {
				s.outside = fmt.Sprintf("the setting excludedCommands has %q run outside of the sandbox", pattern)
				return
			}
		}
	}
	s.sandboxed = true
}

func (s *shellEval) confinement(d Decision) tool.Confinement {
	switch {
	case s.pol.Mode == Plan && d.Behavior == Ask:
		return tool.Confinement{Level: tool.ReadOnly, Reason: "plan mode: nothing may be written"}
	case s.pol.Mode == Plan && s.sandboxed:
		return tool.Confinement{Level: tool.ReadOnly, Reason: "plan mode: nothing may be written"}
	case s.sandboxed:
		return tool.Confinement{Level: tool.Sandboxed, Reason: "shell commands run in the sandbox"}
	}
	return tool.Confinement{Reason: s.outside}
}

// partMatchesText compares a part with the text of a rule from outside the rule lists: leading
// assignments and wrappers do not count.
func partMatchesText(p *shellsyntax.Part, t ruletext.Shell) bool {
	for _, f := range p.Forms {
		if t.Pattern.Match(p.Canonical(f.At)) {
			return true
		}
		if base := baseName(f.Name); f.Name != base && f.Name != "" {
			if t.Pattern.Match(baseForm(p, f, base)) {
				return true
			}
		}
	}
	return false
}

// baseForm is the text of a form with the directory of its program left out.
func baseForm(p *shellsyntax.Part, f shellsyntax.Form, base string) string {
	rest := p.Canonical(f.At + 1)
	if rest == "" {
		return shellsyntax.Canonical(base)
	}
	return shellsyntax.Canonical(base) + " " + rest
}

// baseName is the last element of a program's name.
func baseName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
