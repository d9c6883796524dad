package netname

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pattern is one entry of a list of hosts: "example.com"; "*.example.com", its subdomains at any depth
// but not itself; "*", every host; each with an optional ":port"; addresses, those of IPv6 in brackets.
type Pattern struct {
	any    bool
	sub    string // subdomains of this
	labels string // holds "*", each within its label
	host   Host
	port   int // 0: every port
	// other is the second reading of an IPv6 address without brackets, which could end in a port.
	other *Endpoint
}

// errPattern is wrapped by the errors about patterns.
var errPattern = errors.New("bad host pattern")

// ParsePattern reads a pattern. inner tells whether "*" may stand inside a label ("api-*.example.com"),
// which lists of the sandbox do not take.
func ParsePattern(text string, inner bool) (Pattern, error) {
	text = strings.TrimSpace(text)
	refuse := func(why string) (Pattern, error) { return Pattern{}, fmt.Errorf("%w %q: %s", errPattern, text, why) }
	switch {
	case text == "":
		return refuse("it is empty")
	case strings.ContainsAny(text, "@/?#\\ \t\n\x00"):
		return refuse("a host has no scheme, user, path, query or blank")
	case strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "["):
		return bareV6(text)
	}
	host, port, err := Split(text)
	if err != nil {
		return refuse(err.Error())
	}
	p := Pattern{port: port, any: host == "*"}
	rest, wild := strings.CutPrefix(host, "*.")
	switch {
	case p.any:
	case wild && rest != "" && !strings.Contains(rest, "*"):
		h, err := Parse(rest)
		if err != nil || h.Addr.IsValid() {
			return refuse("a wildcard stands before a name: *.example.com")
		}
		p.sub = h.Name
	case strings.Contains(host, "*"):
		if !inner || wild || strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
			return refuse("a wildcard stands for subdomains alone: *.example.com")
		}
		// A wildcard stands for characters of a name, so a letter takes its place while the rest is read.
		h, err := Parse(strings.ReplaceAll(host, "*", wildcard))
		if err != nil || h.Addr.IsValid() {
			return refuse("around the wildcards it is no host name")
		}
		p.labels = strings.ReplaceAll(h.Name, wildcard, "*")
	default:
		if p.host, err = Parse(host); err != nil {
			return Pattern{}, fmt.Errorf("%w: %w", errPattern, err)
		}
	}
	return p, nil
}

// wildcard takes the place of "*" where a pattern is read as a host.
const wildcard = "x0wildcard0x"

// bareV6 reads an address without brackets. "1::2:443" is an address, or an address and a port.
func bareV6(text string) (Pattern, error) {
	var p Pattern
	whole, err := Parse(text)
	i := strings.LastIndexByte(text, ':')
	front, frontErr := Parse(text[:i])
	port := portOf(text[i+1:])
	switch {
	case frontErr == nil && front.Addr.IsValid() && port != 0 && err == nil:
		p.other = &Endpoint{front, port}
	case frontErr == nil && front.Addr.IsValid() && port != 0:
		return Pattern{host: front, port: port}, nil
	case err != nil:
		return p, fmt.Errorf("%w %q: it is neither a host nor an address", errPattern, text)
	}
	p.host = whole
	return p, nil
}

// WidestPattern reads an entry that ParsePattern refuses as widely as it can be meant, for lists that
// deny; false: nothing can be read from it.
func WidestPattern(entry string) (Pattern, bool) {
	entry = strings.ToLower(strings.TrimSpace(entry))
	if _, rest, ok := strings.Cut(entry, "://"); ok {
		entry = rest
	}
	if i := strings.LastIndexByte(entry, '@'); i >= 0 {
		entry = entry[i+1:]
	}
	if i := strings.IndexAny(entry, `/\?#`); i >= 0 {
		entry = entry[:i]
	}
	if p, err := ParsePattern(entry, true); err == nil {
		p.port = 0
		return p, true
	}
	name, _, _ := strings.Cut(entry, ":")
	if !strings.Contains(name, "*") {
		p, err := ParsePattern(name, true)
		return p, err == nil
	}
	// "*" anywhere, over any number of labels.
	for l := range strings.SplitSeq(strings.ReplaceAll(name, "*", "x"), ".") {
		if l != "" && plainName(l) != "" && !number(l) {
			return Pattern{}, false
		}
	}
	return Pattern{labels: "**" + name}, true
}

// Allows reports whether a pattern of an allow list covers a host. port 0: it is not known, and a
// pattern with a port does not cover it. Of two readings of a pattern neither allows.
func (p Pattern) Allows(h Host, port int) bool { return p.other == nil && p.covers(h, port) }

// Denies reports whether a pattern of a deny or ask list covers a host: by any reading of the
// pattern, and also where the host is an address that carries the one meant.
func (p Pattern) Denies(h Host, port int) bool {
	if p.covers(h, port) || p.other != nil && p.other.Host == h && (p.other.Port == port || port == 0) {
		return true
	}
	inner, ok := embedded(h.Addr)
	return ok && p.Denies(Of(inner), port)
}

func (p Pattern) covers(h Host, port int) bool {
	if p.port != 0 && port != p.port {
		return false
	}
	switch {
	case p.any:
		return true
	case p.sub != "":
		return strings.HasSuffix(h.Name, "."+p.sub)
	case strings.HasPrefix(p.labels, "**"):
		return stars(p.labels[2:], h.Name)
	case p.labels != "":
		return labelsMatch(p.labels, h.Name)
	}
	return h == p.host
}

// Any reports the pattern that covers every host.
func (p Pattern) Any() bool { return p.any }

// Exact reports whether the pattern names one host, and which.
func (p Pattern) Exact() (Host, bool) {
	return p.host, p.host != Host{} && p.other == nil
}

// NamesInside reports whether the pattern means an address or this machine by name, so that a
// connection inside is what was wanted. A name that merely leads inside was not.
func (p Pattern) NamesInside() bool {
	h, one := p.Exact()
	return one && (h.Addr.IsValid() || h.IsLocalhost())
}

// CoversAll reports whether every host that q covers is covered by p, as far as can be told.
func (p Pattern) CoversAll(q Pattern) bool {
	switch {
	case p.port != 0 && p.port != q.port:
		return false
	case p.any:
		return true
	case q.any || q.other != nil || p.other != nil:
		return false
	case q.sub != "":
		return p.sub != "" && (p.sub == q.sub || strings.HasSuffix(q.sub, "."+p.sub))
	case q.labels != "":
		return p.covers(Host{Name: strings.ReplaceAll(q.labels, "*", wildcard)}, q.port)
	}
	return p.covers(q.host, q.port)
}

// labelsMatch compares label by label: a "*" stays within its label.
func labelsMatch(pattern, host string) bool {
	return slices.EqualFunc(strings.Split(pattern, "."), strings.Split(host, "."), stars)
}

// stars compares a text with a pattern in which "*" stands for any run of characters.
func stars(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
