package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// kind is what a record holds.
type kind string

const (
	kindHead    kind = "head"    // v, program, time: the first record
	kindModel   kind = "model"   // info: a model that is asked
	kindRequest kind = "request" // request, lane, model, digest
	kindEvent   kind = "event"   // request, event
	kindEnd     kind = "end"     // request; error or cut, when the answer is not whole
	kindResult  kind = "result"  // call, tool, content, failed
	kindClock   kind = "clock"   // time
	kindID      kind = "id"      // text
	kindJitter  kind = "jitter"  // number
	kindChange  kind = "change"  // revision, slice, value
)

// entry is one line of the file. Micros are microseconds since the head, those of a result its
// duration.
type entry struct {
	Kind     kind            `json:"kind"`
	Version  int             `json:"v,omitempty"`
	Program  string          `json:"program,omitempty"`
	Time     time.Time       `json:"time,omitzero"`
	Info     *provider.Info  `json:"info,omitempty"`
	Request  int             `json:"request,omitempty"`
	Lane     provider.Lane   `json:"lane,omitempty"`
	Model    string          `json:"model,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Micros   int64           `json:"us,omitempty"`
	Event    *eventRecord    `json:"event,omitempty"`
	Error    *fault          `json:"error,omitempty"`
	Cut      bool            `json:"cut,omitempty"`
	Call     string          `json:"call,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Content  string          `json:"content,omitempty"` // JSON text of the blocks, kept as it is
	Failed   bool            `json:"failed,omitempty"`
	Text     string          `json:"text,omitempty"`
	Number   float64         `json:"number,omitempty"`
	Revision uint64          `json:"revision,omitempty"`
	Slice    string          `json:"slice,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
}

func (e entry) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// eventRecord is a provider.Event in a form that comes back exactly.
type eventRecord struct {
	Type    string             `json:"type"`
	ID      string             `json:"id,omitempty"`
	Model   string             `json:"model,omitempty"`
	Usage   *msg.Usage         `json:"usage,omitempty"`
	Index   int                `json:"index,omitempty"`
	Kind    provider.DeltaKind `json:"kind,omitempty"`
	Text    string             `json:"text,omitempty"`
	Block   *blockRecord       `json:"block,omitempty"`
	Partial bool               `json:"partial,omitempty"`
	Stop    msg.Stop           `json:"stop,omitempty"`
}

// blockRecord is a msg.Block in a form that comes back exactly: raw JSON is kept as a string, since
// encoding/json would rewrite it.
type blockRecord struct {
	Kind      string  `json:"kind"`
	Text      string  `json:"text,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Provider  string  `json:"provider,omitempty"`
	ID        string  `json:"id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Raw       *string `json:"raw,omitempty"`
	Malformed string  `json:"malformed,omitempty"`
}

func eventOf(e provider.Event, hide redactor) (*eventRecord, error) {
	switch e := e.(type) {
	case provider.Start:
		return &eventRecord{Type: "start", ID: e.ID, Model: e.Model, Usage: &e.Usage}, nil
	case provider.BlockStart:
		b, err := blockOf(e.Block, hide)
		return &eventRecord{Type: "block_start", Index: e.Index, Block: b}, err
	case provider.Delta:
		return &eventRecord{Type: "delta", Index: e.Index, Kind: e.Kind, Text: e.Text}, nil
	case provider.BlockDone:
		b, err := blockOf(e.Block, hide)
		return &eventRecord{Type: "block_done", Index: e.Index, Block: b, Partial: e.Partial}, err
	case provider.Ping:
		return &eventRecord{Type: "ping"}, nil
	case provider.Done:
		return &eventRecord{Type: "done", Stop: e.Stop, Usage: &e.Usage}, nil
	default:
		return nil, fmt.Errorf("record an event: unknown kind %T", e)
	}
}

func (r *eventRecord) event() (provider.Event, error) {
	usage := msg.Usage{}
	if r.Usage != nil {
		usage = *r.Usage
	}
	switch r.Type {
	case "start":
		return provider.Start{ID: r.ID, Model: r.Model, Usage: usage}, nil
	case "block_start":
		b, err := r.Block.block()
		return provider.BlockStart{Index: r.Index, Block: b}, err
	case "delta":
		return provider.Delta{Index: r.Index, Kind: r.Kind, Text: r.Text}, nil
	case "block_done":
		b, err := r.Block.block()
		return provider.BlockDone{Index: r.Index, Block: b, Partial: r.Partial}, err
	case "ping":
		return provider.Ping{}, nil
	case "done":
		return provider.Done{Stop: r.Stop, Usage: usage}, nil
	default:
		return nil, fmt.Errorf("unknown event %q", r.Type)
	}
}

func blockOf(b msg.Block, hide redactor) (*blockRecord, error) {
	switch b := b.(type) {
	case nil:
		return nil, nil
	case msg.Text:
		return &blockRecord{Kind: b.Type(), Text: hide.text(b.Text)}, nil
	case msg.Thinking:
		return &blockRecord{Kind: b.Type(), Text: hide.text(b.Thinking), Signature: b.Signature, Provider: b.Provider, Raw: rawText(b.Data)}, nil
	case msg.RedactedThinking:
		return &blockRecord{Kind: b.Type(), Text: b.Data, Provider: b.Provider}, nil
	case msg.ToolCall:
		return &blockRecord{
			Kind: b.Type(), ID: b.ID, Name: b.Name, Signature: b.Signature,
			Raw: rawText(hide.json(b.Input)), Malformed: hide.text(b.Malformed),
		}, nil
	case msg.Unknown:
		return &blockRecord{Kind: "unknown", Name: b.Kind, Provider: b.Provider, Raw: rawText(hide.json(b.Raw))}, nil
	default:
		raw, err := msg.MarshalBlock(b)
		return &blockRecord{Kind: "other", Raw: rawText(raw)}, err
	}
}

func (r *blockRecord) block() (msg.Block, error) {
	if r == nil {
		return nil, nil
	}
	switch r.Kind {
	case "text":
		return msg.Text{Text: r.Text}, nil
	case "thinking":
		return msg.Thinking{Thinking: r.Text, Signature: r.Signature, Provider: r.Provider, Data: r.raw()}, nil
	case "redacted_thinking":
		return msg.RedactedThinking{Data: r.Text, Provider: r.Provider}, nil
	case "tool_use":
		return msg.ToolCall{ID: r.ID, Name: r.Name, Input: r.raw(), Malformed: r.Malformed, Signature: r.Signature}, nil
	case "unknown":
		return msg.Unknown{Kind: r.Name, Raw: r.raw(), Provider: r.Provider}, nil
	case "other":
		return msg.UnmarshalBlock(r.raw())
	default:
		return nil, fmt.Errorf("unknown block %q", r.Kind)
	}
}

func rawText(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

func (r *blockRecord) raw() json.RawMessage {
	if r.Raw == nil {
		return nil
	}
	return json.RawMessage(*r.Raw)
}

// fault is the error an answer ended with.
type fault struct {
	Context string          `json:"context,omitempty"` // canceled, deadline
	Error   *provider.Error `json:"error,omitempty"`   // without its cause
	Cause   string          `json:"cause,omitempty"`
}

func faultOf(err error, hide redactor) *fault {
	var e *provider.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		bare := *e
		bare.Cause = nil
		bare.Message = hide.text(bare.Message)
		f := &fault{Error: &bare}
		if e.Cause != nil {
			f.Cause = hide.text(e.Cause.Error())
		}
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return &fault{Context: "deadline"}
	case errors.Is(err, context.Canceled):
		return &fault{Context: "canceled"}
	default: // the contract of a model knows no other
		return &fault{Error: &provider.Error{Kind: provider.KindUnknown, Message: hide.text(err.Error())}}
	}
}

func (f *fault) err() error {
	switch {
	case f.Context == "deadline":
		return context.DeadlineExceeded
	case f.Context != "":
		return context.Canceled
	case f.Error == nil:
		return &provider.Error{Kind: provider.KindUnknown, Provider: "replay"}
	}
	e := *f.Error
	if f.Cause != "" {
		e.Cause = errors.New(f.Cause)
	}
	return &e
}

// digests keeps what was hashed of conversations, lane by lane. It is safe for concurrent use.
type digests struct {
	mu    sync.Mutex
	lanes map[provider.Lane]*hashed // guarded by mu
}

// hashed is the state of a hash behind a part of a conversation.
type hashed struct {
	source msg.Prefix
	state  hash.Cloner
}

// openEnd is how many messages at the end may still change.
const openEnd = 2

func (d *digests) of(req provider.Request) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lanes == nil {
		d.lanes = map[provider.Lane]*hashed{}
	}
	k := d.lanes[req.Lane]
	if k == nil || !k.source.Begins(req.Messages) {
		k = &hashed{state: newHash()}
		d.lanes[req.Lane] = k
	}
	if done := len(req.Messages) - openEnd; done > k.source.Len() {
		hashMessages(k.state, req.Messages[k.source.Len():done])
		k.source = msg.PrefixOf(req.Messages[:done])
	}
	h, err := k.state.Clone()
	if err != nil { // one that cannot be cloned is made anew
		h = newHash()
		hashMessages(h, req.Messages[:k.source.Len()])
	}
	hashMessages(h, req.Messages[k.source.Len():])
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func newHash() hash.Cloner { return sha256.New().(hash.Cloner) } // documented to be one

func hashMessages(h io.Writer, messages []msg.Message) {
	for _, m := range messages {
		raw, err := msg.MarshalBlocks(m.Content)
		if err != nil {
			raw = []byte(err.Error())
		}
		fmt.Fprintf(h, "%s %d\n%s\n", m.Role, len(raw), raw)
	}
}
