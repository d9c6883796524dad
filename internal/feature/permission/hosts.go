package permission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// documentationHost tells the hosts whose pages may be fetched without asking: the documentation of
// languages and widely used tools, none of which shows what strangers upload.
func documentationHost(host string) bool {
	switch host {
	case "docs.python.org", "pkg.go.dev", "go.dev", "doc.rust-lang.org", "docs.rs", "developer.mozilla.org", "nodejs.org",
		"www.typescriptlang.org", "react.dev", "vuejs.org", "angular.dev", "svelte.dev", "docs.djangoproject.com", "flask.palletsprojects.com",
		"guides.rubyonrails.org", "docs.ruby-lang.org", "www.php.net", "docs.oracle.com", "kotlinlang.org", "docs.swift.org",
		"en.cppreference.com", "www.postgresql.org", "dev.mysql.com", "www.sqlite.org", "redis.io", "docs.docker.com", "kubernetes.io",
		"docs.kernel.org", "man7.org", "git-scm.com", "docs.npmjs.com", "learn.microsoft.com", "docs.github.com", "docs.gitlab.com",
		"platform.openai.com", "docs.anthropic.com", "docs.claude.com", "modelcontextprotocol.io", "agentclientprotocol.com":
		return true
	}
	return false
}

// HostPolicy is what decides about a connection out of the sandbox. Lists hold patterns of hosts:
// "example.com", "*.example.com" (subdomains alone), each with an optional ":port", "[v6]".
type HostPolicy struct {
	Allowed, Denied               []string
	ManagedAllowed, ManagedDenied []string // those of managed settings; they count, too
	ManagedOnly                   bool     // nothing but managed entries allows, and nobody is asked
	Strict                        bool     // what no list allows is denied without asking
	Rules                         *Rules   // WebFetch(domain:…) rules join the lists
	Mode                          Mode
	Granted                       map[string]bool // "host" or "host:port" → allowed, answers of this session or turn
}

// HostDecision is the outcome for one connection.
type HostDecision struct {
	Behavior Behavior `json:"behavior"`
	Reason   string   `json:"reason"`
	Pattern  string   `json:"pattern,omitempty"` // the entry that decided
	Named    bool     `json:"named,omitempty"`   // the entry names an address or localhost itself: private addresses are meant
	Classify bool     `json:"classify,omitempty"`
	Host     string   `json:"host"` // canonical; what was decided is what must be dialled
}

// DecideHost decides about a connection to host and port. A host that is no clean name or address is
// denied. It is pure.
func DecideHost(host, port string, p HostPolicy) HostDecision {
	number, err := strconv.Atoi(port)
	if err != nil {
		return HostDecision{Behavior: Deny, Reason: fmt.Sprintf("%q is no port", port), Host: host}
	}
	to, err := netname.ParsePort(host, number)
	if err != nil {
		return HostDecision{Behavior: Deny, Reason: err.Error(), Host: host}
	}
	d := func(b Behavior, pattern, reason string) HostDecision {
		return HostDecision{Behavior: b, Reason: reason, Pattern: pattern, Host: to.Name}
	}
	for _, entry := range slices.Concat(p.ManagedDenied, p.Denied) {
		if pat, ok := denyPattern(entry); ok && pat.Denies(to.Host, to.Port) {
			return d(Deny, entry, "denied by the entry "+entry)
		}
	}
	if r := p.Rules.hostRule(DenyList, to.Host); r != nil {
		return d(Deny, r.rule.Text, "denied by the rule "+r.rule.Text+" ("+r.rule.Where()+")")
	}
	if entry, named, ok := p.allows(to); ok {
		out := d(Allow, entry, "allowed by the entry "+entry)
		out.Named = named
		return out
	}
	if p.ManagedOnly {
		return d(Deny, "", "only hosts of managed settings are allowed")
	}
	if p.Rules.hostRule(AskList, to.Host) == nil {
		if r := p.Rules.hostRule(AllowList, to.Host); r != nil {
			out := d(Allow, r.rule.Text, "allowed by the rule "+r.rule.Text+" ("+r.rule.Where()+")")
			out.Named = r.host.NamesInside()
			return out
		}
	}
	return p.otherwise(to, d)
}

// denyPattern reads an entry of a list that denies: one that is malformed still denies what it may mean.
func denyPattern(entry string) (netname.Pattern, bool) {
	if pat, err := netname.ParsePattern(entry, false); err == nil {
		return pat, true
	}
	return netname.WidestPattern(entry)
}

// allows finds the entry that allows a connection; named tells that it means an address or this machine.
func (p HostPolicy) allows(to netname.Endpoint) (entry string, named, ok bool) {
	lists := [][]string{p.ManagedAllowed, p.Allowed}
	if p.ManagedOnly {
		lists = lists[:1]
	}
	for _, entry := range slices.Concat(lists...) {
		if pat, err := netname.ParsePattern(entry, false); err == nil && pat.Allows(to.Host, to.Port) {
			return entry, pat.NamesInside(), true
		}
	}
	return "", false, false
}

// otherwise decides what no entry and no rule did: answers given before, then the mode.
func (p HostPolicy) otherwise(to netname.Endpoint, d func(b Behavior, pattern, reason string) HostDecision) HostDecision {
	for _, key := range []string{to.String(), to.Name} {
		if ok, known := p.Granted[key]; known {
			if ok {
				return d(Allow, to.Name, "allowed for this session")
			}
			return d(Deny, "", "denied before")
		}
	}
	switch {
	case p.Strict:
		return d(Deny, "", "no entry allows the host, and the list is strict")
	case p.Mode == Bypass:
		return d(Allow, "", "the mode “bypass permissions” allows every host")
	case p.Mode == DontAsk:
		return d(Deny, "", "no entry allows the host; in the mode “don't ask” the answer is no")
	}
	out := d(Ask, "", "no entry allows the host")
	out.Classify = p.Mode == Auto
	return out
}

// hostRule finds a WebFetch rule for a host.
func (r *Rules) hostRule(list List, host netname.Host) *compiled {
	if r == nil || r.byTool == nil {
		return nil
	}
	t := r.byTool["WebFetch"]
	if t == nil {
		return nil
	}
	for _, x := range t.specs {
		if x.rule.List == list && x.matchesHost(host) {
			return x
		}
	}
	if list != AllowList {
		for _, x := range t.bare {
			if x.rule.List == list && x.value != "" {
				return x
			}
		}
	}
	return nil
}

// matchesHost compares the host of a WebFetch rule: allow grants what is meant, deny and ask whatever
// could be.
func (x *compiled) matchesHost(h netname.Host) bool {
	if x.rule.List == AllowList {
		return x.host.Allows(h, 0)
	}
	return x.host.Denies(h, 0)
}

// NamesHost reports whether a rule that decided names the host itself, not by a wildcard: who wrote it
// meant this very host, on a private network, too.
func NamesHost(d Decision, host netname.Host) bool {
	for _, m := range d.Matched {
		parsed, err := ParseRule(m.Rule)
		if err != nil {
			continue
		}
		spec, ok := strings.CutPrefix(parsed.Specifier, "domain:")
		if pat, err := netname.ParsePattern(spec, true); ok && err == nil {
			if one, exact := pat.Exact(); exact && one == host {
				return true
			}
		}
	}
	return false
}
