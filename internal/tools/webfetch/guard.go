package webfetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guard makes connections and refuses those to addresses that are not public. The check is made on
// the address a connection really goes to, after names were resolved, so that a name cannot show
// one address to the check and another to the connection.
type guard struct {
	world  World
	client *http.Client

	mu      sync.Mutex // guards proxies
	proxies map[string]bool
}

func newGuard(w World) *guard {
	g := &guard{world: w, proxies: map[string]bool{}}
	transport := &http.Transport{
		DialContext: g.dial, TLSClientConfig: w.TLS, TLSHandshakeTimeout: 15 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, // nothing of a call lives on after it
	}
	if w.Proxy != nil {
		transport.Proxy = g.proxy
	}
	g.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return g
}

// refused is an address that is not reached.
type refused struct{ host, why string }

func (r *refused) Error() string {
	return fmt.Sprintf("%s is %s; only public addresses are fetched", r.host, r.why)
}

// check refuses what can be told before a connection is made. With a proxy it is the only check of
// the host's address that can be made here, so the name is resolved for it.
func (g *guard) check(ctx context.Context, u *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if g.world.AllowPrivate(host) {
		return nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return &refused{host, "this machine"}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if why := private(ip); why != "" {
			return &refused{host, why}
		}
		return nil
	}
	if g.world.Proxy == nil {
		return nil
	}
	ips, err := g.resolver().LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil // behind a proxy names often cannot be resolved; the proxy decides
	}
	for _, ip := range ips {
		if why := private(ip); why != "" {
			return &refused{host, why}
		}
	}
	return nil
}

func (g *guard) resolver() *net.Resolver {
	if g.world.Resolver != nil {
		return g.world.Resolver
	}
	return net.DefaultResolver
}

// proxy remembers which addresses are proxies: these are reached wherever they are.
func (g *guard) proxy(r *http.Request) (*url.URL, error) {
	u, err := g.world.Proxy(r)
	if err != nil || u == nil {
		return u, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	g.mu.Lock()
	g.proxies[net.JoinHostPort(u.Hostname(), port)] = true
	g.mu.Unlock()
	return u, nil
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	toProxy := g.proxies[address]
	g.mu.Unlock()
	d := net.Dialer{Timeout: 15 * time.Second, Resolver: g.resolver()}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !toProxy && !g.world.AllowPrivate(host) {
		d.Control = func(_, address string, _ syscall.RawConn) error { return public(host, address) }
	}
	return d.DialContext(ctx, network, address)
}

// public refuses a connection to an address that is not public; host is the name it was found by.
func public(host, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refused{host, "at an address that cannot be read (" + address + ")"}
	}
	if why := private(at.Addr()); why != "" {
		if host != at.Addr().String() {
			why += " (" + at.Addr().String() + ")"
		}
		return &refused{host, why}
	}
	return nil
}

// private says in words what kind of address it is that is not public; empty: it is public. See
// the IANA registries of special-purpose addresses.
func private(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return "this machine"
	case ip.IsUnspecified():
		return "no address of a host"
	case ip.IsLinkLocalUnicast(), ip.IsLinkLocalMulticast(), ip.IsInterfaceLocalMulticast():
		return "a link-local address, where clouds keep their metadata"
	case ip.IsPrivate():
		return "an address of a private network"
	case ip.IsMulticast():
		return "a multicast address"
	}
	for _, r := range reserved() {
		if r.Contains(ip) {
			return "a reserved address"
		}
	}
	if inner, ok := embedded(ip); ok {
		return private(inner)
	}
	return ""
}

var reserved = sync.OnceValue(func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
})

// embedded is the IPv4 address inside one of NAT64 or 6to4.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	b := ip.As16()
	switch {
	case !ip.Is6():
		return netip.Addr{}, false
	case [12]byte(b[:12]) == [12]byte{0x00, 0x64, 0xff, 0x9b}: // 64:ff9b::/96
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}
