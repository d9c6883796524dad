// Package gemini is a client of Google's Gemini API (generateContent).
//
// It makes one request per call. Calls that Google sends without an id get one made up here;
// thought signatures are kept and sent back. Begin with [New].
//
// Formats: https://ai.google.dev/api/generate-content and .../gemini-api/docs/thought-signatures.
package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// Name is the provider's name in model references and in blocks only it can read.
const Name = "gemini"

// DefaultBaseURL is where the service itself answers.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Config says which model is asked, where, and on whose account.
type Config struct {
	Info    provider.Info // ID is sent as it is
	BaseURL string        // with or without /v1beta; empty: [DefaultBaseURL]

	APIKey string
	// Key is asked before each request for a key that changes; it wins over APIKey. Nil: APIKey.
	Key func(ctx context.Context) (string, error)

	Header    http.Header     // added to every request, over ours
	ExtraBody json.RawMessage // an object whose members are set in every body
	HTTP      *http.Client    // nil: a shared client with proxies from the environment
	Learned   *wire.Learned   // what servers refused so far; nil: nothing is remembered
}

// Model is one model of the service. It is safe for concurrent use.
type Model struct {
	cfg Config
	gen int // generation: 2, 3, …

	sent wire.Conversations
}

var (
	_ provider.Model   = (*Model)(nil)
	_ provider.Counter = (*Model)(nil)
)

// New returns the model cfg describes. It does not connect.
func New(cfg Config) *Model {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	if !strings.HasSuffix(cfg.BaseURL, "/v1beta") && !strings.HasSuffix(cfg.BaseURL, "/v1") {
		cfg.BaseURL += "/v1beta"
	}
	return &Model{cfg: cfg, gen: generation(cfg.Info.ID)}
}

// newest is assumed for names without a number.
const newest = 3

// generation finds the number in gemini-2.5-pro and the like.
func generation(id string) int {
	at := strings.Index(id, "gemini-")
	if at < 0 || at+len("gemini-") >= len(id) {
		return newest
	}
	if c := id[at+len("gemini-")]; c >= '1' && c <= '9' {
		return int(c - '0')
	}
	return newest
}

// Info implements [provider.Model].
func (m *Model) Info() provider.Info { return m.cfg.Info }

// Stream implements [provider.Model].
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		names := wire.NewNames(req.Tools, mostName)
		method := ":streamGenerateContent?alt=sse"
		if req.Options.NoStream {
			method = ":generateContent"
		}
		call, err := m.call(ctx, req, method, names)
		if err != nil {
			yield(nil, err)
			return
		}
		resp, err := call.Do(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		r := reader{answer: wire.NewAnswer(yield), names: names, search: req.Options.WebSearch != nil}
		if err := r.read(resp); err != nil {
			r.answer.Fail(call.Broken(ctx, err))
		}
	}
}

// CountTokens implements [provider.Counter].
func (m *Model) CountTokens(ctx context.Context, req provider.Request) (int, error) {
	call, err := m.call(ctx, req, countTokens, wire.NewNames(req.Tools, mostName))
	if err != nil {
		return 0, err
	}
	resp, err := call.Do(ctx)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var out struct {
		Total int `json:"totalTokens"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&out); err != nil {
		return 0, call.Broken(ctx, err)
	}
	return out.Total, nil
}

// countTokens is the method that counts.
const countTokens = ":countTokens"

// mostName is the most characters the name of a tool may have.
const mostName = 64

// optional are the members a request can do without.
func (m *Model) optional() wire.Optional {
	return wire.Optional{Fields: []string{"toolConfig"}, Without: m.cfg.Info.Compat.Without, Server: m.cfg.BaseURL, Learned: m.cfg.Learned}
}

// written is the body of a request.
func (m *Model) written(req provider.Request, method string, names *wire.Names) (raw wire.Body, media bool, err error) {
	b, err := m.body(req, names)
	if err != nil {
		return nil, false, err
	}
	if method != countTokens {
		raw, err = m.encode(b, m.cfg.ExtraBody)
		return raw, b.Contents.Media, err
	}
	b.Model = "models/" + m.cfg.Info.ID
	if raw, err = m.encode(b, nil); err == nil {
		var whole []byte
		whole, err = wire.MarshalWith(map[string]json.RawMessage{"generateContentRequest": raw.Bytes()}, m.cfg.ExtraBody)
		raw = wire.Body{whole}
	}
	return raw, b.Contents.Media, err
}

func (m *Model) call(ctx context.Context, req provider.Request, method string, names *wire.Names) (wire.Call, error) {
	raw, media, err := m.written(req, method, names)
	if err != nil {
		return wire.Call{}, &provider.Error{Kind: provider.KindInvalid, Provider: Name, Message: "write the request: " + err.Error(), Cause: err}
	}
	c := wire.Call{
		HTTP: m.cfg.HTTP, Provider: Name, Body: raw, Header: http.Header{}, Media: media, Optional: m.optional(),
		URL: m.cfg.BaseURL + "/models/" + url.PathEscape(m.cfg.Info.ID) + method,
	}
	wire.SetLane(c.Header, m.cfg.BaseURL, req.Lane)
	key := m.cfg.APIKey
	if m.cfg.Key != nil {
		if key, err = m.cfg.Key(ctx); err != nil {
			return c, &provider.Error{Kind: provider.KindAuth, Provider: Name, Message: "ask for the key: " + err.Error(), Cause: err}
		}
	}
	if key != "" {
		c.Header.Set("X-Goog-Api-Key", key)
		c.Secrets = []string{key}
	}
	for name, values := range m.cfg.Header {
		c.Header[http.CanonicalHeaderKey(name)] = values
	}
	return c, nil
}

// maxAnswer bounds an answer that is not streamed.
const maxAnswer = 64 << 20

func (r *reader) read(resp *http.Response) error {
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && t == "application/json" {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return err
		}
		if err := r.event(raw); err != nil {
			return err
		}
		return r.end()
	}
	events := wire.Events(resp.Body)
	for !r.answer.Gone() {
		data, err := events()
		if err == io.EOF {
			return r.end()
		}
		if err != nil {
			return err
		}
		if len(data) == 0 {
			r.answer.Ping()
			continue
		}
		if err := r.event(data); err != nil {
			return err
		}
	}
	return nil
}

// end is fine when a finish reason was told: the service sends no other end marker.
func (r *reader) end() error {
	if r.finish == "" {
		return errors.New("the stream ended without a finish reason")
	}
	return r.done()
}
