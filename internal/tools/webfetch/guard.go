package webfetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// guard makes connections and refuses those to addresses that are not public. What was judged is what
// is connected to: without a proxy the judgement is made on the address of the connection itself, after
// the name was resolved; a proxy is handed the address that was judged, so that it cannot resolve the
// name a second time to another one.
type guard struct{ world World }

// refused is an address that is not reached.
type refused struct {
	host string
	why  string
}

func (r *refused) Error() string {
	return fmt.Sprintf("%s is %s; only public addresses are fetched", r.host, r.why)
}

// judge refuses an address that lies nearer than what the host may open. host is the name it was found by.
func judge(host netname.Host, at netip.Addr, opens netname.Reach) error {
	r := netname.Inside(at)
	if r <= opens {
		return nil
	}
	why := r.String()
	if name := netname.Of(at).Name; name != host.Name {
		why += " (" + name + ")"
	}
	return &refused{host.Name, why}
}

// check refuses what can be told before anything is asked of the network.
func (g *guard) check(u *url.URL) (netname.Host, error) {
	host, err := netname.Parse(u.Hostname())
	if err != nil {
		return host, err
	}
	if r := host.Inside(); r > g.world.Opens(host) && (host.Addr.IsValid() || host.IsLocalhost()) {
		return host, &refused{host.Name, r.String()}
	}
	return host, nil
}

func (g *guard) resolver() *net.Resolver {
	if g.world.Resolver != nil {
		return g.world.Resolver
	}
	return net.DefaultResolver
}

// do sends a request, over the proxy where one is set for its address. An answer's body must be closed.
func (g *guard) do(req *http.Request) (*http.Response, error) {
	host, err := g.check(req.URL)
	if err != nil {
		return nil, err
	}
	var proxy *url.URL
	if g.world.Proxy != nil {
		if proxy, err = g.world.Proxy(req); err != nil {
			return nil, err
		}
	}
	if proxy == nil {
		return g.client(g.transport(func(ctx context.Context, network, address string) (net.Conn, error) {
			d := g.dialer()
			d.Control = func(_, address string, _ syscall.RawConn) error {
				at, err := netip.ParseAddrPort(address)
				if err != nil {
					return &refused{host.Name, "at an address that cannot be read (" + address + ")"}
				}
				return judge(host, at.Addr(), g.world.Opens(host))
			}
			return d.DialContext(ctx, network, address)
		})).Do(req)
	}
	return g.overProxy(req, host, proxy)
}

// overProxy sends a request over a proxy, which is reached wherever it is.
func (g *guard) overProxy(req *http.Request, host netname.Host, proxy *url.URL) (*http.Response, error) {
	addrs, err := g.judged(req.Context(), host)
	if err != nil {
		return nil, err
	}
	t := g.transport(g.dialer().DialContext)
	t.Proxy = http.ProxyURL(proxy)
	if len(addrs) == 0 || req.URL.Scheme == "http" { // http is for hosts that rules open by name
		return g.client(t).Do(req)
	}
	byName := req.Clone(req.Context())
	pinned := t.Clone()
	pinned.TLSClientConfig.ServerName = host.Name
	pinned.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
		if res.StatusCode == http.StatusOK {
			return nil
		}
		return &proxyRefused{res.Status}
	}
	req.Host = req.URL.Host
	req.URL = withHost(req.URL, netname.Of(addrs[0]))
	res, err := g.client(pinned).Do(req)
	var no *proxyRefused
	if !errors.As(err, &no) || netname.Inside(proxyAddr(proxy)) == netname.Machine {
		return res, err
	}
	// Proxies that go by names refuse addresses. The name must still lead to public addresses alone; one
	// that leads elsewhere a moment later leads into the proxy's network, which the proxy guards.
	if _, err := g.judged(req.Context(), host); err != nil {
		return nil, err
	}
	return g.client(t).Do(byName)
}

// proxyRefused is a proxy's answer to a request for a connection.
type proxyRefused struct{ status string }

func (p *proxyRefused) Error() string { return "the proxy answered " + p.status }

// proxyAddr is the address in a proxy's URL; that of this machine where its name means it.
func proxyAddr(proxy *url.URL) netip.Addr {
	h, err := netname.Parse(proxy.Hostname())
	switch {
	case err != nil:
		return netip.Addr{}
	case h.IsLocalhost():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return h.Addr
}

// judged looks a name up for a proxy and refuses it when one of its addresses is not public. Behind a
// proxy names often cannot be resolved: then there is no address, and the proxy is handed the name, if
// that is no name of this machine or network.
func (g *guard) judged(ctx context.Context, host netname.Host) ([]netip.Addr, error) {
	opens := g.world.Opens(host)
	if host.Addr.IsValid() {
		return nil, judge(host, host.Addr, opens)
	}
	addrs, err := g.resolver().LookupNetIP(ctx, "ip", host.Name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || len(addrs) == 0 {
		if r := host.Inside(); r > opens {
			return nil, &refused{host.Name, "a name of " + map[bool]string{true: "this machine", false: "a private network"}[r == netname.Machine]}
		}
		return nil, nil
	}
	for _, a := range addrs {
		if err := judge(host, a, opens); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// withHost is u with another host and the same port.
func withHost(u *url.URL, h netname.Host) *url.URL {
	c := *u
	c.Host = hostPort(h, u.Port())
	return &c
}

// hostPort is the host part of a URL.
func hostPort(h netname.Host, port string) string {
	if port == "" {
		return h.URLHost()
	}
	return net.JoinHostPort(h.Name, port)
}

// tls is the configuration of one transport, its own to change.
func (g *guard) tls() *tls.Config {
	if g.world.TLS == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return g.world.TLS.Clone()
}

func (g *guard) dialer() *net.Dialer {
	return &net.Dialer{Timeout: 15 * time.Second, Resolver: g.resolver()}
}

func (g *guard) transport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: dial, TLSClientConfig: g.tls(), TLSHandshakeTimeout: 15 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, // nothing of a call lives on after it
	}
}

func (g *guard) client(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
