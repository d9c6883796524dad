package transport_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/transport"
)

// vacant is an address on which nobody listens.
func vacant(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestKF134_WhatCannotPassNamesItsCure(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	unknown := httptest.NewTLSServer(http.NotFoundHandler())
	asking := httptest.NewUnstartedServer(http.NotFoundHandler())
	asking.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	asking.StartTLS()
	wants := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	tired := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	for _, s := range []*httptest.Server{plain, unknown, asking, wants, tired} {
		s.Config.ErrorLog = nil
		t.Cleanup(s.Close)
	}
	gone := vacant(t)
	for _, c := range []struct {
		name, url, proxy string
		trust            bool
		cure             string
		final            bool
	}{
		{"an authority nobody knows", unknown.URL, "", false, "NODE_EXTRA_CA_CERTS", true},
		{"a certificate of another name", strings.Replace(unknown.URL, "127.0.0.1", "localhost", 1), "", true, "another name", true},
		{"plain HTTP", strings.Replace(plain.URL, "http:", "https:", 1), "", false, "plain HTTP", true},
		{"a certificate of ours is missing", asking.URL, "", true, "CLAUDE_CODE_CLIENT_CERT", true},
		{"no proxy there", "http://service.test/", "http://" + gone, false, "HTTPS_PROXY", true},
		{"no proxy there, tunnelled", "https://service.test/", "http://" + gone, false, "HTTPS_PROXY", true},
		{"no socks proxy there", "https://service.test/", "socks5://" + gone, false, "HTTPS_PROXY", true},
		{"a proxy that wants a password", "https://service.test/", wants.URL, false, "HTTPS_PROXY", true},
		{"a proxy with a bad moment", "https://service.test/", tired.URL, false, "HTTPS_PROXY", false},
		{"nobody listens", "http://" + gone, "", false, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := transport.Client(env("ALL_PROXY=" + c.proxy))
			if err != nil {
				t.Fatal(err)
			}
			if c.trust {
				client.Transport.(*http.Transport).TLSClientConfig.RootCAs = unknown.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			}
			resp, err := client.Get(c.url)
			if err == nil {
				resp.Body.Close()
				t.Fatal("the connection was made")
			}
			cure, final := transport.Cure(err)
			if final != c.final || !strings.Contains(cure, c.cure) || (c.cure == "") != (cure == "") {
				t.Errorf("%v: cure %q, final %t", err, cure, final)
			}
		})
	}
}

func TestKF134_NamesThatDoNotResolve(t *testing.T) {
	for _, c := range []struct {
		err   error
		final bool
		told  bool
	}{
		{&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}, true, true},
		{&net.DNSError{Err: "server misbehaving", Name: "a.test", IsTemporary: true}, false, true},
		{fmt.Errorf("read: %w", context.Canceled), false, false},
		{errors.New("connection reset"), false, false},
	} {
		cure, final := transport.Cure(fmt.Errorf("ask: %w", c.err))
		if final != c.final || (cure != "") != c.told {
			t.Errorf("%v: cure %q, final %t", c.err, cure, final)
		}
	}
}
