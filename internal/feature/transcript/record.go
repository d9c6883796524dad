package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// Version is the version of the records this program writes, their field "v". Records without one
// are those of other programs. A reader refuses a file whose newest record has a newer version.
const Version = 1

// envelope is what every record of a conversation says besides its message.
type envelope struct {
	session string
	cwd     string
	branch  string
	version string // of the program
	agent   string // id of the subagent whose sidechain it is; empty: main conversation
}

// header appends the fields a record of the chain begins with, the brace included.
func (e envelope) header(out []byte, kind, id, parent string, at time.Time) []byte {
	out = append(out, `{"type":`...)
	out = quote.JSON(out, kind)
	out = append(out, `,"uuid":`...)
	out = quote.JSON(out, id)
	out = append(out, `,"parentUuid":`...)
	if parent == "" {
		out = append(out, "null"...)
	} else {
		out = quote.JSON(out, parent)
	}
	out = append(out, `,"sessionId":`...)
	out = quote.JSON(out, e.session)
	out = append(out, `,"timestamp":`...)
	out = quote.JSON(out, stamp(at))
	out = append(out, `,"cwd":`...)
	out = quote.JSON(out, e.cwd)
	out = append(out, `,"gitBranch":`...)
	out = quote.JSON(out, e.branch)
	out = append(out, `,"version":`...)
	out = quote.JSON(out, e.version)
	if e.agent == "" {
		out = append(out, `,"isSidechain":false`...)
	} else {
		out = append(out, `,"isSidechain":true,"agentId":`...)
		out = quote.JSON(out, e.agent)
	}
	return append(append(out, `,"v":`...), strconv.Itoa(Version)...)
}

// stamp is a time as records write it: UTC, milliseconds, more digits only where they are needed.
func stamp(at time.Time) string {
	at = at.UTC()
	if at.Nanosecond()%1e6 == 0 {
		return at.Format("2006-01-02T15:04:05.000Z")
	}
	return at.Format(time.RFC3339Nano)
}

// ours is the key "myelin" of a record: what the public shape has no place for.
type ours struct {
	Origin   msg.Origin `json:"origin,omitempty"`   // where it does not follow from the record
	Human    bool       `json:"human,omitempty"`    // origin is FromHuman although the record looks otherwise
	Partial  bool       `json:"partial,omitempty"`  // the answer was cut here
	Provider string     `json:"provider,omitempty"` // the part of the model's name before the slash
	Blocks   []string   `json:"blocks,omitempty"`   // providers of unknown blocks, by their place
	Filled   bool       `json:"filled,omitempty"`   // a result put in where one was missing
}

func (o ours) isZero() bool {
	return o.Origin == "" && !o.Human && !o.Partial && o.Provider == "" && o.Blocks == nil && !o.Filled
}

// encodeMessage appends the record of m, without line end.
func encodeMessage(out []byte, e envelope, m msg.Message, parent string, filled bool) ([]byte, error) {
	kind := string(m.Role)
	out = e.header(out, kind, m.ID, parent, m.Time)
	extra := ours{Partial: m.Partial, Filled: filled, Blocks: unknownProviders(m.Content)}
	looks := looksLike(m.Role, m.Origin == msg.FromHarness, m.Origin == msg.FromSummary, m.Content)
	if m.Role == msg.User && m.Origin != looks {
		extra.Origin, extra.Human = m.Origin, m.Origin == msg.FromHuman
	}
	switch {
	case m.Role != msg.User:
	case m.Origin == msg.FromHarness:
		out = append(out, `,"isMeta":true`...)
	case m.Origin == msg.FromSummary:
		out = append(out, `,"isCompactSummary":true`...)
	}
	out = append(out, `,"message":`...)
	var err error
	if m.Role == msg.Assistant {
		extra.Provider, _, _ = strings.Cut(m.Model, "/")
		if !strings.Contains(m.Model, "/") {
			extra.Provider = ""
		}
		out, err = encodeAnswer(out, m, extra.Provider)
	} else {
		out = append(out, `{"role":"user","content":`...)
		out, err = encodeContent(out, m.Content, m.Origin == msg.FromHuman)
		out = append(out, '}')
	}
	if err != nil {
		return nil, fmt.Errorf("write record %s: %w", m.ID, err)
	}
	if len(m.Structured) > 0 {
		if !json.Valid(m.Structured) {
			return nil, fmt.Errorf("write record %s: its structured result is no JSON", m.ID)
		}
		out = oneLine(append(out, `,"toolUseResult":`...), m.Structured)
	}
	if !extra.isZero() {
		raw, err := json.Marshal(extra)
		if err != nil {
			return nil, fmt.Errorf("write record %s: %w", m.ID, err)
		}
		out = oneLine(append(out, `,"myelin":`...), raw)
	}
	return append(out, '}'), nil
}

// encodeAnswer appends the message of an assistant's record in the shape of the Messages API.
func encodeAnswer(out []byte, m msg.Message, provider string) ([]byte, error) {
	out = append(out, `{"id":`...)
	out = quote.JSON(out, m.Response)
	out = append(out, `,"type":"message","role":"assistant","model":`...)
	model := m.Model
	if provider != "" {
		model = model[len(provider)+1:]
	}
	out = quote.JSON(out, model)
	out = append(out, `,"content":`...)
	out, err := encodeContent(out, m.Content, false)
	if err != nil {
		return nil, err
	}
	out = append(out, `,"stop_reason":`...)
	if m.Stop == "" {
		out = append(out, "null"...)
	} else {
		out = quote.JSON(out, string(m.Stop))
	}
	out = append(out, `,"stop_sequence":null`...)
	if m.Usage != nil {
		raw, err := json.Marshal(usageOut(*m.Usage))
		if err != nil {
			return nil, err
		}
		out = append(append(out, `,"usage":`...), raw...)
	}
	return append(out, '}'), nil
}

// encodeContent appends content blocks; a single text of a person as a plain string, which is what
// the public readers show as a prompt.
func encodeContent(out []byte, content []msg.Block, plain bool) ([]byte, error) {
	if t, ok := single(content); ok {
		if plain {
			return quote.JSON(out, t.Text), nil
		}
		out = append(out, `[{"type":"text","text":`...)
		return append(quote.JSON(out, t.Text), '}', ']'), nil
	}
	raw, err := msg.MarshalBlocks(content)
	return oneLine(out, raw), err
}

// oneLine appends JSON written elsewhere so that it is one line for everybody: line ends between
// its values become blanks, separators inside its strings are escaped.
func oneLine(out, raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 && !bytes.Contains(raw, []byte("\u0085")) && !bytes.Contains(raw, []byte("\xe2\x80")) {
		return append(out, raw...) // the usual case, at the speed of memory
	}
	for len(raw) > 0 {
		n := bytes.IndexFunc(raw, func(r rune) bool { return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 })
		if n < 0 {
			return append(out, raw...)
		}
		out = append(out, raw[:n]...)
		r, size := utf8.DecodeRune(raw[n:])
		raw = raw[n+size:]
		if r == '\n' || r == '\r' {
			out = append(out, ' ')
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func single(content []msg.Block) (msg.Text, bool) {
	if len(content) != 1 {
		return msg.Text{}, false
	}
	t, ok := content[0].(msg.Text)
	return t, ok
}

// looksLike is the origin a reader concludes from a record's shape.
func looksLike(role msg.Role, meta, summary bool, content []msg.Block) msg.Origin {
	switch {
	case role != msg.User:
		return ""
	case summary:
		return msg.FromSummary
	case meta:
		return msg.FromHarness
	}
	for _, b := range content {
		if _, ok := b.(msg.ToolResult); ok {
			return msg.FromTool
		}
	}
	return msg.FromHuman
}

func unknownProviders(content []msg.Block) []string {
	var out []string
	for i, b := range content {
		if u, ok := b.(msg.Unknown); ok && u.Provider != "" {
			for len(out) <= i {
				out = append(out, "")
			}
			out[i] = u.Provider
		}
	}
	return out
}

// usage is the public shape of a usage count.
type usage struct {
	Input      int            `json:"input_tokens"`
	Creation   int            `json:"cache_creation_input_tokens"`
	Read       int            `json:"cache_read_input_tokens"`
	Output     int            `json:"output_tokens"`
	Server     *usageServer   `json:"server_tool_use,omitempty"`
	ByLifetime *usageLifetime `json:"cache_creation,omitempty"`
	Thinking   int            `json:"thinking_tokens,omitempty"`
}

type usageServer struct {
	Searches int `json:"web_search_requests"`
}

type usageLifetime struct {
	Hour    int `json:"ephemeral_1h_input_tokens"`
	Minutes int `json:"ephemeral_5m_input_tokens"`
}

func usageOut(u msg.Usage) usage {
	out := usage{Input: u.Input, Creation: u.CacheWrite, Read: u.CacheRead, Output: u.Output, Thinking: u.Thinking}
	if u.WebSearches > 0 {
		out.Server = &usageServer{u.WebSearches}
	}
	if u.CacheWrite1h > 0 {
		out.ByLifetime = &usageLifetime{u.CacheWrite1h, u.CacheWrite - u.CacheWrite1h}
	}
	return out
}

func (u usage) in() *msg.Usage {
	out := &msg.Usage{Input: u.Input, Output: u.Output, CacheRead: u.Read, CacheWrite: u.Creation, Thinking: u.Thinking}
	if u.Server != nil {
		out.WebSearches = u.Server.Searches
	}
	if u.ByLifetime != nil {
		out.CacheWrite1h = u.ByLifetime.Hour
	}
	return out
}
