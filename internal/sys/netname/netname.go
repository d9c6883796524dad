// Package netname knows hosts by one name. Whatever spelling a host comes in, letters of any script,
// addresses in octal or in an address of another family, brackets, a dot at the end, it has one
// canonical form here; what two readers could read differently is refused. On that form one judgement
// tells what is not public, and one matcher compares hosts with the patterns of rules and lists. The
// rule is: what was judged is what is dialled. Who decides about connections asks here: fetches,
// hooks, the sandbox's proxy, permission rules. Begin at Parse, Inside and Pattern.
package netname

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Host is a host in its canonical form: a name in lower case and A-labels without a dot at the end,
// or an address. Two hosts are the same exactly if they are equal.
type Host struct {
	Name string     // as it is matched and dialled; an address is written in its usual form
	Addr netip.Addr // the address, when one was named; else the zero Addr
}

// Endpoint is a host and a port.
type Endpoint struct {
	Host
	Port int
}

// String is "host:port", with brackets around an IPv6 address.
func (e Endpoint) String() string { return net.JoinHostPort(e.Name, strconv.Itoa(e.Port)) }

// URLHost is the host as it stands in a URL without a port.
func (h Host) URLHost() string {
	if h.Addr.Is6() {
		return "[" + h.Name + "]"
	}
	return h.Name
}

// errHost is wrapped by the errors about hosts that have no canonical form.
var errHost = errors.New("not a host name")

func bad(host, why string) error {
	return fmt.Errorf("%q: %w: %s", host[:min(len(host), 80)], errHost, why)
}

// Parse reads a host as it may stand in a URL, a rule or a SOCKS request, in every spelling of an
// address that a resolver takes (decimal, octal, hexadecimal, short and v4-mapped forms), with or
// without brackets. It refuses ports, user names, escapes, zones and whatever two readers could
// read differently.
func Parse(host string) (Host, error) {
	name := strings.TrimSuffix(host, ".")
	if len(name) == 0 || len(name) > maxName || name[len(name)-1] == '.' || !utf8.ValidString(name) {
		return Host{}, bad(host, "it is empty or longer than 253 characters, is no UTF-8 or has an empty part")
	}
	if strings.HasPrefix(name, "[") {
		return bracketed(name)
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return ofAddr(host, addr)
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`@/\?#:[]%"'<>^`+"`{|}*", r) {
			return Host{}, bad(host, fmt.Sprintf("it holds the character %q", r))
		}
	}
	ascii, err := profile().ToASCII(name)
	if err != nil || ascii == "" || len(ascii) > maxName {
		return Host{}, bad(host, "its letters cannot be written in the form of domain names")
	}
	ascii = strings.TrimSuffix(ascii, ".") // of a dot in another script
	if again, err := profile().ToASCII(ascii); err != nil || again != ascii {
		return Host{}, bad(host, "it could be read as another name")
	}
	if addr, ok := inetAton(ascii); ok {
		return Of(addr), nil
	}
	if why := plainName(ascii); why != "" {
		return Host{}, bad(host, why)
	}
	return Host{Name: ascii}, nil
}

// maxName is the most characters a domain name has.
const maxName = 253

// ParsePort is Parse with a port.
func ParsePort(host string, port int) (Endpoint, error) {
	if port < 1 || port > 65535 {
		return Endpoint{}, fmt.Errorf("port %d: expected 1 to 65535", port)
	}
	h, err := Parse(host)
	return Endpoint{h, port}, err
}

// Of is the host of an address.
func Of(a netip.Addr) Host {
	a = a.Unmap().WithZone("")
	return Host{Name: a.String(), Addr: a}
}

func ofAddr(text string, a netip.Addr) (Host, error) {
	if a.Zone() != "" {
		return Host{}, bad(text, "an address with a zone means another host on every machine")
	}
	return Of(a), nil
}

func bracketed(text string) (Host, error) {
	inner, ok := strings.CutSuffix(text[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !ok || err != nil || !addr.Is6() {
		return Host{}, bad(text, "brackets stand around an IPv6 address")
	}
	return ofAddr(text, addr)
}

// Split takes ":port" off a host; 0: none was there. An IPv6 address needs brackets for that.
func Split(s string) (host string, port int, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") || strings.IndexByte(s, ':') < i && !strings.HasPrefix(s, "[") {
		return s, 0, nil
	}
	if port = portOf(s[i+1:]); port == 0 {
		return "", 0, fmt.Errorf("%q is no port: expected 1 to 65535", s[i+1:])
	}
	return s[:i], port, nil
}

// portOf reads a port written in digits; 0: it is none.
func portOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 || s[0] == '+' {
		return 0
	}
	return n
}

var profile = sync.OnceValue(func() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())
})

// plainName is why s is not made of labels of letters, digits, hyphens and underscores; empty when it
// is. A name whose last label is a number would be read as an address by some.
func plainName(s string) string {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return "a part between two dots is empty, too long or begins or ends with a hyphen"
		}
		for _, c := range []byte(l) {
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return fmt.Sprintf("it holds the character %q", c)
			}
		}
	}
	if last := labels[len(labels)-1]; number(last) {
		return "it ends in a number and is no address"
	}
	return ""
}

// number reports a label that some programs read as a part of an address.
func number(label string) bool {
	digits := "0123456789"
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = rest, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// inetAton reads the forms of inet_aton(3): one to four numbers, decimal, octal or hexadecimal, of
// which the last fills the bytes that are left.
func inetAton(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		n, ok := atonNumber(p)
		room := uint64(255)
		if i == len(parts)-1 {
			room = 1<<(8*(5-uint(len(parts)))) - 1
		}
		if !ok || n > room {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			n <<= 8 * (3 - uint(i))
		}
		sum |= n
	}
	return v4(uint32(sum)), true
}

func atonNumber(p string) (uint64, bool) {
	base := 10
	switch {
	case p == "0x":
		return 0, true
	case strings.HasPrefix(p, "0x"):
		base, p = 16, p[2:]
	case len(p) > 1 && p[0] == '0':
		base = 8
	}
	n, err := strconv.ParseUint(p, base, 64)
	return n, err == nil
}

func v4(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
