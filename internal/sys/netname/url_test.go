package netname

import (
	"net/url"
	"testing"
)

func TestKF127_URLPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not []string
	}{
		{"*", []string{"https://a.b/c", "http://127.0.0.1:8080/?x"}, []string{"https://u@a.b/", "https://a..b/"}},
		{"https://*", []string{"https://a.b/c", "https://a.b:8443/"}, []string{"http://a.b/c"}},
		{"https://hooks.example.com/*", []string{"https://HOOKS.example.com./x?y", "https://hooks.example.com:443/"}, []string{"https://hooks.example.com.evil.test/x", "http://hooks.example.com/x", "https://hooks.example.com:444/x", "https://a.test/hooks.example.com/x"}},
		{"https://*.corp.example/hook", []string{"https://a.b.corp.example/hook"}, []string{"https://evil.test/x.corp.example/hook", "https://corp.example/hook", "https://a.corp.example/hook/x"}},
		{"http://localhost:*", []string{"http://localhost/", "http://localhost:3000/a/b"}, []string{"http://localhost.evil.test:3000/", "http://127.0.0.1:3000/"}},
		{"http://127.0.0.1:8080/*", []string{"http://0x7f.1:8080/x", "http://127.1:8080/"}, []string{"http://127.0.0.1/x"}},
		{"https://hooks.example.com", []string{"https://hooks.example.com", "https://hooks.example.com/"}, []string{"https://hooks.example.com/x"}},
		{"https://h.test/a/*", []string{"https://h.test/a/b"}, []string{"https://h.test/a/../b", "https://h.test/a/%2e%2e/b", `https://h.test/a/%5c..%5cb`}},
		{"*.example.com/*", []string{"https://a.example.com/x"}, []string{"https://evil.test/a.example.com/x"}},
		{"http://[::1]:*/x", []string{"http://[0::1]:9/x"}, []string{"http://[::2]:9/x"}},
	} {
		p, err := ParseURLPattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for i, list := range [][]string{c.yes, c.not} {
			for _, raw := range list {
				u, err := url.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				if p.Allows(u) != (i == 0) {
					t.Errorf("%s on %s: %v", c.pattern, raw, i != 0)
				}
			}
		}
	}
	for _, text := range []string{"", "https://", "https://u@h/", "https://a..b/*", "https://h:x/"} {
		if _, err := ParseURLPattern(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestSame(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"https://a.b/x", "https://A.b.:443/y"}: true, {"http://127.1:80/", "http://0x7f.1/"}: true, {"https://a.b/", "http://a.b/"}: false,
		{"https://a.b/", "https://a.b:444/"}: false, {"https://a.b/", "https://c.b/"}: false, {"https://a..b/", "https://a..b/"}: false,
	} {
		a, err1 := url.Parse(pair[0])
		b, err2 := url.Parse(pair[1])
		if err1 != nil || err2 != nil || Same(a, b) != want {
			t.Errorf("%v: %v %v", pair, err1, err2)
		}
	}
}
