package sandbox

import (
	"bufio"
	"bytes"
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
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"golang.org/x/net/proxy"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

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

// network is the way out of one confined program: an HTTP and a SOCKS5 proxy on listeners that only
// it can reach. It is safe for concurrent use.
type network struct {
	cfg  Network
	ctx  context.Context
	stop context.CancelFunc
	once singleflight.Group

	mu        sync.Mutex // guards all below
	listeners []net.Listener
	conns     map[net.Conn]bool
	denied    []Violation
	closed    bool
}

func newNetwork(cfg Network) *network {
	if cfg.Resolve == nil {
		cfg.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	return &network{cfg: cfg, ctx: ctx, stop: stop, conns: map[net.Conn]bool{}}
}

// serve takes connections from l until close. Its goroutine ends with the listener.
func (n *network) serve(l net.Listener, handle func(net.Conn)) {
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

func (n *network) enter(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.conns) >= maxConns {
		return false
	}
	n.conns[c] = true
	return true
}

func (n *network) leave(c net.Conn) {
	_ = c.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// close ends every connection and returns what was refused.
func (n *network) close() []Violation {
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

func (n *network) deny(host, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range n.denied {
		if v.Host == host && v.Detail == why {
			return
		}
	}
	if len(n.denied) < maxDenials {
		n.denied = append(n.denied, Violation{Host: host, Operation: "connect", Detail: why, Certain: true})
	}
}

// refusal is a connection that is not allowed; Error is for the program.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

// dial checks where a connection goes and makes it. The name that was checked is the name that is
// resolved, and the addresses that were checked are those that are dialled.
func (n *network) dial(ctx context.Context, host string, port int) (net.Conn, error) {
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
func (n *network) decide(ctx context.Context, to netname.Endpoint) Decision {
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

// addresses resolves a host and drops private addresses, unless the entry named one.
func (n *network) addresses(ctx context.Context, to netname.Endpoint, local bool) ([]netip.Addr, error) {
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
		if netname.Inside(a) == netname.Public {
			out = append(out, a.Unmap())
		}
	}
	if len(out) == 0 {
		return nil, n.refuseInside(to)
	}
	return out, nil
}

func (n *network) refuseInside(to netname.Endpoint) error {
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
func (n *network) over(to netname.Endpoint) bool {
	return n.cfg.Upstream != "" && (n.cfg.Direct == nil || !n.cfg.Direct(to))
}

// dialUpstream goes through the user's own proxy.
func (n *network) dialUpstream(ctx context.Context, to netname.Endpoint) (net.Conn, error) {
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

// handleHTTP answers one request: CONNECT, or the absolute form for http.
func (n *network) handleHTTP(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(headTime))
	br := bufio.NewReaderSize(c, 4096)
	head, err := readHead(br)
	if err != nil {
		answer(c, http.StatusRequestHeaderFieldsTooLarge, err.Error())
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	method, target, err := checkHead(head)
	if err != nil {
		n.deny(fmt.Sprintf("%q", brief(target)), err.Error())
		answer(c, http.StatusForbidden, err.Error())
		return
	}
	if method == http.MethodConnect {
		n.tunnel(c, br, target)
		return
	}
	n.forward(c, br, head)
}

// readHead reads up to the empty line, in bounded memory.
func readHead(br *bufio.Reader) ([]byte, error) {
	var head []byte
	for {
		line, err := br.ReadSlice('\n')
		head = append(head, line...)
		switch {
		case len(head) > maxHead:
			return nil, errors.New("the head of the request is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, fmt.Errorf("read request: %w", err)
		}
		if bytes.HasSuffix(head, []byte("\r\n\r\n")) || bytes.HasSuffix(head, []byte("\n\n")) {
			return head, nil
		}
	}
}

// checkHead reads the first line and refuses a head that two readers could read differently: a bare
// CR, folded lines, blanks in names, a Host that is not the target.
func checkHead(head []byte) (method, target string, err error) {
	lines := strings.Split(strings.TrimRight(string(head), "\r\n"), "\n")
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if strings.ContainsAny(l, "\r\x00") {
			return "", "", errors.New("the request holds control characters")
		}
		lines[i] = l
	}
	f := strings.Split(lines[0], " ")
	if len(f) != 3 || !methodName(f[0]) || f[2] != "HTTP/1.1" && f[2] != "HTTP/1.0" {
		return "", lines[0], errors.New("not a request to a proxy")
	}
	method, target = f[0], f[1]
	want, err := targetHost(method, target)
	if err != nil {
		return method, target, err
	}
	for _, l := range lines[1:] {
		name, value, ok := strings.Cut(l, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return method, target, errors.New("a header line of the request cannot be read")
		}
		if !strings.EqualFold(name, "host") {
			continue
		}
		got, err := hostPort(strings.TrimSpace(value), want.Port)
		if err != nil || got != want {
			return method, target, errors.New("the Host header names another host than the request")
		}
	}
	return method, target, nil
}

func methodName(s string) bool {
	for _, c := range []byte(s) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return s != "" && len(s) < 32
}

// targetHost is where a request line leads.
func targetHost(method, target string) (netname.Endpoint, error) {
	if method == http.MethodConnect {
		i := strings.LastIndexByte(target, ':')
		if i < 0 {
			return netname.Endpoint{}, errors.New("CONNECT needs host:port")
		}
		return hostPort(target, 0)
	}
	rest, ok := strings.CutPrefix(strings.ToLower(target[:min(len(target), 7)]), "http://")
	if !ok || rest != "" {
		return netname.Endpoint{}, errors.New("only CONNECT and http:// requests are taken")
	}
	authority := target[7:]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	return hostPort(authority, 80)
}

// hostPort reads "host[:port]"; a port of 0 as default means that one is needed.
func hostPort(s string, def int) (netname.Endpoint, error) {
	name, port, err := netname.Split(s)
	if err != nil {
		return netname.Endpoint{}, err
	}
	if port == 0 {
		port = def
	}
	return netname.ParsePort(name, port)
}

func answer(c net.Conn, code int, text string) {
	body := "sandbox: " + text + "\n"
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nX-Proxy-Error: blocked-by-sandbox\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), len(body), body)
}

// answerError tells a program why a connection was not made.
func answerError(c net.Conn, err error) {
	var r refusal
	if errors.As(err, &r) {
		answer(c, http.StatusForbidden, r.why)
		return
	}
	answer(c, http.StatusBadGateway, err.Error())
}

func (n *network) tunnel(c net.Conn, br *bufio.Reader, target string) {
	to, err := hostPort(target, 0)
	if err != nil { // checked before
		answerError(c, refusal{err.Error()})
		return
	}
	out, err := n.dial(n.ctx, to.Name, to.Port)
	if err != nil {
		answerError(c, err)
		return
	}
	if !n.enter(out) {
		_ = out.Close()
		return
	}
	defer n.leave(out)
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	splice(&buffered{c, br}, out)
}

// splice copies both ways and returns when both sides are done.
func splice(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(a, b); closeWrite(a) })
	wg.Go(func() { _, _ = io.Copy(b, a); closeWrite(b) })
	wg.Wait()
}

func closeWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok && w.CloseWrite() == nil {
		return
	}
	_ = c.Close()
}

// hop are headers for the proxy and not for the server (RFC 9110 §7.6.1).
var hop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward sends one http request on and the answer back. One request a connection, so that no second
// one can ride on it.
func (n *network) forward(c net.Conn, br *bufio.Reader, head []byte) {
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(head), br)))
	if err != nil {
		answer(c, http.StatusBadRequest, err.Error())
		return
	}
	for _, f := range req.Header["Connection"] {
		for name := range strings.SplitSeq(f, ",") {
			req.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, h := range hop {
		req.Header.Del(h)
	}
	req.RequestURI = ""
	tr := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: 5 * time.Minute,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			name, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			p, err := strconv.Atoi(port)
			if err != nil {
				return nil, err
			}
			return n.dial(ctx, name, p)
		},
	}
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(req.WithContext(n.ctx))
	if err != nil {
		answerError(c, err)
		return
	}
	defer res.Body.Close()
	for _, h := range hop {
		res.Header.Del(h)
	}
	res.Close = true
	_ = res.Write(c) // the program may have gone
}
