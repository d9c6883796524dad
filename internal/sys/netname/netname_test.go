package netname

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKF127_Parse(t *testing.T) {
	for in, want := range map[string]string{ // "": refused
		"example.com":                   "example.com",
		"EXAMPLE.com.":                  "example.com",
		"bücher.example":                "xn--bcher-kva.example",
		"xn--bcher-kva.example":         "xn--bcher-kva.example",
		"a_b.example":                   "a_b.example",
		"localhost":                     "localhost",
		"127.0.0.1":                     "127.0.0.1",
		"127.1":                         "127.0.0.1",
		"0x7f.1":                        "127.0.0.1",
		"0X7F.1.":                       "127.0.0.1",
		"2130706433":                    "127.0.0.1",
		"0x7f000001":                    "127.0.0.1",
		"017700000001":                  "127.0.0.1",
		"0x7f.0.0.1":                    "127.0.0.1",
		"0177.0.0.1":                    "127.0.0.1",
		"0":                             "0.0.0.0",
		"0x":                            "0.0.0.0",
		"10.0.258":                      "10.0.1.2",
		"[::1]":                         "::1",
		"[::1].":                        "::1",
		"::1":                           "::1",
		"0:0:0:0:0:0:0:1":               "::1",
		"[::ffff:10.0.0.1]":             "10.0.0.1",
		"::ffff:7f00:1":                 "127.0.0.1",
		"①②⑦.0.0.1":                     "127.0.0.1", // as resolvers fold it
		"127。0．0｡1":                     "127.0.0.1",
		"example。":                      "example",
		"ｅxample.com":                   "example.com",
		"ﬁle.example":                   "file.example",
		"":                              "",
		".":                             "",
		"a..":                           "",
		"a..b":                          "",
		".a":                            "",
		"-a.b":                          "",
		"a b":                           "",
		"a\x00.b":                       "",
		"a\nb":                          "",
		"a@b":                           "",
		"a/b":                           "",
		"a\\b":                          "",
		"a:80":                          "",
		"a%b":                           "",
		"%31.2.3.4":                     "",
		"a*.b":                          "",
		"[::1":                          "",
		"[::1]x":                        "",
		"[fe80::1%eth0]":                "",
		"fe80::1%eth0":                  "",
		"::1%lo":                        "",
		"[1.2.3.4]":                     "",
		"256.1.1.1":                     "",
		"0x100000000":                   "",
		"4294967296":                    "",
		"99999999999999999999999999":    "",
		"1.2.3.4.5":                     "",
		"08.1":                          "",
		"a.0x10":                        "",
		"a.0x":                          "",
		"a.123":                         "",
		"\xff.example":                  "",
		strings.Repeat("a", 64) + ".b":  "",
		strings.Repeat("a.", 130) + "b": "",
	} {
		got, err := Parse(in)
		if (err == nil) != (want != "") || got.Name != want {
			t.Errorf("%q: %q, %v; want %q", in, got.Name, err, want)
		}
	}
	for _, port := range []int{0, -1, 65536} {
		if _, err := ParsePort("a.b", port); err == nil {
			t.Errorf("port %d was taken", port)
		}
	}
	if e, err := ParsePort("[::1]", 80); err != nil || e.String() != "[::1]:80" || e.URLHost() != "[::1]" {
		t.Errorf("%v, %v", e, err)
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a 0", "a:80": "a 80", "[::1]": "[::1] 0", "[::1]:80": "[::1] 80", "::1": "::1 0", "": " 0",
		"a:": "bad", "a:x": "bad", "a:0": "bad", "a:65536": "bad", "a:+1": "bad", "[::1]:": "bad",
	} {
		host, port, err := Split(in)
		got := fmt.Sprint(host, " ", port)
		if err != nil {
			got = "bad"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// spelling writes an IPv4 address in one of the ways that lead to it.
func spelling(t *rapid.T, a [4]byte) string {
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	number := func(v uint32, label string) string {
		return fmt.Sprintf(rapid.SampledFrom([]string{"%d", "0x%x", "0X%X", "0%o", "0x0000%x"}).Draw(t, label), v)
	}
	var s string
	switch rapid.IntRange(0, 4).Draw(t, "parts") {
	case 0:
		return fmt.Sprintf(rapid.SampledFrom([]string{"::ffff:%d.%d.%d.%d", "[::ffff:%d.%d.%d.%d]", "0:0:0:0:0:FFFF:%d.%d.%d.%d"}).Draw(t, "mapped"), a[0], a[1], a[2], a[3])
	case 1:
		s = number(n, "a")
	case 2:
		s = number(uint32(a[0]), "a") + "." + number(n&0xffffff, "b")
	case 3:
		s = number(uint32(a[0]), "a") + "." + number(uint32(a[1]), "b") + "." + number(n&0xffff, "c")
	case 4:
		s = number(uint32(a[0]), "a") + "." + number(uint32(a[1]), "b") + "." + number(uint32(a[2]), "c") + "." + number(uint32(a[3]), "d")
	}
	if rapid.Bool().Draw(t, "wide") {
		s = strings.Map(func(r rune) rune { return r - '!' + '！' }, s)
	}
	if rapid.Bool().Draw(t, "dot") {
		s += "."
	}
	return s
}

func TestKF127_EverySpellingIsTheSameHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		text := spelling(t, a)
		h, err := Parse(text)
		if err != nil || h.Addr != netip.AddrFrom4(a) {
			t.Fatalf("%q is %v, %v; want %v", text, h, err, netip.AddrFrom4(a))
		}
		p, err := ParsePattern(strings.Trim(text, "[]"), false)
		if strings.Contains(text, ":") { // without brackets it could end in a port
			return
		}
		if err != nil || !p.Allows(Of(netip.AddrFrom4(a)), 0) || !p.Denies(h, 443) {
			t.Fatalf("the pattern %q does not cover %v: %v", text, h, err)
		}
	})
}

// carriers are the ways in which an IPv6 address carries one of IPv4.
func carriers(a [4]byte) []netip.Addr {
	hex := fmt.Sprintf("%02x%02x:%02x%02x", a[0], a[1], a[2], a[3])
	not := fmt.Sprintf("%02x%02x:%02x%02x", ^a[0], ^a[1], ^a[2], ^a[3])
	var out []netip.Addr
	for _, s := range []string{
		"::ffff:" + hex, "::" + hex, "::ffff:0:" + hex, "64:ff9b::" + hex, "64:ff9b:1::" + hex, "2002:" + hex + "::1",
		"2001:0:4136:e378:8000:63bf:" + not, "2606:4700::5efe:" + hex, "2606:4700::200:5efe:" + hex,
	} {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func TestKF127_AnAddressInAnotherIsNoCloserThanItLooks(t *testing.T) {
	for _, inside := range [][4]byte{{127, 0, 0, 1}, {10, 0, 0, 1}, {192, 168, 1, 1}, {169, 254, 169, 254}, {100, 100, 100, 200}} {
		p, err := ParsePattern(netip.AddrFrom4(inside).String(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range carriers(inside) {
			if Inside(a) == Public {
				t.Errorf("%v carries %v and counts as public", a, netip.AddrFrom4(inside))
			}
			if !p.Denies(Of(a), 443) {
				t.Errorf("a deny entry for %v lets %v pass", netip.AddrFrom4(inside), a)
			}
			if a = a.Unmap(); a.Is6() && p.Allows(Of(a), 443) {
				t.Errorf("an allow entry for %v grants %v", netip.AddrFrom4(inside), a)
			}
		}
	}
	for _, a := range []string{"64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"} {
		if r := Inside(netip.MustParseAddr(a)); r != Public {
			t.Errorf("%s carries a public address and is %s", a, r)
		}
	}
}

func TestInside(t *testing.T) {
	for text, want := range map[string]Reach{
		"127.0.0.1": Machine, "127.255.255.255": Machine, "::1": Machine, "0.0.0.0": Machine, "::": Machine, "localhost": Machine, "a.localhost": Machine,
		"localhost.localdomain": Machine, "ip6-loopback": Machine,
		"10.0.0.1": Network, "172.31.0.1": Network, "192.168.1.1": Network, "100.100.100.200": Network, "fd00:ec2::254": Network, "fec0::1": Network,
		"printer": Network, "a.local": Network, "db.internal": Network, "x.home.arpa": Network,
		"169.254.169.254": Link, "fe80::1": Link, "168.63.129.16": Link, "metadata.google.internal": Link, "ff02::1": Link,
		"255.255.255.255": Reserved, "224.0.0.251": Link, "239.1.1.1": Reserved, "198.18.0.1": Reserved, "192.0.0.192": Reserved, "2001:db8::1": Reserved, "0.1.2.3": Reserved,
		"64:ff9b::a00:1": Network, "2002:7f00:1::": Machine, "2001:0:1::": Reserved,
		"1.1.1.1": Public, "8.8.8.8": Public, "172.32.0.1": Public, "2606:4700:4700::1111": Public, "11.0.0.1": Public, "99.255.255.255": Public,
		"example.com": Public, "internal.example.com": Public,
	} {
		h, err := Parse(text)
		if err != nil || h.Inside() != want {
			t.Errorf("%s is %s (%v), want %s", text, h.Inside(), err, want)
		}
	}
	if Inside(netip.Addr{}) == Public || Inside(netip.MustParseAddr("fe80::1%eth0")) == Public {
		t.Error("no address, or one with a zone, counts as public")
	}
}

func TestPatterns(t *testing.T) {
	type hit struct{ allow, deny bool }
	both, none, only := hit{true, true}, hit{}, hit{false, true}
	for _, c := range []struct {
		pattern, host string
		port          int
		want          hit
	}{
		{"*", "a.b", 1, both},
		{"*:443", "a.b", 443, both},
		{"*:443", "a.b", 80, none},
		{"Example.COM.", "example.com", 1, both},
		{"example.com", "www.example.com", 1, none},
		{"*.example.com", "www.example.com", 1, both},
		{"*.example.com", "a.b.example.com", 1, both},
		{"*.example.com", "example.com", 1, none},
		{"*.example.com", "badexample.com", 1, none},
		{"bücher.example", "xn--bcher-kva.example", 1, both},
		{"*.bücher.example", "a.xn--bcher-kva.example", 1, both},
		{"example.com:443", "example.com", 443, both},
		{"example.com:443", "example.com", 80, none},
		{"example.com:443", "example.com", 0, none},
		{"[::1]", "::1", 1, both},
		{"[::1]:80", "::1", 80, both},
		{"[::1]:80", "::1", 81, none},
		{"fe80::1:443", "fe80::1", 443, only},
		{"fe80::1:443", "fe80::1:443", 80, only},
		{"fe80::1:443", "fe80::1", 80, none},
		{"1:2:3:4:5:6:7:8:80", "1:2:3:4:5:6:7:8", 80, both},
		{"0x7f.1", "127.0.0.1", 80, both},
		{"127.0.0.1", "0177.1", 80, both},
		{"::1", "::1", 1, both},
	} {
		p, err := ParsePattern(c.pattern, false)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		h, err := Parse(c.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := (hit{p.Allows(h, c.port), p.Denies(h, c.port)}); got != c.want {
			t.Errorf("%s on %s:%d: %+v, want %+v", c.pattern, c.host, c.port, got, c.want)
		}
	}
	for _, text := range []string{"", "http://a.b", "a@b.c", "a.b/c", "a.*.c", "a*", "*.", "*.*.a", "*.1.2.3.4", "a b", "a:b", "a:0", "[a]", "[::1", "[::1]80", "a:b:c", "a..b", "ü*.a"} {
		if p, err := ParsePattern(text, false); err == nil {
			t.Errorf("%q was taken: %+v", text, p)
		}
	}
}

func TestPatternsWithin(t *testing.T) {
	for pattern, hosts := range map[string][2]string{ // covered, not covered
		"api-*.example.com": {"api-1.example.com", "api-1.evil.example.com"},
		"example.*":         {"example.org", "example.evil.com"},
		"*-a.*.test":        {"x-a.y.test", "x-b.y.test"},
	} {
		p, err := ParsePattern(pattern, true)
		if err != nil || !p.Allows(Host{Name: hosts[0]}, 1) || p.Allows(Host{Name: hosts[1]}, 1) || p.Denies(Host{Name: hosts[1]}, 1) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestWidestPattern(t *testing.T) {
	for entry, hosts := range map[string][]string{
		"https://also.no/path": {"also.no"}, "user@Evil.test": {"evil.test"}, "a.*.test": {"a.b.test"}, "no.test:99999": {"no.test"},
		"http://0x7f.1:80/": {"127.0.0.1"}, "http://[::1]/x": {"::1"}, "*.*.test": {"a.b.test", "c.a.b.test"}, "no.test\\x": {"no.test"},
	} {
		p, ok := WidestPattern(entry)
		for _, host := range hosts {
			h, err := Parse(host)
			if err != nil || !ok || !p.Denies(h, 443) {
				t.Errorf("%q does not deny %s", entry, host)
			}
		}
	}
	if _, ok := WidestPattern("///"); ok {
		t.Error("nothing can be read as something")
	}
}

func TestCoversAll(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"*", "a.b"}: true, {"a.b", "*"}: false, {"a.b", "a.b"}: true, {"a.b", "a.b:80"}: true, {"a.b:80", "a.b"}: false,
		{"*.b", "a.b"}: true, {"*.b", "*.a.b"}: true, {"*.a.b", "*.b"}: false, {"*.b", "x*.b"}: true, {"x*.b", "x*.b"}: true, {"x.b", "x*.b"}: false,
	} {
		p, err1 := ParsePattern(pair[0], true)
		q, err2 := ParsePattern(pair[1], true)
		if err1 != nil || err2 != nil || p.CoversAll(q) != want {
			t.Errorf("%v: %v %v", pair, err1, err2)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"example.com", "127.1", "[::1]", "0x7f.1", "ａ.com", "a\x00b", "..", "xn--a", "017.0.0.1", "::ffff:1.2.3.4", "2130706433", "[fe80::1%25lo]",
		"%31%32%37.0.0.1", "user@127.0.0.1", "127。0。0。1", "64:ff9b::7f00:1", "localhost.", "xn--bcher-kva.example", "a.0x7f",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := Parse(s)
		if err != nil {
			return
		}
		for _, c := range []byte(h.Name) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte("@/\\?#[]%*", c) >= 0 || c >= 'A' && c <= 'Z' {
				t.Fatalf("%q gives %q", s, h.Name)
			}
		}
		if again, err := Parse(h.Name); err != nil || again != h {
			t.Fatalf("%q gives %v, read again %v, %v", s, h, again, err)
		}
		if a, err := netip.ParseAddr(h.Name); (err == nil) != h.Addr.IsValid() || err == nil && a != h.Addr {
			t.Fatalf("%q gives %q, which is an address: %v", s, h.Name, err == nil)
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a.test", "*.a.test", "[::1]:80", "1.2.3.4", "0x7f.1", "a:b:c", "ü.test", "*", "api-*.x", "fe80::1:443", "https://a/b", "*:80", "u@a.test"} {
		f.Add(s, "a.test", 443)
	}
	f.Fuzz(func(t *testing.T, pattern, host string, port int) {
		h, err := Parse(host)
		if err != nil {
			return
		}
		for _, inner := range []bool{false, true} {
			p, err := ParsePattern(pattern, inner)
			if err != nil {
				continue
			}
			if p.Allows(h, port) && !p.Denies(h, port) {
				t.Fatalf("%q allows %q and does not deny it", pattern, host)
			}
			if p.Allows(h, port) && !p.CoversAll(p) {
				t.Fatalf("%q does not cover itself", pattern)
			}
			if one, exact := p.Exact(); exact && p.Allows(h, port) && h != one {
				t.Fatalf("%q names one host and covers another, %q", pattern, host)
			}
		}
		if p, ok := WidestPattern(pattern); ok {
			p.Denies(h, port) // must return
		}
	})
}
