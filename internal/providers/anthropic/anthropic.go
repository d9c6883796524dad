// Package anthropic is a client of the Anthropic Messages API, directly, through a gateway that
// speaks it, on Amazon Bedrock and on Google Vertex AI.
//
// It makes one request per call: waiting, retrying and falling back are the loop's. Request bodies
// are byte-stable, so that the service's prompt cache holds, and blocks it does not know travel
// through it untouched. Begin with [New].
//
// Formats: https://platform.claude.com/docs/en/api/messages and .../build-with-claude/streaming.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// Name is the provider's name in model references and in blocks only it can read.
const Name = "anthropic"

// DefaultBaseURL is where the service itself answers.
const DefaultBaseURL = "https://api.anthropic.com"

// apiVersion is the version of the API this client speaks.
const apiVersion = "2023-06-01"

// Config says which model is asked, where, and on whose account.
type Config struct {
	Info    provider.Info // ID is sent as it is; a suffix [1m] asks for the window of a million tokens
	BaseURL string        // without /v1; empty: [DefaultBaseURL]

	APIKey    string // sent as x-api-key
	AuthToken string // sent as a bearer token, beside APIKey if both are given
	// Key is asked before each request for a key that changes (a helper program); it wins over
	// APIKey, and is also sent as a bearer token, since the helper may serve a gateway. Nil: APIKey.
	Key func(ctx context.Context) (string, error)

	Header    http.Header     // added to every request, over ours
	Betas     []string        // added to every request
	NoBetas   bool            // send no beta header but those asked for here and in the options
	LongCache bool            // keep what is cached for an hour instead of five minutes
	ExtraBody json.RawMessage // an object whose members are set in every body
	HTTP      *http.Client    // nil: a shared client with proxies from the environment
	Learned   *wire.Learned   // what servers refused so far; nil: nothing is remembered

	Bedrock *Bedrock // ask Amazon Bedrock
	Vertex  *Vertex  // ask Google Vertex AI
}

// Model is one model of the service. It is safe for concurrent use.
type Model struct {
	cfg    Config
	id     string // as it is sent
	traits traits
	long   bool // the window of a million tokens was asked for

	lastTools atomic.Pointer[encodedTools]
	sent      wire.Conversations
}

var (
	_ provider.Model   = (*Model)(nil)
	_ provider.Counter = (*Model)(nil)
)

// New returns the model cfg describes. It does not connect.
func New(cfg Config) *Model {
	id, long := strings.CutSuffix(cfg.Info.ID, "[1m]")
	if long {
		cfg.Info.ContextWindow = 1_000_000
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimSuffix(cfg.BaseURL, "/"), "/v1")
	if cfg.Learned == nil {
		cfg.Learned = &wire.Learned{}
	}
	return &Model{cfg: cfg, id: id, traits: traitsOf(id, cfg.Info), long: long}
}

// Info implements [provider.Model].
func (m *Model) Info() provider.Info {
	info := m.cfg.Info
	info.Defers = m.defers()
	return info
}

// defers reports whether the service keeps tools back. Amazon's does so for other headers.
func (m *Model) defers() bool {
	return m.traits.defers && m.cfg.Bedrock == nil && !m.cfg.NoBetas && !m.cfg.Learned.Has(m.cfg.BaseURL, refusesDeferred)
}

// What servers show of what they do not know.
const (
	refusesDeferred = "no deferred tools"
	refusesBeta     = "without beta "
)

// corrected reports whether a refusal taught something that makes another request of the same.
func (m *Model) corrected(err error, betas []string) bool {
	var e *provider.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	if strings.Contains(e.Message, "defer_loading") || strings.Contains(e.Message, provider.ToolReference) {
		return m.defers() && m.cfg.Learned.Add(m.cfg.BaseURL, refusesDeferred)
	}
	for _, name := range betas {
		if strings.Contains(e.Message, name) {
			return m.cfg.Learned.Add(m.cfg.BaseURL, refusesBeta+name)
		}
	}
	return false
}

// ask makes the request, and once more for each thing that a refusal teaches of the server.
func (m *Model) ask(ctx context.Context, req provider.Request) (call wire.Call, names *wire.Names, resp *http.Response, err error) {
	for {
		var betas []string
		if call, names, betas, err = m.call(ctx, req, toMessages); err != nil {
			return call, names, nil, err
		}
		resp, err = call.Do(ctx)
		if err == nil || !m.corrected(err, betas) { // what is learned already corrects nothing, so this ends
			return call, names, resp, err
		}
	}
}

// Stream implements [provider.Model].
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		call, names, resp, err := m.ask(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		d := decoder{answer: wire.NewAnswer(yield), names: names, requestID: wire.RequestID(resp.Header)}
		if err := d.read(resp); err != nil {
			d.answer.Fail(call.Broken(ctx, err))
		}
	}
}

// CountTokens implements [provider.Counter].
func (m *Model) CountTokens(ctx context.Context, req provider.Request) (int, error) {
	call, _, _, err := m.call(ctx, req, toCount)
	if err != nil {
		return 0, err
	}
	resp, err := call.Do(ctx)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var out struct {
		InputTokens *int `json:"input_tokens"`
		Bedrock     *int `json:"inputTokens"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&out); err != nil {
		return 0, call.Broken(ctx, err)
	}
	switch {
	case out.InputTokens != nil:
		return *out.InputTokens, nil
	case out.Bedrock != nil:
		return *out.Bedrock, nil
	}
	return 0, &provider.Error{Kind: provider.KindStream, Provider: Name, Message: "the service did not tell a number of tokens"}
}

// purpose is what a request is for.
type purpose int

const (
	toMessages purpose = iota
	toCount
)

// call builds the request.
func (m *Model) call(ctx context.Context, req provider.Request, p purpose) (wire.Call, *wire.Names, []string, error) {
	sent, err := m.body(req, p)
	if err != nil {
		return wire.Call{}, nil, nil, &provider.Error{Kind: provider.KindInvalid, Provider: Name, Message: "write the request: " + err.Error(), Cause: err}
	}
	c := wire.Call{
		HTTP: m.cfg.HTTP, Provider: Name, Body: sent.body, Header: http.Header{}, Media: sent.media, Optional: m.optional(),
	}
	wire.SetLane(c.Header, m.cfg.BaseURL, req.Lane)
	switch {
	case m.cfg.Bedrock != nil:
		err = m.cfg.Bedrock.prepare(&c, m.id, p, !req.Options.NoStream)
	case m.cfg.Vertex != nil:
		err = m.cfg.Vertex.prepare(ctx, &c, m.id, p, !req.Options.NoStream)
	default:
		err = m.direct(ctx, &c, p, sent.betas)
	}
	for name, values := range m.cfg.Header {
		c.Header[http.CanonicalHeaderKey(name)] = values
	}
	return c, sent.names, sent.betas, err
}

// optional are the members a request can do without.
func (m *Model) optional() wire.Optional {
	return wire.Optional{Fields: []string{"metadata", "output_config", "thinking", "stop_sequences"}, Without: m.cfg.Info.Compat.Without, Server: m.cfg.BaseURL, Learned: m.cfg.Learned}
}

// direct addresses the service itself or a gateway.
func (m *Model) direct(ctx context.Context, c *wire.Call, p purpose, betas []string) error {
	c.URL = m.cfg.BaseURL + "/v1/messages"
	if p == toCount {
		c.URL += "/count_tokens"
	}
	c.Header.Set("Anthropic-Version", apiVersion)
	if len(betas) > 0 {
		c.Header.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	key := m.cfg.APIKey
	if m.cfg.Key != nil {
		var err error
		if key, err = m.cfg.Key(ctx); err != nil {
			return &provider.Error{Kind: provider.KindAuth, Provider: Name, Message: "ask for the key: " + err.Error(), Cause: err}
		}
	}
	token := m.cfg.AuthToken
	if token == "" && m.cfg.Key != nil {
		token = key
	}
	if key != "" {
		c.Header.Set("X-Api-Key", key)
	}
	if token != "" {
		c.Header.Set("Authorization", "Bearer "+token)
	}
	c.Secrets = []string{key, token}
	return nil
}

// isJSON reports a plain answer, also from a gateway that was asked to stream.
func isJSON(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "application/json"
}
