package sandbox

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	tests := map[string]string{ // "": refused
		"example.com":                   "example.com",
		"EXAMPLE.com.":                  "example.com",
		"bücher.example":                "xn--bcher-kva.example",
		"xn--bcher-kva.example":         "xn--bcher-kva.example",
		"a_b.example":                   "a_b.example",
		"localhost":                     "localhost",
		"127.0.0.1":                     "127.0.0.1",
		"127.1":                         "127.0.0.1",
		"2130706433":                    "127.0.0.1",
		"0x7f000001":                    "127.0.0.1",
		"0x7f.0.0.1":                    "127.0.0.1",
		"0177.0.0.1":                    "127.0.0.1",
		"10.0.258":                      "10.0.1.2",
		"[::1]":                         "::1",
		"::1":                           "::1",
		"[::ffff:10.0.0.1]":             "10.0.0.1",
		"::ffff:7f00:1":                 "127.0.0.1",
		"①②⑦.0.0.1":                     "127.0.0.1", // as resolvers fold it
		"ｅxample.com":                   "example.com",
		"":                              "",
		".":                             "",
		"a..b":                          "",
		".a":                            "",
		"-a.b":                          "",
		"a b":                           "",
		"a\x00.b":                       "",
		"a\nb":                          "",
		"a@b":                           "",
		"a/b":                           "",
		"a:80":                          "",
		"a%b":                           "",
		"[::1":                          "",
		"[fe80::1%eth0]":                "",
		"fe80::1%eth0":                  "",
		"[1.2.3.4]":                     "",
		"256.1.1.1":                     "",
		"1.2.3.4.5":                     "",
		"a.0x10":                        "",
		"a.123":                         "",
		strings.Repeat("a", 64) + ".b":  "",
		strings.Repeat("a.", 130) + "b": "",
	}
	for in, want := range tests {
		got, err := ParseHost(in, 443)
		if (err == nil) != (want != "") || got.Name != want {
			t.Errorf("%q: %q, %v; want %q", in, got.Name, err, want)
		}
		if err == nil {
			if again, err := ParseHost(got.Name, 443); err != nil || again != got {
				t.Errorf("%q: read again it is %q, %v", in, again.Name, err)
			}
		}
	}
	for _, port := range []int{0, -1, 65536} {
		if _, err := ParseHost("a.b", port); err == nil {
			t.Errorf("port %d was taken", port)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"example.com", "127.1", "[::1]", "0x7f.1", "ａ.com", "a\x00b", "..", "xn--a", "017.0.0.1", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s, 80)
		if err != nil {
			return
		}
		for _, c := range []byte(h.Name) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte("@/\\?#[]%", c) >= 0 || c >= 'A' && c <= 'Z' {
				t.Fatalf("%q gives %q", s, h.Name)
			}
		}
		if again, err := ParseHost(h.Name, 80); err != nil || again != h {
			t.Fatalf("%q gives %v, read again %v, %v", s, h, again, err)
		}
		if a, err := netip.ParseAddr(h.Name); (err == nil) != h.Addr.IsValid() || err == nil && a != h.Addr {
			t.Fatalf("%q gives %q, which is an address: %v", s, h.Name, err == nil)
		}
	})
}

func TestPrivate(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "10.0.0.1": true, "172.31.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "100.100.100.200": true,
		"0.0.0.0": true, "255.255.255.255": true, "224.0.0.1": true, "198.18.0.1": true, "::1": true, "::": true, "fd00:ec2::254": true,
		"fe80::1": true, "::ffff:127.0.0.1": true, "64:ff9b::a00:1": true, "2002:7f00:1::": true, "2001:0:1::": true,
		"1.1.1.1": false, "8.8.8.8": false, "172.32.0.1": false, "2606:4700:4700::1111": false, "11.0.0.1": false, "99.255.255.255": false,
	} {
		if got := private(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

func TestMatchStar(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"A", "A", true},
		{"A", "AB", false},
		{"A*", "AB", true},
		{"*_KEY", "MY_KEY", true},
		{"*_KEY", "KEY", false},
		{"*", "", true},
		{"A*B*C", "AxxByyC", true},
		{"A*B*C", "AxxCyy", false},
	} {
		if got := matchStar(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q %q: %v", tt.pattern, tt.s, got)
		}
	}
}

func FuzzCheckHead(f *testing.F) {
	for _, s := range []string{
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "CONNECT a.test:443 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
		"GET http://a@b/ HTTP/1.1\r\n\r\n", "GET http://a.test:80/x HTTP/1.0\nHost: a.test:80\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		method, target, err := checkHead(head)
		if err != nil {
			return
		}
		if strings.ContainsAny(target, "\r\n\x00 ") || method == "" {
			t.Fatalf("%q gives %q %q", head, method, target)
		}
		if _, err := targetHost(method, target); err != nil {
			t.Fatalf("%q: %v", head, err)
		}
	})
}
