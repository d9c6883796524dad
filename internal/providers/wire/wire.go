// Package wire is what the clients of real services share: one HTTP request with its errors told
// apart, text that arrives in pieces, blocks that grow by deltas, ids another service made, and
// the translation of what a service cannot be shown.
//
// It speaks no service's language; that is in the packages anthropic, openai and gemini beside it.
// Begin with [Call] for the request and [Answer] for the events.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/sse"
	"github.com/myelin-agent/myelin/internal/sys/transport"
)

// DefaultClient is the shared HTTP client of providers that were handed none: proxies from the
// environment of the process, and no overall time limit.
var DefaultClient = sync.OnceValue(func() *http.Client {
	t := transport.Base()
	t.Proxy = transport.Proxy(os.Getenv)
	return &http.Client{Transport: t}
})

// Call is one request to a service.
type Call struct {
	HTTP     *http.Client // nil: [DefaultClient]
	Provider string       // for errors
	URL      string
	Header   http.Header
	Body     Body
	Optional Optional // what of the body a request can do without; [Optional.Encode] made it
	Media    bool     // the request holds images or documents
	Secrets  []string // never shown in an error
	// Sign may add to the finished request, for services that sign it. Nil: nothing to do.
	Sign func(*http.Request, []byte) error
	// Parse reads a service's error body. Nil: [ParseError].
	Parse func(body []byte) Fault
}

// maxErrorBody bounds how much of an error's body is read.
const maxErrorBody = 64 << 10

// Do sends the request. A response with a status of 2xx is returned, its body open; anything else is a
// *[provider.Error], or the context's error when ctx ended. A refusal that names an optional field is
// no answer: the request is made again without it, once for each field, and so are all later ones.
func (c Call) Do(ctx context.Context) (*http.Response, error) {
	for {
		resp, reply, err := c.once(ctx)
		var e *provider.Error
		if err == nil || !errors.As(err, &e) {
			return resp, err
		}
		whole := c.Body.Bytes()
		field := c.Optional.refused(e, reply, whole)
		if field == "" {
			return nil, err
		}
		c.Optional.Learned.Add(c.Optional.Server, withoutFact(field))
		c.Body = Body{without(whole, field)} // it has one field less each time, so this ends
	}
}

// once sends the request once; reply is the body of a refusal.
func (c Call) once(ctx context.Context) (resp *http.Response, reply []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, c.Body.Reader())
	if err != nil {
		return nil, nil, &provider.Error{Kind: provider.KindInvalid, Provider: c.Provider, Message: "the base URL is not valid: " + c.clean(err.Error()), Cause: err}
	}
	req.ContentLength = int64(c.Body.Len())
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(c.Body.Reader()), nil }
	for name, values := range c.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Sign != nil {
		if err := c.Sign(req, c.Body.Bytes()); err != nil {
			return nil, nil, c.signError(ctx, err)
		}
	}
	client := c.HTTP
	if client == nil {
		client = DefaultClient()
	}
	careful := *client
	careful.CheckRedirect = stayAtHost
	resp, err = careful.Do(req)
	if err != nil {
		return nil, nil, c.unreached(ctx, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	// A body that broke off still says more than nothing.
	return nil, body, c.refused(resp, body)
}

// stayAtHost follows a redirect only within a host: net/http would take keys in headers it does not
// know for secret along to any other.
func stayAtHost(r *http.Request, via []*http.Request) error {
	const most = 5
	if len(via) >= most {
		return fmt.Errorf("more than %d redirects", most)
	}
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return fmt.Errorf("the service redirects to %s://%s, which is not followed: the key belongs to %s", r.URL.Scheme, r.URL.Host, first.Host)
	}
	return nil
}

func (c Call) signError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	return &provider.Error{Kind: provider.KindAuth, Provider: c.Provider, Message: c.clean(err.Error()), Cause: err}
}

func (c Call) refused(resp *http.Response, body []byte) *provider.Error {
	parse := c.Parse
	if parse == nil {
		parse = ParseError
	}
	f := parse(body)
	f.Status, f.Media = resp.StatusCode, c.Media
	if f.RetryAfter == 0 {
		f.RetryAfter = RetryAfter(resp.Header, time.Now())
	}
	if f.RequestID == "" {
		f.RequestID = RequestID(resp.Header)
	}
	f.Message = c.clean(f.Message)
	return f.Error(c.Provider)
}

// unreached is the error of a connection that was not made. One that cannot be made names its cure.
func (c Call) unreached(ctx context.Context, err error) error {
	out := c.broken(ctx, provider.KindNetwork, err)
	var e *provider.Error
	if cure, final := transport.Cure(err); cure != "" && errors.As(out, &e) {
		e.Message += "; " + cure
		if final {
			e.Kind = provider.KindUnreachable
		}
	}
	return out
}

// Broken is the error of a stream that broke or was malformed; the context's error when ctx ended.
func (c Call) Broken(ctx context.Context, err error) error {
	return c.broken(ctx, provider.KindStream, err)
}

func (c Call) broken(ctx context.Context, kind provider.Kind, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	text := err.Error()
	var ue *url.Error
	if errors.As(err, &ue) {
		text = ue.Err.Error() // without the URL: it may hold a key
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "the connection ended before the answer did"
	}
	return &provider.Error{Kind: kind, Provider: c.Provider, Message: c.clean(text), Cause: scrubbed{err, c.clean(text)}}
}

// scrubbed keeps a cause for errors.Is without its text, which may hold a key.
type scrubbed struct {
	cause error
	text  string
}

func (s scrubbed) Error() string { return s.text }
func (s scrubbed) Unwrap() error { return s.cause }

func (c Call) clean(text string) string {
	for _, secret := range c.Secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// RequestID finds the service's id of a request.
func RequestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid", "X-Goog-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Loopback reports whether the URL points to this machine.
func Loopback(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	host, err := netname.Parse(u.Hostname())
	return err == nil && (host.Name == "localhost" || host.Addr.IsLoopback())
}

// LaneHeader tells a server on this machine for whom a request is made, so that a scripted server
// can answer by lane. It is sent to loopback addresses only.
const LaneHeader = "X-Myelin-Lane"

// SetLane adds [LaneHeader] when the service is on this machine.
func SetLane(h http.Header, baseURL string, lane provider.Lane) {
	if lane != "" && lane != provider.LaneMain && Loopback(baseURL) {
		h.Set(LaneHeader, string(lane))
	}
}

// Events returns a function that reads the data of the next server-sent event; empty data without
// an error is a comment, a sign of life. The data is valid until the next call.
func Events(body io.Reader) func() ([]byte, error) {
	r := sse.NewReader(body, 0)
	return func() ([]byte, error) {
		e, err := r.Next()
		if e.Comment {
			return nil, err
		}
		if e.Name == "error" && err == nil {
			return errorEvent(e.Data), nil
		}
		return e.Data, err
	}
}

// errorEvent gives the data of an event that is named "error" the member that readers look for, also
// when a server sends a bare message.
func errorEvent(data []byte) []byte {
	var in map[string]json.RawMessage
	switch err := json.Unmarshal(data, &in); {
	case err == nil && in["error"] != nil:
		return data
	case err == nil:
		return append(append([]byte(`{"error":`), data...), '}')
	}
	out, err := json.Marshal(map[string]any{"error": map[string]string{"message": string(data)}})
	if err != nil { // strings only
		return data
	}
	return out
}
