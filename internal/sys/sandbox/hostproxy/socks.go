package hostproxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
)

// What a SOCKS5 server answers (RFC 1928 §6).
const (
	socksGranted     = 0
	socksFailed      = 1
	socksNotAllowed  = 2
	socksUnreachable = 4
	socksNoCommand   = 7
	socksNoAddress   = 8
)

// HandleSOCKS answers one SOCKS5 request: CONNECT, without a password.
func (n *Proxy) HandleSOCKS(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(headTime))
	br := bufio.NewReaderSize(c, 1024)
	host, port, code := readSOCKS(br, c)
	if code != socksGranted {
		if code != socksFailed {
			socksReply(c, code)
		}
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	out, err := n.dial(n.ctx, host, port)
	if err != nil {
		var r refusal
		if errors.As(err, &r) {
			socksReply(c, socksNotAllowed)
		} else {
			socksReply(c, socksUnreachable)
		}
		return
	}
	if !n.enter(out) {
		_ = out.Close()
		return
	}
	defer n.leave(out)
	if socksReply(c, socksGranted) != nil {
		return
	}
	splice(&buffered{c, br}, out)
}

func socksReply(c net.Conn, code byte) error {
	_, err := c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}

// readSOCKS reads greeting and request. A code of socksFailed means that nobody is there who could
// read an answer.
func readSOCKS(br *bufio.Reader, w io.Writer) (host string, port int, code byte) {
	var head [2]byte
	if _, err := io.ReadFull(br, head[:]); err != nil || head[0] != 5 {
		return "", 0, socksFailed
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(br, methods); err != nil {
		return "", 0, socksFailed
	}
	method := byte(0xff)
	for _, m := range methods {
		if m == 0 {
			method = 0
		}
	}
	if _, err := w.Write([]byte{5, method}); err != nil || method != 0 {
		return "", 0, socksFailed
	}
	var req [4]byte
	if _, err := io.ReadFull(br, req[:]); err != nil || req[0] != 5 {
		return "", 0, socksFailed
	}
	if req[1] != 1 {
		return "", 0, socksNoCommand
	}
	host, ok := readAddress(br, req[3])
	if !ok {
		return "", 0, socksNoAddress
	}
	var p [2]byte
	if _, err := io.ReadFull(br, p[:]); err != nil {
		return "", 0, socksFailed
	}
	return host, int(binary.BigEndian.Uint16(p[:])), socksGranted
}

// readAddress reads the address of a request. The name is taken byte for byte: what is no host name
// is refused where hosts are checked.
func readAddress(br *bufio.Reader, kind byte) (string, bool) {
	size := 0
	switch kind {
	case 1:
		size = 4
	case 4:
		size = 16
	case 3:
		n, err := br.ReadByte()
		if err != nil || n == 0 {
			return "", false
		}
		size = int(n)
	default:
		return "", false
	}
	buf := make([]byte, size)
	if _, err := io.ReadFull(br, buf); err != nil {
		return "", false
	}
	if kind == 3 {
		return string(buf), true
	}
	a, ok := netip.AddrFromSlice(buf)
	if ok && a.Is6() {
		return "[" + a.String() + "]", true
	}
	return a.String(), ok
}
