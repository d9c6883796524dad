package permission

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// hostPattern is one pattern for hosts.
type hostPattern struct {
	any    bool   // every host
	sub    string // subdomains of this, at any depth, not itself
	host   string // canonical; may hold "*" within a label
	port   string // empty: every port
	labels bool   // host holds a "*"
	// ambiguous: an IPv6 address without brackets that could be read with or without a port.
	ambiguous []string
}

// ErrHostPattern is wrapped by the errors about host patterns.
var ErrHostPattern = errors.New("bad host pattern")

// parseHostPattern reads a pattern. inner tells whether "*" may stand inside a label (rules for
// WebFetch), which lists of the sandbox do not take.
func parseHostPattern(text string, inner bool) (hostPattern, error) {
	text = strings.TrimSpace(text)
	bad := func(why string) (hostPattern, error) {
		return hostPattern{}, fmt.Errorf("%w %q: %s", ErrHostPattern, text, why)
	}
	switch {
	case text == "":
		return bad("it is empty")
	case text == "*":
		return hostPattern{any: true}, nil
	case strings.ContainsAny(text, "@/?#\\ \t\n\x00"):
		return bad("a host has no scheme, user, path, query or blank")
	}
	if strings.HasPrefix(text, "[") {
		return bracketed(text)
	}
	if strings.Count(text, ":") > 1 {
		return bareV6(text)
	}
	host, port := splitPort(text)
	if port != "" && !validPort(port) {
		return bad("the port is no number from 1 to 65535")
	}
	p := hostPattern{port: port}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		if rest == "" || strings.Contains(rest, "*") {
			return bad("a wildcard stands for subdomains alone: *.example.com")
		}
		p.sub = canonicalHost(rest)
		return p, nil
	}
	if strings.Contains(host, "*") {
		if !inner {
			return bad("a wildcard stands for subdomains alone: *.example.com")
		}
		p.labels = true
	}
	p.host = canonicalHost(host)
	return p, nil
}

func bracketed(text string) (hostPattern, error) {
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return hostPattern{}, fmt.Errorf("%w %q: the bracket is not closed", ErrHostPattern, text)
	}
	addr, err := netip.ParseAddr(text[1:end])
	if err != nil {
		return hostPattern{}, fmt.Errorf("%w %q: no IPv6 address in the brackets", ErrHostPattern, text)
	}
	p := hostPattern{host: canonicalHost(addr.String())}
	rest := text[end+1:]
	if rest == "" {
		return p, nil
	}
	p.port = strings.TrimPrefix(rest, ":")
	if !strings.HasPrefix(rest, ":") || !validPort(p.port) {
		return hostPattern{}, fmt.Errorf("%w %q: after the bracket only :PORT may follow", ErrHostPattern, text)
	}
	return p, nil
}

// bareV6 reads an address without brackets. "1::2:443" is an address, or an address and a port.
func bareV6(text string) (hostPattern, error) {
	var p hostPattern
	if addr, err := netip.ParseAddr(text); err == nil {
		p.host = canonicalHost(addr.String())
	}
	i := strings.LastIndexByte(text, ':')
	if addr, err := netip.ParseAddr(text[:i]); err == nil && validPort(text[i+1:]) {
		p.ambiguous = []string{canonicalHost(addr.String()), text[i+1:]}
	}
	if p.host == "" && p.ambiguous == nil {
		return p, fmt.Errorf("%w %q: it is neither a host nor an address", ErrHostPattern, text)
	}
	if p.host == "" {
		p.host, p.port, p.ambiguous = p.ambiguous[0], p.ambiguous[1], nil
	}
	return p, nil
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && n < 65536
}

// splitPort takes ":port" off a host. IPv6 addresses need brackets for that.
func splitPort(s string) (host, port string) {
	if strings.HasPrefix(s, "[") {
		if h, p, err := net.SplitHostPort(s); err == nil {
			return h, p
		}
		return strings.Trim(s, "[]"), ""
	}
	if strings.Count(s, ":") != 1 {
		return s, ""
	}
	host, port, _ = strings.Cut(s, ":")
	return host, port
}

// matches compares a canonical host, and the port where both name one.
func (p hostPattern) matches(host, port string) bool {
	if p.port != "" && port != p.port {
		return false
	}
	switch {
	case p.any:
		return true
	case p.sub != "":
		return strings.HasSuffix(host, "."+p.sub)
	case p.labels:
		return labelsMatch(p.host, host)
	}
	return host == p.host
}

// matchesAnyReading is matches for deny lists: every reading of an ambiguous pattern counts.
func (p hostPattern) matchesAnyReading(host, port string) bool {
	if p.matches(host, port) {
		return true
	}
	return len(p.ambiguous) == 2 && host == p.ambiguous[0] && port == p.ambiguous[1]
}

// labelsMatch compares label by label: a "*" stays within its label.
func labelsMatch(pattern, host string) bool {
	pl, hl := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(pl) != len(hl) {
		return false
	}
	for i := range pl {
		if !matchStars(pl[i], hl[i]) {
			return false
		}
	}
	return true
}

// canonicalHost brings a host into one spelling: lower case, no trailing dot, internationalised names
// in their A-label form, addresses as the standard library prints them, v4-mapped ones as IPv4, and
// the odd spellings of IPv4 (decimal, octal, hexadecimal, fewer parts) resolved as resolvers do.
func canonicalHost(h string) string {
	h = strings.ToLower(strings.TrimSuffix(strings.Trim(h, "[]"), "."))
	if addr, err := netip.ParseAddr(h); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	if addr, ok := oddIPv4(h); ok {
		return addr
	}
	return toASCII(h)
}

// oddIPv4 reads what inet_aton takes: one to four numbers in base 8, 10 or 16.
func oddIPv4(h string) (string, bool) {
	parts := strings.Split(h, ".")
	if len(parts) > 4 || h == "" || h[0] < '0' || h[0] > '9' {
		return "", false
	}
	var v uint64
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		if len(p) > 1 && p[0] == '0' && p[1] != 'x' {
			n, err = strconv.ParseUint(p, 8, 32)
		}
		if err != nil {
			return "", false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return "", false
			}
			v |= n << (8 * (3 - i))
			continue
		}
		if bits := 8 * (5 - len(parts)); bits < 32 && n >= 1<<bits {
			return "", false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}).String(), true
}

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

// HostProblems tells what is wrong with entries of host lists; bad entries match nothing in allow
// lists and, as far as they can be read, still deny in deny lists.
func HostProblems(entries []string) []error {
	var out []error
	for _, entry := range entries {
		if _, err := parseHostPattern(entry, false); err != nil {
			out = append(out, err)
		}
	}
	return out
}

// DecideHost decides about a connection to host and port. A host that is no clean name or address is
// denied. It is pure.
func DecideHost(host, port string, p HostPolicy) HostDecision {
	if why := badHost(host); why != "" {
		return HostDecision{Behavior: Deny, Reason: why, Host: host}
	}
	canon := canonicalHost(host)
	d := func(b Behavior, pattern, reason string) HostDecision {
		return HostDecision{Behavior: b, Reason: reason, Pattern: pattern, Host: canon, Named: pattern != "" && namesAddress(pattern)}
	}
	for _, entry := range append(append([]string{}, p.ManagedDenied...), p.Denied...) {
		pat, err := parseHostPattern(entry, false)
		if err == nil && pat.matchesAnyReading(canon, port) || err != nil && deniesAnyway(entry, canon) {
			return d(Deny, entry, "denied by the entry "+entry)
		}
	}
	if r := p.Rules.hostRule(DenyList, canon); r != nil {
		return d(Deny, r.rule.Text, "denied by the rule "+r.rule.Text+" ("+r.rule.Where()+")")
	}
	allowed := p.ManagedAllowed
	if !p.ManagedOnly {
		allowed = append(append([]string{}, p.ManagedAllowed...), p.Allowed...)
	}
	for _, entry := range allowed {
		pat, err := parseHostPattern(entry, false)
		if err == nil && len(pat.ambiguous) == 0 && pat.matches(canon, port) {
			return d(Allow, entry, "allowed by the entry "+entry)
		}
	}
	if p.ManagedOnly {
		return d(Deny, "", "only hosts of managed settings are allowed")
	}
	if r := p.Rules.hostRule(AskList, canon); r == nil {
		if r := p.Rules.hostRule(AllowList, canon); r != nil {
			return d(Allow, r.rule.Text, "allowed by the rule "+r.rule.Text+" ("+r.rule.Where()+")")
		}
	}
	for _, key := range []string{net.JoinHostPort(canon, port), canon} {
		if ok, known := p.Granted[key]; known {
			if ok {
				return d(Allow, canon, "allowed for this session")
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

// badHost tells why a host cannot be what it seems.
func badHost(h string) string {
	if h == "" || len(h) > 253 {
		return "the host is empty or longer than 253 characters"
	}
	if strings.HasPrefix(h, ".") || strings.Contains(h, "..") {
		return "the host has an empty label"
	}
	for _, r := range h {
		if r <= ' ' || r == 0x7f || strings.ContainsRune("@/\\?#%\"'`<>|^{}", r) {
			return fmt.Sprintf("the host holds the character %q", r)
		}
	}
	return ""
}

// namesAddress tells whether an entry means an address or this machine itself.
func namesAddress(entry string) bool {
	host, _ := splitPort(entry)
	if strings.HasPrefix(entry, "[") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}

// deniesAnyway reads a bad entry of a deny list as widely as it can be meant.
func deniesAnyway(entry, host string) bool {
	entry = strings.ToLower(strings.TrimSpace(entry))
	if _, rest, ok := strings.Cut(entry, "://"); ok {
		entry = rest
	}
	if i := strings.LastIndexByte(entry, '@'); i >= 0 {
		entry = entry[i+1:]
	}
	if i := strings.IndexAny(entry, "/?#"); i >= 0 {
		entry = entry[:i]
	}
	name, _ := splitPort(entry)
	if name == "" {
		return false
	}
	return matchStars(canonicalHost(name), host)
}

// hostRule finds a WebFetch rule for a canonical host.
func (r *Rules) hostRule(list List, host string) *compiled {
	if r == nil || r.byTool == nil {
		return nil
	}
	t := r.byTool["WebFetch"]
	if t == nil {
		return nil
	}
	for _, x := range t.specs {
		if x.rule.List != list {
			continue
		}
		if pat, err := parseHostPattern(x.value, true); err == nil && pat.matches(host, "") {
			return x
		}
	}
	if list == DenyList {
		for _, x := range t.bare {
			if x.rule.List == list && x.value != "" {
				return x
			}
		}
	}
	return nil
}
