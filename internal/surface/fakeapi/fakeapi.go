// Package fakeapi serves the public interfaces of four model services on this machine, playing a
// script: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini
// generateContent. It is as strict as the services are: what they refuse it refuses, in their own
// words and shapes, so that a client that works here works there.
//
// It is no proxy and knows no model: what is said stands in the script (internal/providers/script).
// [New] gives an http.Handler for tests, [Serve] is the command `myelin fake-api`.
package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

// API is one of the interfaces.
type API string

// The interfaces that are served.
const (
	Anthropic       API = "anthropic"
	OpenAIResponses API = "openai-responses"
	OpenAIChat      API = "openai-chat"
	Gemini          API = "gemini"
)

// APIs lists the interfaces.
func APIs() []API { return []API{Anthropic, OpenAIResponses, OpenAIChat, Gemini} }

// Config says what is served.
type Config struct {
	API    API
	Script *script.Script
	Key    string    // the only key that is accepted; empty: any
	Log    io.Writer // gets every request as a line of JSON; nil: nobody
	// Fast leaves out delays and flushes, and keeps what was rendered, so that a benchmark measures
	// its client.
	Fast bool
	// NoCallIDs makes Gemini's calls come without an id, as its older models send them.
	NoCallIDs bool
	Now       func() time.Time // nil: time.Now
}

// LaneHeader tells for whom a request is made ("title", "agent:NAME"), so that the script can
// answer by lane. Without it a request is the main conversation's.
const LaneHeader = "X-Myelin-Lane"

// Recorded is one request as it came, and what became of it.
type Recorded struct {
	Time    time.Time       `json:"time"`
	Path    string          `json:"path"`
	Header  http.Header     `json:"header"` // without keys
	Body    json.RawMessage `json:"body"`   // a string when it was no JSON
	Lane    string          `json:"lane,omitempty"`
	Model   string          `json:"model,omitempty"`
	Status  int             `json:"status"` // 0: cut without an answer
	Refusal string          `json:"refusal,omitempty"`
	Usage   *msg.Usage      `json:"usage,omitempty"` // what the client was told last
}

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	cfg     Config
	dialect dialect
	quirks  quirks
	player  *script.Player

	mu       sync.Mutex // guards all below
	made     int
	requests []Recorded
	ledger   map[string]msg.Usage // by model
	rendered map[string][]frame   // Fast only

	memo   memo
	logErr error
}

// New returns a server at the beginning of its script.
func New(cfg Config) (*Server, error) {
	if cfg.Script == nil {
		return nil, errors.New("fake API: a script is needed")
	}
	s := &Server{cfg: cfg, player: script.NewPlayer(cfg.Script), ledger: map[string]msg.Usage{}, rendered: map[string][]frame{}}
	if s.cfg.Now == nil {
		s.cfg.Now = time.Now
	}
	s.quirks = cfg.Script.Quirks
	if err := s.quirks.fit(cfg.API); err != nil {
		return nil, err
	}
	switch cfg.API {
	case Anthropic:
		s.dialect = dialectOf(anthropicAPI{})
	case OpenAIResponses:
		s.dialect = dialectOf(responsesAPI{})
	case OpenAIChat:
		s.dialect = dialectOf(chatAPI{quirks: cfg.Script.Quirks})
	case Gemini:
		s.dialect = dialectOf(geminiAPI{noCallIDs: cfg.NoCallIDs})
	default:
		return nil, fmt.Errorf("fake API: expected one of %v, got %q", APIs(), cfg.API)
	}
	return s, nil
}

// Requests returns what was asked so far, in order.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Recorded(nil), s.requests...)
}

// Ledger returns the tokens clients were told of, by model.
func (s *Server) Ledger() map[string]msg.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]msg.Usage, len(s.ledger))
	for model, u := range s.ledger {
		out[model] = u
	}
	return out
}

// Err is the first missed expectation of the script, or the first failure to write the log.
func (s *Server) Err() error {
	if err := s.player.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logErr
}

// Unused is the number of the script's main turns that were not asked for.
func (s *Server) Unused() int { return s.player.Unused() }

// incoming is a request before it is understood.
type incoming struct {
	http  *http.Request
	path  string
	body  []byte
	valid bool          // the body is JSON
	model provider.Info // of the script: window and limits
	memo  *memo
}

// memo keeps what was read of the parts that every request of a conversation repeats, by their bytes.
type memo struct {
	mu    sync.Mutex // guards parts
	parts map[string]any
}

// mostParts bounds a memo; a conversation has two.
const mostParts = 64

func (m *memo) get(part []byte) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.parts[string(part)]
}

func (m *memo) put(part []byte, read any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts == nil || len(m.parts) == mostParts {
		m.parts = map[string]any{}
	}
	m.parts[string(part)] = read
}

// asked is a request that was accepted.
type asked struct {
	req     provider.Request
	model   string
	stream  bool
	count   bool // only the tokens are asked for
	options bool // chat: usage is wanted in the stream
	// Responses: calls of [searchTool] are the model's search for tools.
	searches bool
}

// frame is one piece of a response as it goes over the wire.
type frame struct {
	data  []byte
	delta bool // it brings new text: delays stand before it, and a cut comes after the last of them
}

// A dialect is one interface's way to read requests and to write answers.
type dialect struct {
	asker
	speaker
	lister
}

type asker interface {
	// read checks a request. The first thing the service would refuse is returned.
	read(in incoming) (asked, *refusal)
	// refuse writes an error's body.
	refuse(r refusal) []byte
}

type speaker interface {
	// stream renders an answer piece by piece, whole at once.
	stream(t script.Turn, a asked, id string) []frame
	whole(t script.Turn, a asked, id string) []byte
	// told is the usage a client knows of an answer that breaks off.
	told(u msg.Usage) msg.Usage
}

type lister interface {
	// count writes a number of tokens, models the list of models.
	count(tokens int) []byte
	models(ids []string) []byte
}

func dialectOf(d interface {
	asker
	speaker
	lister
},
) dialect {
	return dialect{d, d, d}
}

// maxBody is the services' limit of a request, 32 MB.
const maxBody = 32 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := Recorded{Time: s.cfg.Now(), Path: r.URL.Path, Header: redact(r.Header), Lane: r.Header.Get(LaneHeader)}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client went away while it was still asking
	}
	valid := json.Valid(body)
	rec.Body = asJSON(body, valid)
	if refused := s.gate(r, body); refused != nil {
		s.refuse(w, &rec, *refused)
		return
	}
	if r.Method == http.MethodGet {
		s.list(w, r)
		return
	}
	a, refused := s.dialect.read(incoming{http: r, path: r.URL.Path, body: body, valid: valid, model: s.cfg.Script.Model, memo: &s.memo})
	rec.Model = a.model
	if refused == nil {
		refused = s.quirks.refuse(body)
	}
	if refused != nil {
		s.refuse(w, &rec, *refused)
		return
	}
	facts := script.FactsOf(a.req)
	if a.count {
		rec.Status = http.StatusOK
		s.record(rec)
		s.send(w, http.StatusOK, s.dialect.count(tokensOf(facts.Bytes)))
		return
	}
	lane := provider.Lane(rec.Lane)
	turn, err := s.player.Next(lane, facts)
	if err != nil {
		s.refuse(w, &rec, refusal{status: http.StatusBadRequest, typ: "invalid_request_error", message: err.Error()})
		return
	}
	s.reply(w, r, &rec, a, s.quirks.turn(turn))
}

// gate checks what comes before the body is understood.
func (s *Server) gate(r *http.Request, body []byte) *refusal {
	if len(body) > maxBody {
		return &refusal{status: http.StatusRequestEntityTooLarge, typ: "request_too_large", message: "Request exceeds the maximum size"}
	}
	key := keyOf(r)
	if key == "" || s.cfg.Key != "" && key != s.cfg.Key {
		return &refusal{status: http.StatusUnauthorized, typ: "authentication_error", code: "invalid_api_key", message: "the key is missing or wrong"}
	}
	return nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/models") {
		s.send(w, http.StatusNotFound, s.dialect.refuse(refusal{status: http.StatusNotFound, typ: "not_found_error", message: "no such page: " + r.URL.Path}))
		return
	}
	s.send(w, http.StatusOK, s.dialect.models([]string{s.cfg.Script.Model.ID}))
}

func (s *Server) refuse(w http.ResponseWriter, rec *Recorded, r refusal) {
	rec.Status, rec.Refusal = r.status, r.message
	s.record(*rec)
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(r.retryAfter.Seconds()))
	}
	s.send(w, r.status, s.dialect.refuse(r))
}

func (s *Server) send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is no failure of ours
}

// record keeps and logs a request.
func (s *Server) record(rec Recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, rec)
	if rec.Usage != nil {
		s.ledger[rec.Model] = s.ledger[rec.Model].Add(*rec.Usage)
	}
	if s.cfg.Log == nil {
		return
	}
	line, err := json.Marshal(rec)
	if err == nil {
		_, err = s.cfg.Log.Write(append(line, '\n'))
	}
	if err != nil && s.logErr == nil {
		s.logErr = fmt.Errorf("write the log of requests: %w", err)
	}
}

func (s *Server) newID(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == 0 || !s.quirks.has(script.SameID) {
		s.made++
	}
	return fmt.Sprintf("%s%06d", prefix, s.made)
}

func asJSON(body []byte, valid bool) json.RawMessage {
	if len(body) == 0 {
		return json.RawMessage("null")
	}
	if valid {
		return body
	}
	raw, _ := json.Marshal(string(body)) // a string always encodes
	return raw
}

// secretHeaders hold keys.
func secretHeaders() []string {
	return []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Cookie"}
}

func redact(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range secretHeaders() {
		if h.Get(name) != "" {
			h.Set(name, "…")
		}
	}
	return h
}

func keyOf(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return key
	}
	return r.URL.Query().Get("key")
}

// bytesPerToken is the measure of the script's own estimate, so that both agree.
const bytesPerToken = 4

func tokensOf(bytes int) int { return max((bytes+bytesPerToken-1)/bytesPerToken, 1) }
