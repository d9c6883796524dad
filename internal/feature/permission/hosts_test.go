package permission

import (
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/netname"
)

func TestDecideHost(t *testing.T) {
	rules := Compile([]Rule{{List: AllowList, Text: "WebFetch(domain:ruled.test)"}, {List: DenyList, Text: "WebFetch(domain:*.bad.test)"}}, Env{})
	base := HostPolicy{
		Allowed: []string{"ok.test", "*.sub.test", "port.test:443", "[::1]:80", "localhost", "1.2.3.4", "bücher.test", "a:b:c", "user@evil.test", "x.*.test", "*"[:0]},
		Denied:  []string{"no.test", "*.ok.test", "10.0.0.1", "https://also.no/path", "fe80::1:443"}, Rules: rules, Mode: Default,
		Granted: map[string]bool{"granted.test": true, "granted.test:22": false},
	}
	for _, c := range []struct {
		host, port string
		mode       Mode
		want       Behavior
	}{
		{"ok.test", "443", Default, Allow},
		{"OK.test.", "443", Default, Allow},
		{"a.ok.test", "443", Bypass, Deny},
		{"sub.test", "443", Default, Ask},
		{"x.y.sub.test", "443", Default, Allow},
		{"evilsub.test", "443", Default, Ask},
		{"port.test", "443", Default, Allow},
		{"port.test", "80", Default, Ask},
		{"::1", "80", Default, Allow},
		{"[::1]", "81", Default, Ask},
		{"16909060", "80", Default, Allow},
		{"0x1020304", "80", Default, Allow},
		{"1.2.772", "80", Default, Allow},
		{"01.02.03.04", "80", Default, Allow},
		{"::ffff:1.2.3.4", "80", Default, Allow},
		{"10.1", "80", Bypass, Deny},
		{"167772161", "80", Bypass, Deny},
		{"xn--bcher-kva.test", "80", Default, Allow},
		{"BÜCHER.test", "80", Default, Allow},
		{"evil.test", "80", Default, Ask},
		{"x.y.test", "80", Default, Ask},
		{"also.no", "80", Bypass, Deny},
		{"fe80::1", "443", Bypass, Deny},
		{"fe80::1:443", "80", Bypass, Deny},
		{"ruled.test", "80", Default, Allow},
		{"a.bad.test", "80", Bypass, Deny},
		{"bad.test", "80", Default, Ask},
		{"granted.test", "80", Default, Allow},
		{"granted.test", "22", Default, Deny},
		{"new.test", "80", Bypass, Allow},
		{"new.test", "80", DontAsk, Deny},
		{"new.test", "80", Auto, Ask},
		{"a\x00.ok.test", "80", Bypass, Deny},
		{"a@ok.test", "80", Bypass, Deny},
		{"ok.test ", "80", Bypass, Deny},
		{"", "80", Bypass, Deny},
		{strings.Repeat("a", 254), "80", Bypass, Deny},
	} {
		p := base
		p.Mode = c.mode
		if d := DecideHost(c.host, c.port, p); d.Behavior != c.want {
			t.Errorf("%q:%s in %s: %s (%s), want %s", c.host, c.port, c.mode, d.Behavior, d.Reason, c.want)
		}
	}
	strict := base
	strict.Strict, strict.Mode = true, Bypass
	if d := DecideHost("new.test", "80", strict); d.Behavior != Deny {
		t.Errorf("strict: %s", d.Behavior)
	}
	managed := base
	managed.ManagedOnly, managed.ManagedAllowed = true, []string{"only.test"}
	for host, want := range map[string]Behavior{"only.test": Allow, "ok.test": Deny, "ruled.test": Deny, "new.test": Deny} {
		if d := DecideHost(host, "80", managed); d.Behavior != want {
			t.Errorf("managed only, %s: %s", host, d.Behavior)
		}
	}
	if d := DecideHost("localhost", "80", base); !d.Named {
		t.Error("localhost is named and its address is meant")
	}
	if d := DecideHost("ok.test", "80", base); d.Named {
		t.Error("a name does not mean a private address")
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.test", "*.a.test", "[::1]:80", "1.2.3.4", "0x7f.1", "a:b:c", "ü.test", "*"} {
		f.Add(s, "a.test")
	}
	f.Fuzz(func(t *testing.T, pattern, host string) {
		d := DecideHost(host, "443", HostPolicy{Allowed: []string{pattern}, Denied: []string{pattern}, Mode: Bypass})
		only := DecideHost(host, "443", HostPolicy{Allowed: []string{pattern}, Mode: DontAsk})
		if only.Behavior == Allow && d.Behavior != Deny {
			t.Fatalf("%q allows %q and does not deny it", pattern, host)
		}
		if h, err := netname.Parse(d.Host); d.Behavior == Allow && (err != nil || h.Name != d.Host) {
			t.Fatalf("%q is decided as %q, which has another spelling", host, d.Host)
		}
	})
}
