package webfetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// proxy is an HTTP proxy on this machine that leads every connection to one server, or refuses some.
type proxy struct {
	url *url.URL

	mu    sync.Mutex // guards asked
	asked []string   // the targets of CONNECT
}

func newProxy(t *testing.T, to string, refuses func(target string) bool) *proxy {
	t.Helper()
	p := &proxy{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.Host)
		p.mu.Unlock()
		if refuses(r.Host) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		out, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go func() { _, _ = io.Copy(out, conn) }()
		_, _ = io.Copy(conn, out)
	}))
	t.Cleanup(s.Close)
	var err error
	if p.url, err = url.Parse(s.URL); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *proxy) targets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func nobody(string) bool { return false }

// behind is the world behind a proxy, with a server whose certificate is for example.com.
func behind(t *testing.T, refuses func(string) bool, ips ...[4]byte) (*proxy, World) {
	t.Helper()
	address, w := site(t, answering("text/plain", "the page"))
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, u.Host, refuses)
	w.Opens = nil
	w.Proxy = func(*http.Request) (*url.URL, error) { return p.url, nil }
	w.Resolver = nameServer(t, ips...)
	return p, w
}

func TestKF127_NoSpellingOfAPrivateAddressPassesAProxy(t *testing.T) {
	p, w := behind(t, nobody, [4]byte{8, 8, 8, 8})
	for _, host := range []string{
		"127.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "017700000001", "127.0.0.1.", "0x7f.1.", "0", "localhost", "LOCALHOST.", "a.localhost",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fe80::5efe:127.0.0.1]",
		"①②⑦.0.0.1", "127。0。0。1", "１２７.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "[fd00:ec2::254]", "168.63.129.16", "10.1", "0300.0250.1.1", "100.64.1.1",
	} {
		for _, scheme := range []string{"http", "https"} {
			if text, failed := get(t, w, scheme+"://"+host+"/"); !failed || !strings.Contains(text, "only public addresses are fetched") {
				t.Errorf("%s: %q", host, text)
			}
		}
	}
	if asked := p.targets(); len(asked) != 0 {
		t.Errorf("the proxy was asked for %v", asked)
	}
	f := &fetcher{World: w}
	for _, raw := range []string{
		"https://good.example@127.0.0.1/", "https://127.0.0.1%2f@good.example/", "https://%31%32%37.0.0.1/", "https://[fe80::1%25eth0]/", "https://127.0.0.1\\@good.example/",
		"https://256.1.1.1/", "https://1.2.3.4.5/", "https://a..b/", "https://4294967296/",
	} {
		if u, err := f.address(raw); err == nil {
			t.Errorf("%s is taken for %s", raw, u)
		}
	}
}

// A proxy gets the address that was judged, so that it has no name to look up once more.
func TestKF127_AProxyIsHandedWhatWasJudged(t *testing.T) {
	p, w := behind(t, nobody, [4]byte{8, 8, 8, 8}, [4]byte{127, 0, 0, 1})
	text, failed := get(t, w, "https://example.com/")
	if failed || !strings.Contains(text, "the page") {
		t.Errorf("%q", text)
	}
	if asked := p.targets(); !slices.Equal(asked, []string{"CONNECT 8.8.8.8:443"}) {
		t.Errorf("the proxy was asked for %v", asked)
	}
}

// The names are asked for in this order: the host, the proxy, the host once more.
func TestKF127_ASecondLookThatLeadsInsideIsRefused(t *testing.T) {
	refuses := func(target string) bool { return strings.HasPrefix(target, "8.8.8.8") }
	here, public := [4]byte{127, 0, 0, 1}, [4]byte{8, 8, 8, 8}
	for name, c := range map[string]struct {
		proxy string
		names [][4]byte
		want  string
		asked []string
	}{
		"still public": {"proxy.test", [][4]byte{public, here, public, here}, "the page", []string{"CONNECT 8.8.8.8:443", "CONNECT example.com:443"}},
		"inside now":   {"proxy.test", [][4]byte{public, here, here}, "this machine (127.0.0.1)", []string{"CONNECT 8.8.8.8:443"}},
		// A proxy on this machine would reach what is on it: nothing is tried by name.
		"a proxy here": {"127.0.0.1", [][4]byte{public}, "the proxy answered 403", []string{"CONNECT 8.8.8.8:443"}},
	} {
		p, w := behind(t, refuses, c.names...)
		p.url.Host = net.JoinHostPort(c.proxy, p.url.Port())
		if text, _ := get(t, w, "https://example.com/"); !strings.Contains(text, c.want) {
			t.Errorf("%s: %q", name, text)
		}
		if asked := p.targets(); !slices.Equal(asked, c.asked) {
			t.Errorf("%s: the proxy was asked for %v", name, asked)
		}
	}
}

func TestKF127_ARedirectIsJudgedAnew(t *testing.T) {
	for _, to := range []string{"https://127.1/", "https://example.com.:443/x", "https://0x7f.1/"} {
		address, w := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/x" {
				fmt.Fprint(w, "the page")
				return
			}
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}))
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		p := newProxy(t, u.Host, nobody)
		w.Opens, w.Resolver = nil, nameServer(t, [4]byte{8, 8, 8, 8})
		w.Proxy = func(*http.Request) (*url.URL, error) { return p.url, nil }
		text, _ := get(t, w, "https://example.com/")
		if own := strings.Contains(to, "example.com"); own != strings.Contains(text, "the page") || !own && !strings.Contains(text, "https://127.0.0.1/") {
			t.Errorf("%s: %q", to, text)
		}
	}
}

// Whoever names a host opens the private network for it, and not this machine or its metadata.
func TestKF127_ARuleForANameOpensNoMoreThanANetwork(t *testing.T) {
	for ip, reach := range map[netip.Addr]bool{
		netip.MustParseAddr("10.0.0.7"): true, netip.MustParseAddr("127.0.0.1"): false, netip.MustParseAddr("169.254.169.254"): false, netip.MustParseAddr("8.8.8.8"): true,
	} {
		if err := judge(netname.Host{Name: "wiki.example"}, ip, netname.Network); (err == nil) != reach {
			t.Errorf("%v: %v", ip, err)
		}
	}
}
