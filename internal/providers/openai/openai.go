// Package openai is a client of OpenAI's two interfaces, Responses and Chat Completions, and of
// the many servers that speak the second: Ollama, LM Studio, llama.cpp, vLLM, OpenRouter.
//
// It reads tolerantly, since those servers differ in small ways, and sends strictly. It makes one
// request per call and keeps no conversation on the service. Begin with [New].
//
// Formats: https://platform.openai.com/docs/api-reference/responses and .../chat.
package openai

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// Name is the provider's name in model references and in blocks only it can read.
const Name = "openai"

// DefaultBaseURL is where the service itself answers.
const DefaultBaseURL = "https://api.openai.com/v1"

// API is one of the interfaces.
type API string

// The interfaces.
const (
	Responses API = "responses"
	Chat      API = "chat"
)

// Config says which model is asked, where, and on whose account.
type Config struct {
	Info    provider.Info // ID is sent as it is; Provider is whose name errors carry
	API     API           // empty: Responses at OpenAI itself, Chat anywhere else
	BaseURL string        // with its /v1; empty: [DefaultBaseURL]
	Dialect Dialect       // of Chat; the zero value is right for most servers

	APIKey string // empty: none is sent, as local servers want it
	// Key is asked before each request for a key that changes; it wins over APIKey. Nil: APIKey.
	Key func(ctx context.Context) (string, error)

	Header    http.Header     // added to every request, over ours
	ExtraBody json.RawMessage // an object whose members are set in every body
	HTTP      *http.Client    // nil: a shared client with proxies from the environment
	Learned   *wire.Learned   // what servers showed so far; nil: of this model alone
}

// Dialect is how a server's Chat Completions differ.
type Dialect struct {
	MaxTokens     string // name of the limit: "max_tokens" (default) or "max_completion_tokens"
	System        string // role of the system prompt: "system" (default) or "developer"
	Effort        Effort // how an effort level is told
	NoUsage       bool   // does not know stream_options
	KeepReasoning bool   // wants reasoning_content back (DeepSeek, Kimi and others while they call tools)
	CacheKey      bool   // knows prompt_cache_key
	IDLength      int    // most characters of a call's id; 0: 40
	// UserBehindResults: a user message may stand directly behind results. Servers with strict templates
	// refuse it, so an answer of a few words stands between.
	UserBehindResults bool
}

// Effort is how a server is told how much to think.
type Effort string

// The ways.
const (
	NoEffort     Effort = ""       // it is not told
	EffortField  Effort = "field"  // "reasoning_effort": "high"
	EffortObject Effort = "object" // "reasoning": {"effort": "high"}
)

// OpenAIChat is the dialect of OpenAI itself.
func OpenAIChat() Dialect {
	return Dialect{MaxTokens: "max_completion_tokens", System: "developer", Effort: EffortField, CacheKey: true, UserBehindResults: true}
}

// OpenRouter is the dialect of OpenRouter.
func OpenRouter() Dialect { return Dialect{Effort: EffortObject, UserBehindResults: true} }

// Local is the dialect of servers on one's own machine: Ollama, LM Studio, llama.cpp and vLLM.
func Local() Dialect { return Dialect{Effort: EffortField} }

// Model is one model of a service. It is safe for concurrent use.
type Model struct {
	cfg  Config
	sent wire.Conversations
}

// mostName is the most characters the name of a tool may have.
const mostName = 64

// counting is a model whose service counts tokens.
type counting struct{ *Model }

var (
	_ provider.Model   = (*Model)(nil)
	_ provider.Counter = counting{}
)

// New returns the model cfg describes. It does not connect. The model is a [provider.Counter] when
// its service counts tokens.
func New(cfg Config) provider.Model {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	if cfg.Info.Provider == "" {
		cfg.Info.Provider = Name
	}
	if cfg.API == "" {
		cfg.API = Chat
		if cfg.BaseURL == DefaultBaseURL {
			cfg.API = Responses
		}
	}
	if cfg.Learned == nil {
		cfg.Learned = &wire.Learned{}
	}
	m := &Model{cfg: cfg}
	if cfg.API == Responses {
		return counting{m}
	}
	return m
}

// Info implements [provider.Model].
func (m *Model) Info() provider.Info {
	info := m.cfg.Info
	info.Defers = m.defers()
	return info
}

// reader turns a response into an answer.
type reader interface {
	event(data []byte) error // one event of a stream
	whole(raw []byte) error  // an answer in one piece
	end() error              // the stream ended: fine, or what is missing
	over() bool              // the end was reached
}

// Stream implements [provider.Model].
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		names := wire.NewNames(req.Tools, mostName)
		call, resp, err := m.ask(ctx, req, names)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		a := wire.NewAnswer(yield)
		var r reader = &chatReader{answer: a, names: names, service: m.cfg.Info.Provider, shows: func() { m.learn(showsReasoning) }}
		if m.cfg.API == Responses {
			r = &responsesReader{answer: a, names: names, service: m.cfg.Info.Provider, search: req.Options.WebSearch != nil, finds: m.finder(req)}
		}
		if err := read(resp, a, r); err != nil {
			a.Fail(call.Broken(ctx, err))
		}
	}
}

// ask makes the request, and once more for each thing that a refusal teaches of the dialect.
func (m *Model) ask(ctx context.Context, req provider.Request, names *wire.Names) (wire.Call, *http.Response, error) {
	for {
		call, err := m.call(ctx, req, names)
		if err != nil {
			return call, nil, err
		}
		resp, err := call.Do(ctx)
		if err == nil || !m.corrected(err, req) { // what is learned already corrects nothing, so this ends
			return call, resp, err
		}
	}
}

// maxAnswer bounds an answer that is not streamed.
const maxAnswer = 64 << 20

func read(resp *http.Response, a *wire.Answer, r reader) error {
	if isJSON(resp.Header) {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return err
		}
		return r.whole(raw)
	}
	events := wire.Events(resp.Body)
	for !a.Gone() && !r.over() {
		data, err := events()
		if err == io.EOF {
			return r.end()
		}
		if err != nil {
			return err
		}
		if len(data) == 0 {
			a.Ping()
			continue
		}
		if err := r.event(data); err != nil {
			return err
		}
	}
	return nil
}

func isJSON(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "application/json"
}

func (m *Model) call(ctx context.Context, req provider.Request, names *wire.Names) (wire.Call, error) {
	path, raw, media, err := m.written(req, names)
	if err != nil {
		return wire.Call{}, m.unwritten(err)
	}
	return m.post(ctx, req, path, raw, media)
}

// written is the body of a request, and where it goes.
func (m *Model) written(req provider.Request, names *wire.Names) (path string, raw wire.Body, media bool, err error) {
	if m.cfg.API == Responses {
		b, err := m.responsesBody(req, names)
		if err == nil {
			raw, err = m.optional().Encode(b, m.cfg.ExtraBody, b.list())
		}
		return "/responses", raw, b.Input.Media, err
	}
	b, err := m.chatBody(req, names)
	if err == nil {
		raw, err = m.optional().Encode(b, m.cfg.ExtraBody, wire.List{Name: "messages", Values: b.Messages, Always: true})
	}
	return "/chat/completions", raw, b.media, err
}

func (m *Model) unwritten(err error) error {
	return &provider.Error{Kind: provider.KindInvalid, Provider: m.cfg.Info.Provider, Message: "write the request: " + err.Error(), Cause: err}
}

func (m *Model) post(ctx context.Context, req provider.Request, path string, body wire.Body, media bool) (wire.Call, error) {
	c := wire.Call{
		HTTP: m.cfg.HTTP, Provider: m.cfg.Info.Provider, URL: m.cfg.BaseURL + path, Body: body,
		Header: http.Header{}, Media: media, Optional: m.optional(),
	}
	wire.SetLane(c.Header, m.cfg.BaseURL, req.Lane)
	key := m.cfg.APIKey
	if m.cfg.Key != nil {
		var err error
		if key, err = m.cfg.Key(ctx); err != nil {
			return c, &provider.Error{Kind: provider.KindAuth, Provider: m.cfg.Info.Provider, Message: "ask for the key: " + err.Error(), Cause: err}
		}
	}
	if key != "" {
		c.Header.Set("Authorization", "Bearer "+key)
		c.Secrets = []string{key}
	}
	for name, values := range m.cfg.Header {
		c.Header[http.CanonicalHeaderKey(name)] = values
	}
	return c, nil
}

// CountTokens implements [provider.Counter].
func (m counting) CountTokens(ctx context.Context, req provider.Request) (int, error) {
	b, err := m.responsesBody(req, wire.NewNames(req.Tools, mostName))
	var raw wire.Body
	if err == nil {
		raw, err = m.optional().Encode(b.countable(), nil, b.list())
	}
	if err != nil {
		return 0, m.unwritten(err)
	}
	call, err := m.post(ctx, req, "/responses/input_tokens", raw, b.Input.Media)
	if err != nil {
		return 0, err
	}
	resp, err := call.Do(ctx)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var out struct {
		Tokens int `json:"input_tokens"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&out); err != nil {
		return 0, call.Broken(ctx, err)
	}
	return out.Tokens, nil
}

// maxTokens is the limit of the answer to send.
func (m *Model) maxTokens(o provider.Options) int {
	if o.MaxTokens > 0 {
		return o.MaxTokens
	}
	return min(m.cfg.Info.OutputLimit(), 32_000)
}

// effort chooses a level the model has: the wished one, else the next weaker, else the weakest.
// Empty: say nothing.
func (m *Model) effort(o provider.Options) string {
	have := m.cfg.Info.Efforts
	if !m.cfg.Info.Thinking || len(have) == 0 {
		return ""
	}
	want := o.Effort
	switch {
	case o.Thinking < 0:
		want = "none"
	case want == "" && o.Thinking > 16_000:
		want = "high"
	case want == "" && o.Thinking > 4_000:
		want = "medium"
	case want == "" && o.Thinking > 0:
		want = "low"
	case want == "":
		return ""
	}
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	rank := func(level string) int {
		for i, l := range order {
			if l == level {
				return i
			}
		}
		return len(order)
	}
	best := have[0]
	for _, level := range have {
		if rank(level) <= rank(want) && (rank(level) > rank(best) || rank(best) > rank(want)) {
			best = level
		}
	}
	return best
}

// systemText is the system prompt as one text.
func systemText(blocks []msg.Block) string {
	var parts []string
	for _, b := range blocks {
		if t, ok := b.(msg.Text); ok && t.Text != "" {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// errorMark stands before the text of a failed call, since these interfaces have no flag for it.
const errorMark = "Error: "

// resultText is the text of a result.
func resultText(r msg.ToolResult) string {
	text := msg.TextOf(r.Content)
	switch {
	case text == "" && r.IsError:
		return errorMark + "the call failed and gave no text"
	case text == "":
		return "(no output)"
	case r.IsError:
		return errorMark + text
	}
	return text
}
