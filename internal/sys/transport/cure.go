package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// The cures of what stands between this machine and a service.
const (
	cureAuthority = "if a proxy or a gateway of yours signs connections, name its certificate in NODE_EXTRA_CA_CERTS (beside the system's) or SSL_CERT_FILE (instead of them)"
	cureName      = "look at the service's base URL; if names are resolved by a proxy here, name it in HTTPS_PROXY or ALL_PROXY"
	cureProxy     = "look at HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; NO_PROXY names what is reached without"
	cureClient    = "the other side asks for a certificate of yours: name it in CLAUDE_CODE_CLIENT_CERT and CLAUDE_CODE_CLIENT_KEY"
	cureScheme    = "the other side speaks plain HTTP: look at the base URL, or at the scheme of the proxy"
)

// Cure says what a person can do about a connection that was not made, and whether it is final: trying
// again changes nothing before that is done. Of an error it knows nothing of, it says nothing.
func Cure(err error) (cure string, final bool) {
	var refused *ProxyRefusal
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return "", false
	case errors.As(err, &refused):
		return cureProxy, refused.Status/100 == 4
	case certificate(err) != "":
		return certificate(err), true
	case errors.As(err, &op) && (op.Op == "proxyconnect" || op.Op == "socks connect"):
		return cureProxy, !op.Timeout()
	case errors.As(err, &name):
		return cureName, name.IsNotFound
	}
	return "", false
}

// certificate is the cure of a handshake that failed; empty: it is none.
func certificate(err error) string {
	var authority x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert *net.OpError
	switch {
	case errors.As(err, &host):
		return "the certificate is for another name: look at the service's base URL"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "look at this machine's clock, and at the certificate of the other side"
	case errors.As(err, &authority), errors.As(err, &verification), errors.As(err, &invalid):
		return cureAuthority
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)):
		return cureScheme
	case errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate"):
		return cureClient
	}
	return ""
}

// ProxyRefusal is a proxy's answer to CONNECT that is no connection.
type ProxyRefusal struct {
	Proxy  string // its address, without a password
	Status int
	Text   string // the status line
}

// Error implements error.
func (e *ProxyRefusal) Error() string {
	return "the proxy " + e.Proxy + " refuses the connection: " + e.Text
}

// proxyAnswered looks at a proxy's answer to CONNECT.
func proxyAnswered(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &ProxyRefusal{Proxy: proxy.Host, Status: answer.StatusCode, Text: answer.Status}
}
