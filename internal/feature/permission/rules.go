package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/caseblind"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// Rules is a compiled set of rules. It is immutable and safe for concurrent use; nil and the zero
// value hold none. Shell rules are indexed by their first word, so that matching a command does
// not cost the product of rules and parts.
type Rules struct {
	all      []Rule
	byTool   map[string]*toolRules
	globs    []*compiled // tool names with "*"
	problems []RuleProblem
	env      Env
	extra    *Rules // on trial: looked at beside the others
}

// Env is what compiling rules needs to know.
type Env struct {
	Dirs    Dirs
	Folds   func(dir string) bool // whether names in a folder ignore case; nil: nowhere
	Resolve Resolver              // nil: no path is a link
	Known   []string              // names of the tools there are, to warn of rules about none; nil: do not warn

	Accounts *Accounts // of command lines that were read already; nil: none
}

// RuleProblem is something wrong with one rule. The rule is left out when Malformed.
type RuleProblem struct {
	Rule      Rule
	Err       error
	Malformed bool // in a deny or ask list this must stop an unattended run
	Inert     bool // the rule can never match anything
}

// String names place and cause.
func (p RuleProblem) String() string {
	return fmt.Sprintf("%s: %s rule %q: %v", p.Rule.Where(), p.Rule.List, p.Rule.Text, p.Err)
}

// toolRules are the rules about one tool.
type toolRules struct {
	bare   []*compiled // about the whole tool
	params []*compiled // about a field of the input
	specs  []*compiled // with an ordinary specifier
	shell  map[List]*shellIndex
	paths  map[List][]*compiled
}

// compiled is one rule ready to match.
type compiled struct {
	rule   Rule
	parsed Parsed
	name   ruletext.Wildcard // of the tool, for globs
	param  string
	value  string
	shell  ruletext.Shell
	path   pathRule
	host   netname.Pattern // of a WebFetch rule
	broad  bool            // grants running anything: set aside in auto mode
	isGlob bool
}

// pathRule is the specifier of a Read, Edit or Cd rule.
type pathRule struct {
	whole   bool // everything under the base
	pattern pathpattern.Pattern
	folded  pathpattern.Pattern // of deny and ask rules: over the keys of names, where folders ignore case
	bases   []string            // the anchor as written and resolved
}

type shellIndex struct {
	byFirst map[string][]*compiled
	named   map[string][]*compiled // name options: by the name of the program
	leading []*compiled            // begin with a wildcard
	raw     []*compiled            // written with quotes: compared as written, too
	spans   []*compiled            // hold operators: compared with the whole line
}

// All returns the rules in the order given, malformed ones left out.
func (r *Rules) All() []Rule {
	if r == nil {
		return nil
	}
	return r.all
}

// Problems returns what was wrong with the rules.
func (r *Rules) Problems() []RuleProblem {
	if r == nil {
		return nil
	}
	return r.problems
}

// Compile compiles rules. It never fails: what is wrong with a rule is one of [Rules.Problems],
// and the others stay in force.
func Compile(rules []Rule, env Env) *Rules {
	out := &Rules{byTool: map[string]*toolRules{}, env: env}
	c := compiler{out: out, env: env}
	for _, r := range rules {
		c.add(r)
	}
	return out
}

type compiler struct {
	out *Rules
	env Env
}

func (c *compiler) problem(r Rule, malformed, inert bool, format string, args ...any) {
	c.out.problems = append(c.out.problems, RuleProblem{Rule: r, Err: fmt.Errorf(format, args...), Malformed: malformed, Inert: inert})
}

func (c *compiler) add(r Rule) {
	parsed, err := ParseRule(r.Text)
	if err != nil {
		c.out.problems = append(c.out.problems, RuleProblem{Rule: r, Err: err, Malformed: true, Inert: true})
		return
	}
	written := parsed.Tool
	parsed.Tool = tool.Current(written)
	x := &compiled{rule: r, parsed: parsed}
	if r.List == AllowList && tool.Widened(written) {
		c.problem(r, false, true, "%s is an older name of %s, which does more, so it approves nothing; write %s", written, parsed.Tool, parsed)
		return
	}
	if strings.Contains(parsed.Tool, "*") {
		c.addGlob(x)
		return
	}
	c.warnUnknown(r, parsed.Tool)
	if server, ok := bareServer(parsed.Tool); ok && parsed.Specifier == "" {
		x.isGlob = true
		x.name = ruletext.NewWildcard([]string{"mcp__" + server + "__", ""})
		c.out.globs = append(c.out.globs, x)
	}
	t := c.tool(parsed.Tool)
	c.out.all = append(c.out.all, r)
	if parsed.Specifier == "" {
		x.broad = isBroad(parsed, ruletext.Shell{})
		t.bare = append(t.bare, x)
		if written == parsed.Tool { // an older name is about the tool, not about all that reads or writes
			c.path(t, x, "")
		}
		return
	}
	c.specifier(t, x)
}

// bareServer tells whether the rule names an MCP server without a tool.
func bareServer(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok || rest == "" || strings.Contains(rest, "__") {
		return "", false
	}
	return rest, true
}

// addGlob compiles a rule whose tool name holds "*".
func (c *compiler) addGlob(x *compiled) {
	r, name := x.rule, x.parsed.Tool
	if r.List == AllowList {
		rest, ok := strings.CutPrefix(name, "mcp__")
		server, _, whole := strings.Cut(rest, "__")
		if !ok || !whole || server == "" || strings.Contains(server, "*") {
			c.problem(r, false, true, "in an allow rule a tool name may hold * only after mcp__SERVER__, so it approves nothing")
			return
		}
	}
	if x.parsed.Specifier != "" {
		c.problem(r, true, true, "a tool name with * takes no specifier")
		return
	}
	x.isGlob = true
	x.name = ruletext.NewWildcard(strings.Split(name, "*"))
	x.name.Trail = false
	c.out.globs = append(c.out.globs, x)
	c.out.all = append(c.out.all, r)
}

func (c *compiler) warnUnknown(r Rule, name string) {
	if c.env.Known == nil || r.List == AllowList || strings.Contains(name, "_") {
		return
	}
	for _, k := range c.env.Known {
		if k == name {
			return
		}
	}
	switch name {
	case "Read", "Edit", "Write", "Bash", "Cd", "Skill", "Agent", "WebFetch", "WebSearch", "NotebookEdit", "Glob", "Grep":
		return // known to rules even where the tool is not offered
	}
	c.problem(r, false, true, "there is no tool named %s, so the rule matches nothing", name)
}

func (c *compiler) tool(name string) *toolRules {
	t := c.out.byTool[name]
	if t == nil {
		t = &toolRules{shell: map[List]*shellIndex{}, paths: map[List][]*compiled{}}
		c.out.byTool[name] = t
	}
	return t
}

// specifier compiles what stands between the parentheses.
func (c *compiler) specifier(t *toolRules, x *compiled) {
	r, spec := x.rule, x.parsed.Specifier
	param, value, isParam := parameterRule(spec)
	isShell := x.parsed.Tool == "Bash" || x.parsed.Tool == "PowerShell"
	if r.List != AllowList && isParam && paramTool(x.parsed.Tool, param) && !(isShell && strings.HasSuffix(spec, ":*")) {
		if contentField(param) {
			c.problem(r, false, true, "a parameter rule cannot name %q, the very content of the tool; write %s(…) with a pattern instead", param, x.parsed.Tool)
			return
		}
		y := *x
		y.param, y.value = param, value
		t.params = append(t.params, &y)
	}
	switch x.parsed.Tool {
	case "Bash", "PowerShell", "Monitor":
		c.shell(t, x)
	case "Read", "Edit", "Cd":
		c.path(t, x, spec)
	case "Write", "NotebookEdit", "Glob", "Grep":
		instead := "Edit"
		if x.parsed.Tool == "Glob" || x.parsed.Tool == "Grep" {
			instead = "Read"
		}
		c.problem(r, false, true, "path rules for %s are never consulted; write %s(%s), which governs it", x.parsed.Tool, instead, spec)
	case "WebFetch":
		c.domain(t, x, spec)
	default:
		t.specs = append(t.specs, x)
	}
}

// paramTool tells whether "name:value" in a specifier of the tool can be a parameter. For shell tools a
// colon is so common in commands that only plausible parameters count.
func paramTool(name, param string) bool {
	switch name {
	case "WebFetch":
		return param != "domain"
	case "Read", "Edit", "Cd":
		return !contentField(param) && param != "file" && param != "http" && param != "https"
	}
	return true
}

func (c *compiler) shell(t *toolRules, x *compiled) {
	param, _, isParam := parameterRule(x.parsed.Specifier)
	if isParam && x.param == "" && x.rule.List != AllowList && !strings.HasSuffix(x.parsed.Specifier, ":*") && shellParameter(param) {
		return // a parameter, not a command
	}
	x.shell = ruletext.ParseShell(x.parsed.Specifier)
	x.broad = x.rule.List == AllowList && isBroad(x.parsed, x.shell)
	ix := t.shell[x.rule.List]
	if ix == nil {
		ix = &shellIndex{byFirst: map[string][]*compiled{}, named: map[string][]*compiled{}}
		t.shell[x.rule.List] = ix
	}
	if x.shell.Spans {
		if x.rule.List == AllowList {
			c.problem(x.rule, false, true, "an allow rule covers one command at a time; operators such as | ; && > never match")
			return
		}
		ix.spans = append(ix.spans, x)
	}
	if x.shell.First != "" {
		ix.byFirst[x.shell.First] = append(ix.byFirst[x.shell.First], x)
	} else {
		ix.leading = append(ix.leading, x)
	}
	if x.shell.Quoted {
		ix.raw = append(ix.raw, x)
	}
	if x.shell.Options != nil && x.rule.List != AllowList {
		base := baseName(x.shell.First)
		ix.named[base] = append(ix.named[base], x)
	}
}

// shellParameter tells the fields of a shell call other than the command.
func shellParameter(name string) bool {
	switch name {
	case "run_in_background", "dangerouslyDisableSandbox", "timeout", "description":
		return true
	}
	return false
}

func (c *compiler) domain(t *toolRules, x *compiled, spec string) {
	host, ok := strings.CutPrefix(spec, "domain:")
	if !ok {
		c.problem(x.rule, true, true, "a WebFetch rule is WebFetch(domain:HOST), not %q", spec)
		return
	}
	pat, err := netname.ParsePattern(host, true)
	if err != nil {
		c.problem(x.rule, true, true, "%w", err)
		return
	}
	x.value, x.host = host, pat
	if pat.Any() {
		t.bare = append(t.bare, x)
		return
	}
	t.specs = append(t.specs, x)
}

// path compiles a path rule; an empty specifier is about every path.
func (c *compiler) path(t *toolRules, x *compiled, spec string) {
	if name := x.parsed.Tool; name != "Read" && name != "Edit" && name != "Cd" {
		return
	}
	if spec == "" {
		x.path = pathRule{whole: true, bases: []string{"/"}}
		t.paths[x.rule.List] = append(t.paths[x.rule.List], x)
		return
	}
	anchor, rest := pathpattern.SplitAnchor(spec)
	base := c.base(anchor, x.rule)
	if base == "" {
		c.problem(x.rule, false, true, "where the pattern starts is not known")
		return
	}
	if x.rule.List != AllowList && anchor == pathpattern.AtCwd && !strings.HasPrefix(spec, "./") {
		rest = anyDepthDir(rest)
	}
	x.path.bases = c.resolved(base)
	if rest == "/" {
		x.path.whole = true
	} else {
		p, err := pathpattern.Compile(rest, pathpattern.Options{})
		switch {
		case errors.Is(err, pathpattern.ErrEmpty), errors.Is(err, pathpattern.ErrUnclosed):
			c.problem(x.rule, x.rule.List != AllowList, true, "%w", err)
			return
		case p.Negated():
			c.problem(x.rule, x.rule.List != AllowList, true, "a path rule cannot be turned round with !")
			return
		}
		x.path.pattern, x.path.folded = p, p
		if c.env.Folds != nil && x.rule.List != AllowList {
			if q, err := pathpattern.Compile(caseblind.Key(rest), pathpattern.Options{Fold: true}); err == nil {
				x.path.folded = q
			}
		}
	}
	if anchor == pathpattern.AtSource && looksAbsolute(spec) && x.rule.List != AllowList {
		c.problem(x.rule, false, false, "/%s starts from %s; for an absolute path write //%s", strings.TrimPrefix(spec, "/"), base, strings.TrimPrefix(spec, "/"))
	}
	t.paths[x.rule.List] = append(t.paths[x.rule.List], x)
}

// anyDepthDir lets the single directory of "dir/**" stand at any depth, as deny and ask rules have it.
func anyDepthDir(rest string) string {
	dir, ok := strings.CutSuffix(rest, "/**")
	if ok && dir != "" && dir != "**" && !strings.Contains(dir, "/") {
		return "**/" + rest
	}
	return rest
}

// looksAbsolute tells a pattern that was probably meant as an absolute path.
func looksAbsolute(spec string) bool {
	for _, p := range []string{"/etc/", "/usr/", "/home/", "/Users/", "/var/", "/root/", "/opt/", "/tmp/", "/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(spec, p) || spec == strings.TrimSuffix(p, "/") {
			return true
		}
	}
	return false
}

func (c *compiler) base(a pathpattern.Anchor, r Rule) string {
	d := c.env.Dirs
	switch a {
	case pathpattern.AtRoot:
		return "/"
	case pathpattern.AtHome:
		return d.Home
	case pathpattern.AtSource:
		if r.Base != "" {
			return path.Clean(r.Base)
		}
	}
	return d.Cwd
}

func (c *compiler) resolved(base string) []string {
	out := []string{base}
	if c.env.Resolve != nil && base != "/" {
		if got, err := c.env.Resolve(base); err == nil && got.Path != base {
			out = append(out, got.Path)
		}
	}
	return out
}

// covers compares the name of a tool with a wildcard over names. In deny and ask lists the names it had
// before count, too.
func (x *compiled) covers(name string) bool {
	return x.name.MatchParts(name) || x.rule.List != AllowList && slices.ContainsFunc(tool.Older(name), x.name.MatchParts)
}

// Hides tells whether a deny rule takes a tool out of the model's view: a rule about the tool as a
// whole, or a wildcard over names.
func (r *Rules) Hides(name string) (Match, bool) {
	if r == nil {
		return Match{}, false
	}
	if t := r.byTool[name]; t != nil {
		for _, x := range t.bare {
			if x.rule.List == DenyList {
				return x.rule.match(""), true
			}
		}
	}
	for _, x := range r.globs {
		if x.rule.List == DenyList && x.covers(name) {
			return x.rule.match(""), true
		}
	}
	return Match{}, false
}

// PathPattern is a path rule for others that enforce it (the sandbox, a search): a gitignore
// pattern and the directory it starts from.
type PathPattern struct {
	Rule    Rule
	Base    string // absolute
	Pattern string // relative to Base; "/" means Base itself and everything below
}

// Paths returns the path rules of a list, for tool "Read" or "Edit".
func (r *Rules) Paths(tool string, list List) []PathPattern {
	if r == nil || r.byTool[tool] == nil {
		return nil
	}
	var out []PathPattern
	for _, x := range r.byTool[tool].paths[list] {
		for _, b := range x.path.bases {
			text := x.path.pattern.String()
			if x.path.whole {
				text = "/"
			}
			out = append(out, PathPattern{Rule: x.rule, Base: b, Pattern: text})
		}
	}
	return out
}

// DeniesRead tells whether a deny rule forbids reading the path, in any spelling its links give it. It is
// the filter for results of tools that read below a directory.
func DeniesRead(pol Policy, path string) (Match, bool) {
	if pol.Rules == nil {
		return Match{}, false
	}
	e := newEval(&Request{}, &pol)
	if r := e.anySpelling(e.pathRules("Read", DenyList), e.placeOf(path)); r != nil {
		return r.rule.match(""), true
	}
	return Match{}, false
}
