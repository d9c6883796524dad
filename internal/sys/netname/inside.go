package netname

import (
	"net/netip"
	"strings"
	"sync"
)

// Reach is how far away a host is. The nearer it is, the more a stranger gains by leading a
// connection there.
type Reach int

// The reaches, from far to near. Reserved places are no hosts of the public network and never
// meant.
const (
	Public   Reach = iota
	Network        // a private network
	Reserved       // documentation, multicast, unspecified and other special blocks
	Link           // link-local and metadata services of clouds
	Machine        // this machine
)

// String says what a reach is, for sentences such as "10.0.0.1 is …".
func (r Reach) String() string {
	switch r {
	case Network:
		return "an address of a private network"
	case Reserved:
		return "a reserved address"
	case Link:
		return "a link-local address, where clouds keep their metadata"
	case Machine:
		return "this machine"
	}
	return "a public address"
}

// Inside is how near an address is. An address that carries another one (v4-mapped, v4-compatible,
// translated, NAT64, 6to4, ISATAP, Teredo) is as near as the one it carries, if that is not public.
func Inside(a netip.Addr) Reach {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid():
		return Reserved
	case a.IsLoopback():
		return Machine
	case a.IsUnspecified(): // connects to this machine on many systems
		return Machine
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast(), a == wireServer():
		return Link
	case a.IsPrivate():
		return Network
	case a.IsMulticast():
		return Reserved
	}
	if inner, ok := embedded(a); ok {
		if r := Inside(inner); r != Public {
			return r
		}
	}
	for _, p := range special() {
		if p.prefix.Contains(a) {
			return p.reach
		}
	}
	return Public
}

// wireServer is the metadata service of a large cloud, on an address that would else be public.
func wireServer() netip.Addr { return netip.AddrFrom4([4]byte{168, 63, 129, 16}) }

// Inside is how near a host is by what it is called: an address by itself, a name by the names that
// are kept for this machine and this network. Where a name leads only its addresses tell.
func (h Host) Inside() Reach {
	if h.Addr.IsValid() {
		return Inside(h.Addr)
	}
	last := h.Name[strings.LastIndexByte(h.Name, '.')+1:]
	switch {
	case last == "localhost", last == "localdomain", h.Name == "ip6-localhost", h.Name == "ip6-loopback":
		return Machine
	case h.Name == "metadata.google.internal", h.Name == "metadata", h.Name == "instance-data":
		return Link
	case !strings.Contains(h.Name, "."), last == "internal", last == "local", last == "lan", last == "intranet", strings.HasSuffix(h.Name, ".home.arpa"):
		return Network
	}
	return Public
}

// IsLocalhost reports the name that means this machine and nothing else.
func (h Host) IsLocalhost() bool {
	return h.Name == "localhost" || strings.HasSuffix(h.Name, ".localhost")
}

type block struct {
	prefix netip.Prefix
	reach  Reach
}

// special are blocks of the registries of special addresses (RFC 6890 and later) that [netip] has no
// name for.
var special = sync.OnceValue(func() []block {
	var out []block
	for _, p := range []string{
		"0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
	} {
		out = append(out, block{netip.MustParsePrefix(p), Reserved})
	}
	return append(out, block{netip.MustParsePrefix("100.64.0.0/10"), Network}, block{netip.MustParsePrefix("fec0::/10"), Network})
})

// embedded is the IPv4 address an IPv6 address carries, of every kind there is.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	four := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	switch {
	case a.Is4In6():
		return four(12)
	case zero(b[:8]) && b[8] == 0xff && b[9] == 0xff && b[10] == 0 && b[11] == 0: // ::ffff:0:a.b.c.d, RFC 2765
		return four(12)
	case zero(b[:12]) && !zero(b[12:14]): // ::a.b.c.d
		return four(12)
	case [12]byte(b[:12]) == [12]byte{0x00, 0x64, 0xff, 0x9b}: // 64:ff9b::/96, NAT64
		return four(12)
	case [6]byte(b[:6]) == [6]byte{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}: // 64:ff9b:1::/48, NAT64 of a network
		return four(12)
	case b[0] == 0x20 && b[1] == 0x02: // 2002::/16, 6to4
		return four(2)
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0: // 2001::/32, Teredo: the client, inverted
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return four(12)
	}
	return netip.Addr{}, false
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
