package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Host is where a connection goes, in one spelling: a name in lower case and A-labels without a dot
// at the end, or an address.
type Host struct {
	Name string     // as it is dialled and matched; an address is written in its usual form
	Addr netip.Addr // the address, when one was named; else the zero Addr
	Port int
}

func (h Host) String() string {
	if h.Addr.Is6() {
		return fmt.Sprintf("[%s]:%d", h.Name, h.Port)
	}
	return fmt.Sprintf("%s:%d", h.Name, h.Port)
}

var errHost = errors.New("not a host name")

// ParseHost reads a host and a port number. It takes names as they may stand in a URL or in a SOCKS
// request and every spelling of an address that a resolver would (decimal, octal, hexadecimal, short
// and v4-mapped forms), and refuses whatever two readers could read differently.
func ParseHost(host string, port int) (Host, error) {
	if port < 1 || port > 65535 {
		return Host{}, fmt.Errorf("port %d: %w", port, errHost)
	}
	name := strings.TrimSuffix(host, ".")
	if len(name) == 0 || len(name) > 253 || !utf8.ValidString(name) {
		return Host{}, fmt.Errorf("%q: %w", clip(host), errHost)
	}
	inner, bracketed := strings.CutPrefix(name, "[")
	if bracketed {
		inner, bracketed = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !bracketed || err != nil || addr.Zone() != "" || !addr.Is6() {
			return Host{}, fmt.Errorf("%q: %w", clip(host), errHost)
		}
		return addrHost(addr, port), nil
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.Zone() == "" {
		return addrHost(addr, port), nil
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`@/\?#:[]%"'<>^`+"`{|}", r) {
			return Host{}, fmt.Errorf("%q: %w", clip(host), errHost)
		}
	}
	ascii, err := profile().ToASCII(name)
	if err != nil || ascii == "" || len(ascii) > 253 {
		return Host{}, fmt.Errorf("%q: %w", clip(host), errHost)
	}
	if again, err := profile().ToASCII(ascii); err != nil || again != ascii { // not the same to the next reader
		return Host{}, fmt.Errorf("%q: %w", clip(host), errHost)
	}
	if addr, ok := oldAddress(ascii); ok {
		return addrHost(addr, port), nil
	}
	if !plainName(ascii) {
		return Host{}, fmt.Errorf("%q: %w", clip(host), errHost)
	}
	return Host{Name: ascii, Port: port}, nil
}

func clip(s string) string { return s[:min(len(s), 80)] }

var profile = sync.OnceValue(func() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())
})

func addrHost(a netip.Addr, port int) Host {
	a = a.Unmap()
	return Host{Name: a.String(), Addr: a, Port: port}
}

// plainName reports whether s is made of labels of letters, digits, hyphens and underscores. One
// whose last label is a number would be read as an address by some.
func plainName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for _, c := range []byte(l) {
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	_, err := strconv.ParseUint(last, 10, 64)
	return err != nil && !strings.HasPrefix(last, "0x")
}

// oldAddress reads the forms of inet_aton(3): one to four numbers, decimal, octal or hexadecimal.
func oldAddress(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		base := 10
		switch {
		case strings.HasPrefix(p, "0x"):
			base, p = 16, p[2:]
			if p == "" {
				p = "0"
			}
		case len(p) > 1 && p[0] == '0':
			base = 8
		}
		n, err := strconv.ParseUint(p, base, 64)
		if err != nil {
			return netip.Addr{}, false
		}
		room := uint64(255)
		if i == len(parts)-1 {
			room = 1<<(8*(5-uint(len(parts)))) - 1
		}
		if n > room {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			sum |= n
		} else {
			sum |= n << (8 * (3 - uint(i)))
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// splitPort takes ":port" off; 0: none.
func splitPort(s string) (string, int, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return s, 0, nil
	}
	port, err := strconv.Atoi(s[i+1:])
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%q is no port", s[i+1:])
	}
	return s[:i], port, nil
}

// private reports whether an address belongs to this machine, this network or no public place. A
// name that resolves to one is refused: it was made to point inside.
func private(a netip.Addr) bool {
	a = a.Unmap()
	if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.IsInterfaceLocalMulticast() {
		return true
	}
	for _, p := range special() {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// special are blocks of the registries of special addresses (RFC 6890 and later) that [netip] has no
// name for, and those that embed other addresses.
var special = sync.OnceValue(func() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
		"2002::/16", "5f00::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
})
