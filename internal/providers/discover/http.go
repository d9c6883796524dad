package discover

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// HTTPClient makes the client that the environment asks for: proxies (HTTP_PROXY, HTTPS_PROXY,
// NO_PROXY), further certificates (NODE_EXTRA_CA_CERTS), a certificate of one's own
// (CLAUDE_CODE_CLIENT_CERT and _KEY) and how long an answer's head may take (API_TIMEOUT_MS, ten
// minutes). env must not be nil.
func HTTPClient(env func(string) string) (*http.Client, error) {
	base, ok := wire.DefaultClient().Transport.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("make the HTTP client: unexpected transport")
	}
	t := base.Clone()
	t.Proxy = Proxy(env)
	t.ResponseHeaderTimeout = 10 * time.Minute
	if ms, err := strconv.Atoi(env("API_TIMEOUT_MS")); err == nil && ms > 0 {
		t.ResponseHeaderTimeout = time.Duration(ms) * time.Millisecond
	}
	cfg, err := tlsConfig(env)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig = cfg
	return &http.Client{Transport: t}, nil
}

// Proxy says over which proxy a request goes, as the usual variables of the environment name them.
func Proxy(env func(string) string) func(*http.Request) (*url.URL, error) {
	either := func(name string) string {
		if v := env(name); v != "" {
			return v
		}
		return env(strings.ToLower(name))
	}
	of := (&httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
	}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return of(r.URL) }
}

func tlsConfig(env func(string) string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if path := env("NODE_EXTRA_CA_CERTS"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a system without any
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %s holds no certificate in PEM form", path)
		}
		cfg.RootCAs = pool
	}
	cert, key := firstOf(env, "MYELIN_CLIENT_CERT", "CLAUDE_CODE_CLIENT_CERT"), firstOf(env, "MYELIN_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY")
	if cert == "" {
		return cfg, nil
	}
	if firstOf(env, "MYELIN_CLIENT_KEY_PASSPHRASE", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE") != "" {
		return nil, fmt.Errorf("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE: encrypted keys are not read; store the key decrypted, readable by you alone")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("CLAUDE_CODE_CLIENT_CERT and CLAUDE_CODE_CLIENT_KEY: %w", err)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

func firstOf(env func(string) string, names ...string) string {
	for _, name := range names {
		if v := env(name); v != "" {
			return v
		}
	}
	return ""
}
