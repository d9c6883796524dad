package netname

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// URLPattern is one entry of a list of addresses that may be used: "https://*.example.com/hooks/*",
// "http://localhost:*". A "*" in the host stays within the host, whatever follows it: a path that
// looks like a host does not count as one.
type URLPattern struct {
	scheme string // may hold "*"
	host   Pattern
	port   string // "*": every port; "": that of the scheme
	rest   string // path and query; may hold "*"
}

// ParseURLPattern reads a pattern. Without a scheme every scheme is meant. Without a path the address
// has none, but after a "*" at the end it has any.
func ParseURLPattern(text string) (URLPattern, error) {
	p := URLPattern{scheme: "*"}
	rest := strings.TrimSpace(text)
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		p.scheme, rest = strings.ToLower(scheme), after
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, p.rest = rest[:i], rest[i:]
	} else if strings.HasSuffix(rest, "*") {
		p.rest = "*"
	}
	name := authority
	if cut, ok := strings.CutSuffix(authority, ":*"); ok {
		name, p.port = cut, "*"
	} else if host, port, err := Split(authority); err == nil && port != 0 {
		name, p.port = host, strconv.Itoa(port)
	}
	if name == "*" && p.port == "" {
		p.port = "*"
	}
	var err error
	if p.host, err = ParsePattern(name, true); err != nil {
		return URLPattern{}, fmt.Errorf("bad URL pattern %q: %w", text, err)
	}
	return p, nil
}

// Allows reports whether an address is one of those meant. One with a user name, a host that has no
// canonical form, or "." and ".." in its path never is: who serves it may read it as another.
func (p URLPattern) Allows(u *url.URL) bool {
	host, err := Parse(u.Hostname())
	if err != nil || u.User != nil || u.Opaque != "" || dots(u.Path) || !stars(p.scheme, strings.ToLower(u.Scheme)) || !p.host.Allows(host, 0) {
		return false
	}
	usual := map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	port, want := u.Port(), p.port
	if port == "" {
		port = usual
	}
	if want == "" {
		want = usual
	}
	if want != "*" && port != want {
		return false
	}
	rest := u.EscapedPath()
	if u.RawQuery != "" || u.ForceQuery {
		rest += "?" + u.RawQuery
	}
	return stars(p.rest, rest) || p.rest == "" && rest == "/" || p.rest == "/" && rest == ""
}

func dots(path string) bool {
	for s := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if s == "." || s == ".." {
			return true
		}
	}
	return false
}

// Same reports whether two addresses lead to the same server: scheme, host and port in every spelling.
func Same(a, b *url.URL) bool {
	p, errA := Parse(a.Hostname())
	q, errB := Parse(b.Hostname())
	port := func(u *url.URL) string {
		if u.Port() != "" {
			return u.Port()
		}
		return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return errA == nil && errB == nil && p == q && strings.EqualFold(a.Scheme, b.Scheme) && port(a) == port(b)
}
