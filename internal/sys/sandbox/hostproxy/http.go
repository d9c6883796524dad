package hostproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// HandleHTTP answers one request: CONNECT, or the absolute form for http.
func (n *Proxy) HandleHTTP(c net.Conn) {
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

func (n *Proxy) tunnel(c net.Conn, br *bufio.Reader, target string) {
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
	wg.Go(func() { _, _ = io.Copy(a, b); CloseWrite(a) })
	wg.Go(func() { _, _ = io.Copy(b, a); CloseWrite(b) })
	wg.Wait()
}

// CloseWrite tells the other side that nothing more comes, or ends the connection where that cannot be said.
func CloseWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok && w.CloseWrite() == nil {
		return
	}
	_ = c.Close()
}

// hop are headers for the proxy and not for the server (RFC 9110 §7.6.1).
var hop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward sends one http request on and the answer back. One request a connection, so that no second
// one can ride on it.
func (n *Proxy) forward(c net.Conn, br *bufio.Reader, head []byte) {
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
