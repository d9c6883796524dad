// Package transport is how this program reaches servers over HTTP: over which proxy, whom it trusts,
// with which certificate of its own, and how long it waits. Every client of the program is made here,
// or asks here for its proxy and its trust, so that what the environment says holds for all of them.
//
// It reads the environment it is given and no settings. Begin with [Client].
package transport

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Base is a transport with many idle connections, the limits of a connection's set-up and nothing of
// the environment. It has no overall time limit: a stream may take long, and whoever reads it watches
// for silence.
func Base() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		OnProxyConnectResponse: proxyAnswered,
		WriteBufferSize:        64 << 10, // most requests are one write, for which the other side wakes once
	}
}

// Client makes the client that the environment asks for: its proxy ([Proxy]), its trust ([TLS]) and how
// long an answer's head may take (API_TIMEOUT_MS, ten minutes). env must not be nil.
func Client(env func(string) string) (*http.Client, error) {
	t := Base()
	t.Proxy = Proxy(env)
	t.ResponseHeaderTimeout = 10 * time.Minute
	if ms, err := strconv.Atoi(env("API_TIMEOUT_MS")); err == nil && ms > 0 {
		t.ResponseHeaderTimeout = time.Duration(ms) * time.Millisecond
	}
	var err error
	if t.TLSClientConfig, err = TLS(env); err != nil {
		return nil, err
	}
	return &http.Client{Transport: t}, nil
}

// Proxy says over which proxy a request goes: HTTPS_PROXY or HTTP_PROXY by the scheme, else ALL_PROXY,
// but for what NO_PROXY names; upper case goes before lower. Proxies are http, https and socks5.
func Proxy(env func(string) string) func(*http.Request) (*url.URL, error) {
	either := func(names ...string) string {
		for _, name := range names {
			if v := cmp.Or(env(name), env(strings.ToLower(name))); v != "" {
				return v
			}
		}
		return ""
	}
	of := (&httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY", "ALL_PROXY"), HTTPSProxy: either("HTTPS_PROXY", "ALL_PROXY"), NoProxy: either("NO_PROXY"),
	}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return of(r.URL) }
}

// TLS says whom a connection trusts: the system's certificates, or those of SSL_CERT_FILE and
// SSL_CERT_DIR instead, and those of NODE_EXTRA_CA_CERTS beside them; and which certificate it shows
// (CLAUDE_CODE_CLIENT_CERT and _KEY).
func TLS(env func(string) string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if cfg.RootCAs, err = roots(env); err != nil {
		return nil, err
	}
	cert, key := cmp.Or(env("MYELIN_CLIENT_CERT"), env("CLAUDE_CODE_CLIENT_CERT")), cmp.Or(env("MYELIN_CLIENT_KEY"), env("CLAUDE_CODE_CLIENT_KEY"))
	if cert == "" {
		return cfg, nil
	}
	if cmp.Or(env("MYELIN_CLIENT_KEY_PASSPHRASE"), env("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE")) != "" {
		return nil, errors.New("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE: encrypted keys are not read; store the key decrypted, readable by you alone")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("CLAUDE_CODE_CLIENT_CERT and CLAUDE_CODE_CLIENT_KEY: %w", err)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

// roots are the certificates that are trusted; nil: the system's.
func roots(env func(string) string) (*x509.CertPool, error) {
	file, dirs, extra := env("SSL_CERT_FILE"), env("SSL_CERT_DIR"), env("NODE_EXTRA_CA_CERTS")
	var pool *x509.CertPool
	var err error
	switch {
	case file+dirs != "":
		pool = x509.NewCertPool()
		if file != "" {
			err = add(pool, "SSL_CERT_FILE", file)
		}
		if err == nil && dirs != "" {
			err = addFolders(pool, filepath.SplitList(dirs))
		}
	case extra != "":
		if pool, err = x509.SystemCertPool(); err != nil {
			pool, err = x509.NewCertPool(), nil // a system without any
		}
	}
	if err == nil && extra != "" {
		err = add(pool, "NODE_EXTRA_CA_CERTS", extra)
	}
	return pool, err
}

func add(pool *x509.CertPool, name, path string) error {
	pem, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: %s holds no certificate in PEM form", name, path)
	}
	return nil
}

// addFolders adds the certificates of all files in the folders; one that is missing, and a file that
// holds none, are passed over, as other programs do.
func addFolders(pool *x509.CertPool, dirs []string) error {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("SSL_CERT_DIR: %w", err)
		}
		for _, e := range entries {
			if pem, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
				pool.AppendCertsFromPEM(pem)
			}
		}
	}
	return nil
}
