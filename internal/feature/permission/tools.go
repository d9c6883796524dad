package permission

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// toolCall decides about a call that runs no shell text.
func (e *eval) toolCall() Decision {
	for _, u := range e.req.Traits.Paths {
		if why := badPath(u.Path); why != "" {
			return Decision{Behavior: Deny, Firm: true, Reason: Reason{Kind: BySafety, Text: why, Path: u.Path}}
		}
	}
	if r := e.anyRule(DenyList); r != nil {
		return e.denyBy(r, "", "denied by the rule "+r.rule.Text)
	}
	if r, p := e.toolPathRule(DenyList); r != nil {
		d := e.denyBy(r, "", fmt.Sprintf("%s is denied by the rule %s", p, r.rule.Text))
		d.Reason.Path = p
		return d
	}
	if r := e.anyRule(AskList); r != nil {
		return e.person(e.askBy(r, "", "the rule "+r.rule.Text+" asks for it"))
	}
	if r, p := e.toolPathRule(AskList); r != nil {
		d := e.askBy(r, "", fmt.Sprintf("for %s the rule %s asks", p, r.rule.Text))
		d.Reason.Path = p
		return e.person(d)
	}
	if e.req.Traits.NeedsPerson {
		return e.person(Decision{Behavior: Ask, Firm: true, Once: true, Reason: Reason{Kind: ByOther, Text: "only a person can answer it"}})
	}
	switch {
	case e.ownNotes():
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByOther, Text: "they are the agent's own notes"}}
	case e.pol.Mode == Bypass && len(e.req.Traits.Paths) > 0 && e.req.Tool != "WebFetch":
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByMode, Text: "the mode “bypass permissions” runs it without asking"}}
	case e.writes():
		return e.fileChange()
	case e.req.Tool == "WebFetch":
		return e.webFetch()
	case len(e.req.Traits.Paths) > 0 && e.req.Traits.ReadOnly && !e.isMCP():
		return e.fileRead()
	}
	return e.otherCall()
}

func (e *eval) person(d Decision) Decision {
	d.NeedsPerson = d.NeedsPerson || e.req.Traits.NeedsPerson
	return d
}

func (e *eval) isMCP() bool { return strings.HasPrefix(e.req.Tool, "mcp__") }

// anyRule finds a rule about the tool, a field, or what the tool's own specifier is about.
func (e *eval) anyRule(list List) *compiled {
	if r := e.toolRule(list); r != nil {
		return r
	}
	t := e.pol.Rules.byTool[e.req.Tool]
	if t == nil {
		return nil
	}
	for _, r := range t.specs {
		if r.rule.List == list && !(e.pol.Mode == Auto && list == AllowList && r.broad) && e.specMatches(r) {
			return r
		}
	}
	return nil
}

// specMatches compares the ordinary specifier of a tool.
func (e *eval) specMatches(r *compiled) bool {
	spec := r.parsed.Specifier
	switch e.req.Tool {
	case "WebFetch":
		host, ok := e.fetchHost()
		return ok && r.matchesHost(host)
	case "Agent":
		return agentMatches(spec, e.field("subagent_type"))
	case "Skill":
		return skillMatches(spec, e.field("skill"), e.field("args"))
	}
	// A tool without a specifier of its own: the text is compared with its name-like field.
	for _, f := range []string{"name", "query", "id"} {
		if v := e.field(f); v != "" && ruletext.MatchStars(spec, v) {
			return true
		}
	}
	return false
}

// agentMatches compares one agent type, or a list of them.
func agentMatches(spec, kind string) bool {
	if kind == "" {
		kind = "general-purpose"
	}
	for one := range strings.SplitSeq(spec, ",") {
		if ruletext.MatchStars(strings.TrimSpace(one), kind) {
			return true
		}
	}
	return false
}

// skillMatches compares "name", or "name *" with the arguments.
func skillMatches(spec, name, args string) bool {
	name, spec = strings.TrimPrefix(name, "/"), strings.TrimPrefix(spec, "/") // as SlashCommand was written
	if strings.HasSuffix(spec, ":*") {
		spec = strings.TrimSuffix(spec, ":*") + " *"
	}
	if !strings.Contains(spec, "*") {
		return spec == name || spec == strings.TrimSpace(name+" "+args)
	}
	return ruletext.NewWildcard(strings.Split(spec, "*")).Match(strings.TrimSpace(name + " " + args))
}

// writes tells whether the call changes files.
func (e *eval) writes() bool {
	for _, u := range e.req.Traits.Paths {
		if u.Intent == tool.Write || u.Intent == tool.Delete {
			return true
		}
	}
	return false
}

// toolPathRule finds a deny or ask rule about a path of the call. A Read rule also binds writers.
func (e *eval) toolPathRule(list List) (*compiled, string) {
	read, edit := e.pathRules("Read", list), e.pathRules("Edit", list)
	if len(read) == 0 && len(edit) == 0 {
		return nil, ""
	}
	for _, u := range e.req.Traits.Paths {
		pl := e.placeOf(clean(e.req.Cwd, u.Path))
		if r := e.anySpelling(read, pl); r != nil && !(r.path.whole && r.parsed.Specifier == "" && e.req.Tool != "Read" && u.Intent != tool.Read) {
			return r, u.Path
		}
		if u.Intent != tool.Write && u.Intent != tool.Delete {
			continue
		}
		if r := e.anySpelling(edit, pl); r != nil {
			return r, u.Path
		}
	}
	return nil, ""
}

// ownNotes tells whether all the call's paths are the agent's own notes.
func (e *eval) ownNotes() bool {
	return e.pol.Dirs.Notes != nil && len(e.req.Traits.Paths) > 0 && !slices.ContainsFunc(e.req.Traits.Paths, func(u tool.PathUse) bool {
		pl := e.placeOf(clean(e.req.Cwd, u.Path))
		return u.Intent == tool.Delete || pl.err != nil || !e.pol.Dirs.Notes(pl.path, pl.real)
	})
}

// fileChange decides about Edit, Write and their like.
func (e *eval) fileChange() Decision {
	var outside, protected, unresolved string
	var why string
	for _, u := range e.req.Traits.Paths {
		pl := e.placeOf(clean(e.req.Cwd, u.Path))
		if pl.err != nil && unresolved == "" {
			unresolved, why = u.Path, pl.err.Error()
		}
		if name := e.protectedName(pl); name != "" && protected == "" {
			protected, why = u.Path, name
		}
		if !e.inside(pl) && outside == "" {
			outside = u.Path
			if pl.real != pl.path {
				outside += " (→ " + pl.real + ")"
			}
		}
	}
	switch {
	case e.pol.Mode == Plan:
		return Decision{Behavior: Deny, Firm: true, Reason: Reason{Kind: ByMode, Text: "plan mode: nothing is changed before a plan is approved"}}
	case protected != "":
		return e.askProtected(protected, why)
	case unresolved != "":
		return Decision{Behavior: Ask, Once: true, Reason: Reason{Kind: ByDirectory, Text: "the path cannot be resolved: " + why, Path: unresolved}}
	}
	if (e.pol.Mode == AcceptEdits || e.pol.Mode == Auto) && outside == "" {
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByMode, Text: "the mode “" + e.pol.Mode.Label() + "” covers edits in the working directories"}}
	}
	if r := e.toolRule(AllowList); r != nil {
		return e.allowBy(r)
	}
	if r := e.allPaths("Edit"); r != nil {
		return e.allowBy(r)
	}
	return e.askEdit(outside)
}

func (e *eval) allowBy(r *compiled) Decision {
	return Decision{Behavior: Allow, Reason: Reason{Kind: ByRule, Text: "allowed by the rule " + r.rule.Text}, Matched: []Match{r.rule.match("")}}
}

// allPaths finds an allow rule for every path the call uses; it returns the last.
func (e *eval) allPaths(rules string) *compiled {
	list := e.pathRules(rules, AllowList)
	var out *compiled
	for _, u := range e.req.Traits.Paths {
		if out = e.bothSpellings(list, e.placeOf(clean(e.req.Cwd, u.Path))); out == nil {
			return nil
		}
	}
	return out
}

// askProtected asks for a write to a protected path. It is never offered for good; what lies in
// .claude may be granted for the session.
func (e *eval) askProtected(p, name string) Decision {
	d := Decision{Behavior: Ask, Once: true, Reason: Reason{Kind: BySafety, Path: p, Text: fmt.Sprintf("%s is protected (%s): writing it always asks", p, name)}}
	if (name == ".claude" || name == ".myelin") && e.sessionGrant(p) {
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByRule, Path: p, Text: "granted for this session"}}
	}
	if e.pol.Mode == DontAsk {
		d.Firm = true
	}
	if name == ".claude" || name == ".myelin" {
		d.Once = false
		d.Suggestions = []proto.PermissionUpdate{addRules([]string{"Edit(" + protectedGrant(p, name) + ")"}, FromSession)}
	}
	return d
}

// protectedGrant is the pattern of a session grant for the protected folder that holds p.
func protectedGrant(p, name string) string {
	i := strings.LastIndex(p, "/"+name)
	return "/" + pathpattern.Escape(p[:i+len(name)+1]) + "/**"
}

// sessionGrant tells whether the person has granted the protected folder for this session.
func (e *eval) sessionGrant(p string) bool {
	pl := e.placeOf(clean(e.req.Cwd, p))
	for _, r := range e.pathRules("Edit", AllowList) {
		if r.rule.Source == FromSession && !r.path.whole && e.grants(r, pl.path) && (pl.real == pl.path || e.grants(r, pl.real)) && strings.Contains(r.rule.Text, "/.") {
			return true
		}
	}
	return false
}

func (e *eval) askEdit(outside string) Decision {
	d := Decision{Behavior: Ask, Reason: Reason{Kind: ByOther, Text: "changing files needs your word"}}
	mode := proto.PermissionUpdate{Type: "setMode", Mode: string(AcceptEdits), Destination: string(FromSession)}
	for _, u := range e.req.Traits.Paths {
		d.Missing = append(d.Missing, ruleForPath("Edit", clean(e.req.Cwd, u.Path)))
	}
	if outside == "" {
		d.Suggestions = []proto.PermissionUpdate{mode}
		return d
	}
	d.Reason = Reason{Kind: ByDirectory, Text: outside + " lies outside of the working directories", Path: outside}
	dirs := proto.PermissionUpdate{Type: "addDirectories", Destination: string(FromSession)}
	for _, u := range e.req.Traits.Paths {
		dirs.Directories = append(dirs.Directories, path.Dir(clean(e.req.Cwd, u.Path)))
	}
	d.Suggestions = []proto.PermissionUpdate{mode, dirs}
	return d
}

// fileRead decides about Read, Grep, Glob and their like.
func (e *eval) fileRead() Decision {
	outside, why := "", ""
	for _, u := range e.req.Traits.Paths {
		pl := e.placeOf(clean(e.req.Cwd, u.Path))
		switch {
		case pl.err != nil:
			outside, why = u.Path, "it cannot be resolved: "+pl.err.Error()
		case !e.inside(pl) && outside == "":
			outside, why = u.Path, "it lies outside of the working directories"
			if pl.real != pl.path {
				why = "it leads to " + pl.real + ", outside of the working directories"
			}
		}
	}
	if outside == "" {
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByReadOnly, Text: "it only reads, inside the working directories"}}
	}
	if r := e.toolRule(AllowList); r != nil {
		return e.allowBy(r)
	}
	if r := e.allPaths("Read"); r != nil {
		return e.allowBy(r)
	}
	d := Decision{Behavior: Ask, Reason: Reason{Kind: ByDirectory, Text: outside + ": " + why, Path: outside}}
	var rules []string
	for _, u := range e.req.Traits.Paths {
		p := clean(e.req.Cwd, u.Path)
		if u.Intent == tool.Read {
			p = path.Dir(p)
		}
		if p == "/" || p == e.pol.Dirs.Home {
			rules = append(rules, ruleForPath("Read", clean(e.req.Cwd, u.Path)))
			continue
		}
		rules = append(rules, "Read(/"+pathpattern.Escape(p)+"/**)")
	}
	d.Missing = rules
	d.Suggestions = []proto.PermissionUpdate{addRules(rules, FromSession)}
	return d
}

// fetchHost is the host of the URL a fetch is about.
func (e *eval) fetchHost() (host netname.Host, ok bool) {
	var name string
	if raw := e.field("url"); raw != "" {
		u, err := url.Parse(raw)
		if err != nil {
			return netname.Host{}, false
		}
		name = u.Hostname()
	} else if len(e.req.Traits.Hosts) > 0 {
		var err error
		if name, _, err = netname.Split(e.req.Traits.Hosts[0]); err != nil {
			return netname.Host{}, false
		}
	}
	host, err := netname.Parse(name)
	return host, err == nil
}

func (e *eval) webFetch() Decision {
	host, ok := e.fetchHost()
	switch {
	case !ok:
		return Decision{Behavior: Ask, Once: true, Reason: Reason{Kind: ByOther, Text: "the URL names no host that can be read in one way only"}}
	case e.pol.Mode == Bypass:
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByMode, Text: "the mode “bypass permissions” runs it without asking"}}
	}
	if r := e.anyRule(AllowList); r != nil {
		return e.allowBy(r)
	}
	if documentationHost(host.Name) {
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByReadOnly, Text: host.Name + " is on the list of documentation hosts"}}
	}
	rule := "WebFetch(domain:" + host.URLHost() + ")"
	return Decision{
		Behavior: Ask, Reason: Reason{Kind: ByOther, Text: "nothing allows fetching from " + host.Name}, Missing: []string{rule},
		Suggestions: []proto.PermissionUpdate{addRules([]string{rule}, FromLocal)},
	}
}

// otherCall decides about tools that touch no path.
func (e *eval) otherCall() Decision {
	switch {
	case e.req.Traits.NoEffect:
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByReadOnly, Text: "it touches only the conversation"}}
	case e.pol.Mode == Bypass:
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByMode, Text: "the mode “bypass permissions” runs it without asking"}}
	}
	if e.pol.Mode != Plan || e.req.Tool == "Agent" {
		if r := e.anyRule(AllowList); r != nil {
			return e.allowBy(r)
		}
	}
	switch {
	case e.req.Tool == "Agent" && e.pol.Mode != Auto:
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByOther, Text: "the calls of an agent are checked one by one"}}
	case e.req.Traits.ReadOnly && !e.isMCP() && len(e.req.Traits.Hosts) == 0 && e.req.Tool != "WebSearch" && e.req.Tool != "Agent":
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByReadOnly, Text: "it only reads"}}
	}
	rule := e.req.Tool
	switch {
	case e.req.Tool == "Skill" && e.field("skill") != "":
		rule = "Skill(" + strings.TrimPrefix(e.field("skill"), "/") + ")"
	case e.req.Tool == "Agent" && e.field("subagent_type") != "":
		rule = "Agent(" + e.field("subagent_type") + ")"
	}
	d := Decision{Behavior: Ask, Reason: Reason{Kind: ByOther, Text: "nothing allows " + e.req.Tool}, Missing: []string{rule}}
	if e.pol.Mode == Plan {
		d.Reason = Reason{Kind: ByMode, Text: "plan mode runs only what reads"}
	}
	d.Suggestions = []proto.PermissionUpdate{addRules([]string{rule}, FromLocal)}
	return d
}

// cdCommand decides about the person's own /cd. Any Cd allow rule makes the allow rules a list of all
// that is allowed.
func (e *eval) cdCommand() Decision {
	target := e.field("path")
	if target == "" && len(e.req.Traits.Paths) > 0 {
		target = e.req.Traits.Paths[0].Path
	}
	pl := e.placeOf(clean(e.req.Cwd, target))
	whole := func(r *compiled, p string) bool {
		fold := r.rule.List != AllowList && e.foldsAt(p)
		pattern := r.path.of(fold)
		for _, b := range r.path.bases {
			rel, ok := relTo(b, p, fold)
			switch {
			case !ok:
			case r.path.whole, rel != "" && pattern.Match(rel, true):
				return true
			default:
				if root, below := strings.CutSuffix(pattern.String(), "/**"); below && strings.TrimPrefix(root, "/") == rel {
					return true
				}
			}
		}
		return false
	}
	for _, r := range e.pathRules("Cd", DenyList) {
		for _, s := range append([]string{pl.path, pl.real}, pl.hops...) {
			if whole(r, s) {
				return e.denyBy(r, "", "denied by the rule "+r.rule.Text)
			}
		}
	}
	allow := e.pathRules("Cd", AllowList)
	if len(allow) == 0 {
		return Decision{Behavior: Allow, Reason: Reason{Kind: ByOther, Text: "you asked for it"}}
	}
	for _, r := range allow {
		if whole(r, pl.path) && whole(r, pl.real) {
			return e.allowBy(r)
		}
	}
	return Decision{Behavior: Deny, Firm: true, Reason: Reason{Kind: ByRule, Text: "no Cd rule allows " + pl.path, Path: pl.path}}
}
