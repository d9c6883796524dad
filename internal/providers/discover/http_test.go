package discover_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/providers/discover"
)

func TestHTTPClientByEnvironment(t *testing.T) {
	client, err := discover.HTTPClient(env("HTTPS_PROXY=http://proxy:3128", "NO_PROXY=.local", "API_TIMEOUT_MS=1500"))
	if err != nil {
		t.Fatal(err)
	}
	transport := client.Transport.(*http.Transport)
	for url, want := range map[string]string{"https://api.example.com/x": "http://proxy:3128", "https://a.local/x": "", "http://api.example.com/": ""} {
		req := httptest.NewRequest(http.MethodGet, url, nil)
		got, err := transport.Proxy(req)
		if err != nil || (got == nil) != (want == "") || got != nil && got.String() != want {
			t.Errorf("proxy of %s is %v (%v), want %q", url, got, err, want)
		}
	}
	if transport.ResponseHeaderTimeout != 1500*time.Millisecond {
		t.Errorf("timeout is %v", transport.ResponseHeaderTimeout)
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
		client, err := discover.HTTPClient(env(pairs...))
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
	} {
		if err := get(pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", pair, err)
		}
	}
}
