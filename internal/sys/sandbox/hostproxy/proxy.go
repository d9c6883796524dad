// Package hostproxy is the way out of a confined program: an HTTP and a SOCKS5 proxy on listeners that only
// it can reach, which asks before each connection and dials the very host that was asked about. Whether
// a host may be reached is decided elsewhere and handed in as a [Network]. Begin with [New].
package hostproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/proxy"
	"golang.org/x/sync/singleflight"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// Network says what a program may talk to. The zero Network lets nothing out.
type Network struct {
	// Decide is asked before each connection; nil refuses all. Calls for the same host and port are
	// merged. It may wait for a person; ctx ends with the program.
	Decide func(ctx context.Context, to netname.Endpoint) Decision
	// Upstream is a proxy ("http://host:port", "socks5://host:port") through which allowed connections go; empty: directly.
	Upstream string
	// Direct says which hosts are reached without Upstream; nil: none is.
	Direct func(netname.Endpoint) bool
	// Inside says whether the private address that an allowed name leads to is allowed by itself; nil: none is.
	Inside func(netname.Endpoint) bool
	// Resolve looks a name up; nil: the system's way. For tests.
	Resolve Resolver
}

// Decision is the answer to one connection. The zero Decision refuses.
type Decision struct {
	Allow bool
	Local bool   // what allowed it names this very address, or localhost: it may be a private one
	Why   string // for the program and the report
}

// Resolver looks a name up.
type Resolver func(ctx context.Context, name string) ([]netip.Addr, error)

// The bounds of the proxies.
const (
	maxHead    = 64 << 10         // bytes of a request's head
	headTime   = 30 * time.Second // for a request's head to come
	dialTime   = 30 * time.Second
	lookTime   = 3 * time.Second // to look a name up that the user's own proxy resolves
	maxDenials = 100             // refusals kept for the report
	maxConns   = 1024            // connections of one program at once
)

// Proxy is the way out of one confined program: an HTTP and a SOCKS5 proxy on listeners that only
// it can reach. It is safe for concurrent use.
type Proxy struct {
	cfg  Network
	ctx  context.Context
	stop context.CancelFunc
	once singleflight.Group

	mu        sync.Mutex // guards all below
	listeners []net.Listener
	conns     map[net.Conn]bool
	denied    []Refusal
	closed    bool
}

func New(cfg Network) *Proxy {
	if cfg.Resolve == nil {
		cfg.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Proxy{cfg: cfg, ctx: ctx, stop: stop, conns: map[net.Conn]bool{}}
}

// Serve takes connections from l until close. Its goroutine ends with the listener.
func (n *Proxy) Serve(l net.Listener, handle func(net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		_ = l.Close()
		return
	}
	n.listeners = append(n.listeners, l)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !n.enter(c) {
				_ = c.Close()
				continue
			}
			go func() {
				defer n.leave(c)
				handle(c)
			}()
		}
	}()
}

func (n *Proxy) enter(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.conns) >= maxConns {
		return false
	}
	n.conns[c] = true
	return true
}

func (n *Proxy) leave(c net.Conn) {
	_ = c.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// Close ends every connection and returns what was refused.
func (n *Proxy) Close() []Refusal {
	n.stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, l := range n.listeners {
		_ = l.Close()
	}
	for c := range n.conns {
		_ = c.Close()
	}
	return n.denied
}

func (n *Proxy) deny(host, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range n.denied {
		if v.Host == host && v.Why == why {
			return
		}
	}
	if len(n.denied) < maxDenials {
		n.denied = append(n.denied, Refusal{Host: host, Why: why})
	}
}

// Refusal is a connection that was not let out.
type Refusal struct {
	Host string // with its port
	Why  string
}

// refusal is a connection that is not allowed; Error is for the program.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

// dial checks where a connection goes and makes it. The name that was checked is the name that is
// resolved, and the addresses that were checked are those that are dialled.
func (n *Proxy) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	to, err := netname.ParsePort(host, port)
	if err != nil {
		n.deny(fmt.Sprintf("%q", brief(host)), "not a host name")
		return nil, refusal{"not a host name"}
	}
	d := n.decide(ctx, to)
	if !d.Allow {
		why := d.Why
		if why == "" {
			why = "the host is not allowed"
		}
		n.deny(to.String(), why)
		return nil, refusal{why}
	}
	addrs, err := n.addresses(ctx, to, d.Local)
	if n.over(to) && !d.Local {
		// Names often cannot be resolved behind a proxy; what they lead to is then the proxy's to judge.
		var r refusal
		if errors.As(err, &r) || err != nil && to.Inside() != netname.Public {
			return nil, n.refuseInside(to)
		}
		return n.dialUpstream(ctx, to)
	}
	if err != nil {
		return nil, err
	}
	var last error
	for _, a := range addrs {
		dialer := net.Dialer{Timeout: dialTime}
		c, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(a, uint16(to.Port)).String())
		if err == nil {
			return c, nil
		}
		last = err
	}
	return nil, last
}

// decide asks once for connections to the same place that come together.
func (n *Proxy) decide(ctx context.Context, to netname.Endpoint) Decision {
	if n.cfg.Decide == nil {
		return Decision{Why: "no host is allowed"}
	}
	got := n.once.DoChan(to.String(), func() (any, error) { return n.cfg.Decide(n.ctx, to), nil })
	select {
	case r := <-got:
		d, _ := r.Val.(Decision)
		return d
	case <-ctx.Done():
		return Decision{Why: "nobody has answered"}
	}
}

// addresses resolves a host and drops private addresses, unless the entry named one, or another names it.
func (n *Proxy) addresses(ctx context.Context, to netname.Endpoint, local bool) ([]netip.Addr, error) {
	found := []netip.Addr{to.Addr}
	if !to.Addr.IsValid() {
		var err error
		if n.over(to) && !local { // the answer is not needed, and often none comes
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, lookTime)
			defer stop()
		}
		if found, err = n.cfg.Resolve(ctx, to.Name); err != nil {
			return nil, err
		}
	}
	if local {
		return found, nil
	}
	var out []netip.Addr
	for _, a := range found {
		if netname.Inside(a) == netname.Public || n.inside(a, to.Port) {
			out = append(out, a.Unmap())
		}
	}
	if len(out) == 0 {
		return nil, n.refuseInside(to)
	}
	return out, nil
}

// inside says whether a private address is allowed by itself.
func (n *Proxy) inside(a netip.Addr, port int) bool {
	to, err := netname.ParsePort(a.Unmap().String(), port)
	return err == nil && n.cfg.Inside != nil && n.cfg.Inside(to)
}

func (n *Proxy) refuseInside(to netname.Endpoint) error {
	why := "the name leads to an address of this machine or network, which was not allowed by itself"
	n.deny(to.String(), why)
	return refusal{why}
}

// brief cuts a text for a report.
func brief(s string) string { return s[:min(len(s), 80)] }

// dialSOCKS goes through the user's own SOCKS proxy, which looks the name up.
func dialSOCKS(ctx context.Context, up *url.URL, to netname.Endpoint) (net.Conn, error) {
	dialer, err := proxy.FromURL(up, &net.Dialer{Timeout: dialTime})
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", up.Redacted(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", to.String())
}

// over reports whether a host is reached through the user's own proxy.
func (n *Proxy) over(to netname.Endpoint) bool {
	return n.cfg.Upstream != "" && (n.cfg.Direct == nil || !n.cfg.Direct(to))
}

// dialUpstream goes through the user's own proxy.
func (n *Proxy) dialUpstream(ctx context.Context, to netname.Endpoint) (net.Conn, error) {
	up, err := url.Parse(n.cfg.Upstream)
	if err != nil || up.Host == "" || (up.Scheme != "http" && up.Scheme != "https" && up.Scheme != "socks5") {
		return nil, fmt.Errorf("proxy %q: expected http://, https:// or socks5://host:port", n.cfg.Upstream)
	}
	if up.Scheme == "socks5" {
		return dialSOCKS(ctx, up, to)
	}
	addr := up.Host
	if up.Port() == "" {
		addr = net.JoinHostPort(up.Hostname(), map[string]string{"http": "80", "https": "443"}[up.Scheme])
	}
	dialer := net.Dialer{Timeout: dialTime}
	c, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if up.Scheme == "https" {
		c = tls.Client(c, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: up.Hostname()})
	}
	head := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", to, to)
	if up.User != nil {
		pass, _ := up.User.Password()
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+pass)) + "\r\n"
	}
	_ = c.SetDeadline(time.Now().Add(dialTime))
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		_ = c.Close()
		return nil, err
	}
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("proxy %s answers %s", up.Host, res.Status)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	_ = c.SetDeadline(time.Time{})
	return &buffered{c, r}, nil
}

// buffered is a connection of which some bytes were read ahead.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

// Read implements [net.Conn].
func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite tells the other side that nothing more comes.
func (b *buffered) CloseWrite() error {
	if t, ok := b.Conn.(*net.TCPConn); ok {
		return t.CloseWrite()
	}
	return nil
}
