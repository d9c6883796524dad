package transport_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/transport"
)

// env reads NAME=value pairs.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v
			}
		}
		return ""
	}
}

func TestKF138_ProxyByEnvironment(t *testing.T) {
	for _, c := range []struct{ vars, url, want string }{
		{"HTTPS_PROXY=http://p:1", "https://a.test/", "http://p:1"},
		{"https_proxy=http://p:1", "https://a.test/", "http://p:1"},
		{"HTTPS_PROXY=http://p:1 https_proxy=http://q:2", "https://a.test/", "http://p:1"},
		{"HTTPS_PROXY=http://p:1", "http://a.test/", ""},
		{"HTTP_PROXY=http://p:1", "http://a.test/", "http://p:1"},
		{"ALL_PROXY=socks5://p:1", "https://a.test/", "socks5://p:1"},
		{"all_proxy=socks5h://p:1", "http://a.test/", "socks5h://p:1"},
		{"ALL_PROXY=http://p:1 HTTPS_PROXY=http://q:2", "https://a.test/", "http://q:2"},
		{"HTTPS_PROXY=p:1", "https://a.test/", "http://p:1"},
		{"HTTPS_PROXY=http://p:1 NO_PROXY=a.test", "https://a.test/", ""},
		{"HTTPS_PROXY=http://p:1 NO_PROXY=a.test", "https://b.a.test/", ""},
		{"HTTPS_PROXY=http://p:1 NO_PROXY=a.test", "https://ba.test/", "http://p:1"},
		{"HTTPS_PROXY=http://p:1 no_proxy=.a.test,10.0.0.0/8", "https://10.1.2.3/", ""},
		{"HTTPS_PROXY=http://p:1 NO_PROXY=*", "https://a.test/", ""},
		{"HTTPS_PROXY=http://p:1", "https://localhost/", ""},
		{"", "https://a.test/", ""},
	} {
		req := httptest.NewRequest(http.MethodGet, c.url, nil)
		got, err := transport.Proxy(env(strings.Fields(c.vars)...))(req)
		if err != nil || (got == nil) != (c.want == "") || got != nil && got.String() != c.want {
			t.Errorf("%s %s: %v, %v, want %q", c.vars, c.url, got, err, c.want)
		}
	}
}

func TestHTTPClientByEnvironment(t *testing.T) {
	client, err := transport.Client(env("HTTPS_PROXY=http://proxy:3128", "NO_PROXY=.local", "API_TIMEOUT_MS=1500"))
	if err != nil {
		t.Fatal(err)
	}
	used := client.Transport.(*http.Transport)
	for url, want := range map[string]string{"https://api.example.com/x": "http://proxy:3128", "https://a.local/x": "", "http://api.example.com/": ""} {
		req := httptest.NewRequest(http.MethodGet, url, nil)
		got, err := used.Proxy(req)
		if err != nil || (got == nil) != (want == "") || got != nil && got.String() != want {
			t.Errorf("proxy of %s is %v (%v), want %q", url, got, err, want)
		}
	}
	if used.ResponseHeaderTimeout != 1500*time.Millisecond {
		t.Errorf("timeout is %v", used.ResponseHeaderTimeout)
	}
}

func TestFurtherCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		t.Fatal(err)
	}
	get := func(pairs ...string) error {
		client, err := transport.Client(env(pairs...))
		if err != nil {
			return err
		}
		resp, err := client.Get(server.URL)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := get("NODE_EXTRA_CA_CERTS=" + path); err != nil {
		t.Errorf("with the certificate: %v", err)
	}
	folder := filepath.Dir(path)
	for _, pair := range []string{"SSL_CERT_FILE=" + path, "SSL_CERT_DIR=" + folder, "SSL_CERT_DIR=/nowhere:" + folder} {
		if err := get(pair); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
	if err := get("SSL_CERT_DIR=/nowhere"); err == nil {
		t.Error("SSL_CERT_DIR does not replace the system's certificates")
	}
	if err := get(); err == nil {
		t.Error("a server nobody vouches for was trusted")
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for pair, want := range map[string]string{
		"NODE_EXTRA_CA_CERTS=" + empty:       "holds no certificate",
		"NODE_EXTRA_CA_CERTS=/nowhere/x.pem": "NODE_EXTRA_CA_CERTS",
		"CLAUDE_CODE_CLIENT_CERT=/nowhere/c": "CLAUDE_CODE_CLIENT_CERT",
		"SSL_CERT_FILE=/nowhere/x.pem":       "SSL_CERT_FILE",
		"SSL_CERT_FILE=" + empty:             "holds no certificate",
	} {
		if err := get(pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", pair, err)
		}
	}
}
