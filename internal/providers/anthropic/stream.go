package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// decoder turns one response into an answer.
type decoder struct {
	answer    *wire.Answer
	names     *wire.Names
	requestID string
	blocks    map[int]*growing
	usage     msg.Usage
	stop      msg.Stop
	done      bool
	last      event // the memory of the event before, used again
	text      []byte
}

// growing is a block that is being filled.
type growing struct {
	*wire.Block
	raw json.RawMessage // as it began
}

// maxAnswer bounds an answer that is not streamed.
const maxAnswer = 64 << 20

// read reads the whole response.
func (d *decoder) read(resp *http.Response) error {
	d.blocks = map[int]*growing{}
	if isJSON(resp.Header) {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return err
		}
		return d.whole(raw)
	}
	frames := framesOf(resp)
	for !d.answer.Gone() {
		data, err := frames()
		if err == io.EOF {
			return errors.New("the stream ended without its end marker")
		}
		if err != nil {
			return err
		}
		if len(data) == 0 {
			d.answer.Ping()
			continue
		}
		if err := d.event(data); err != nil {
			return err
		}
		if d.done {
			return nil
		}
	}
	return nil
}

// framesOf returns a function that reads the next event's data; empty data is a sign of life. The
// data is valid until the next call.
func framesOf(resp *http.Response) func() ([]byte, error) {
	if isEventStream(resp.Header) {
		return eventStreamFrames(resp.Body)
	}
	return wire.Events(resp.Body)
}

type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string    `json:"id"`
		Model string    `json:"model"`
		Usage usageJSON `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string    `json:"type"`
		Text        wire.Text `json:"text"`
		Thinking    wire.Text `json:"thinking"`
		PartialJSON wire.Text `json:"partial_json"`
		Signature   wire.Text `json:"signature"`
		StopReason  string    `json:"stop_reason"`
	} `json:"delta"`
	Usage usageJSON `json:"usage"`
}

// usageJSON has pointers, since a later report repeats only what it knows.
type usageJSON struct {
	Input       *int `json:"input_tokens"`
	Output      *int `json:"output_tokens"`
	CacheRead   *int `json:"cache_read_input_tokens"`
	CacheWrite  *int `json:"cache_creation_input_tokens"`
	CacheByTime *struct {
		Hour *int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputDetails *struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServerTools *struct {
		WebSearches *int `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

// update replaces what the report tells: the counts are totals, never to be added up.
func (u usageJSON) update(to *msg.Usage) {
	set := func(to *int, from *int) {
		if from != nil {
			*to = *from
		}
	}
	set(&to.Input, u.Input)
	set(&to.Output, u.Output)
	set(&to.CacheRead, u.CacheRead)
	set(&to.CacheWrite, u.CacheWrite)
	if u.CacheByTime != nil {
		set(&to.CacheWrite1h, u.CacheByTime.Hour)
	}
	if u.OutputDetails != nil {
		set(&to.Thinking, u.OutputDetails.Thinking)
	}
	if u.ServerTools != nil {
		set(&to.WebSearches, u.ServerTools.WebSearches)
	}
}

// clear empties the event and keeps the memory of its texts.
func (e *event) clear() {
	text := e.Delta
	*e = event{}
	e.Delta.Text, e.Delta.Thinking = text.Text[:0], text.Thinking[:0]
	e.Delta.PartialJSON, e.Delta.Signature = text.PartialJSON[:0], text.Signature[:0]
}

func (d *decoder) event(data []byte) error {
	if index, text, ok := d.quick(data); ok && d.blocks[index] != nil {
		d.blocks[index].Add(text)
		return nil
	}
	e := &d.last
	e.clear()
	if err := json.Unmarshal(data, e); err != nil {
		return fmt.Errorf("an event is not valid JSON: %w", err)
	}
	switch e.Type {
	case "message_start":
		d.start(e.Message.ID, e.Message.Model, e.Message.Usage)
	case "content_block_start":
		d.start("", "", usageJSON{})
		return d.open(e.Index, e.ContentBlock)
	case "content_block_delta":
		b := d.blocks[e.Index]
		if b == nil {
			return fmt.Errorf("a delta for block %d, which was not opened", e.Index)
		}
		b.Add(e.Delta.Text)
		b.Add(e.Delta.Thinking)
		b.Add(e.Delta.PartialJSON)
		b.Sign(e.Delta.Signature)
	case "content_block_stop":
		if b := d.blocks[e.Index]; b != nil {
			d.close(b)
		}
	case "message_delta":
		e.Usage.update(&d.usage)
		if e.Delta.StopReason != "" {
			d.stop = stopOf(e.Delta.StopReason)
		}
	case "message_stop":
		return d.finish()
	case "ping":
		d.answer.Ping()
	case "error":
		return d.failure(data)
	}
	return nil // events of a later version are skipped, as the service asks
}

func (d *decoder) failure(data []byte) error {
	f := wire.ParseError(data)
	if f.RequestID == "" {
		f.RequestID = d.requestID
	}
	return f.Error(Name)
}

func (d *decoder) start(id, model string, u usageJSON) {
	if d.answer.Started() {
		return
	}
	u.update(&d.usage)
	if id == "" {
		id = "msg_" + uuid.NewString()
	}
	d.answer.Start(provider.Start{ID: id, Model: model, Usage: d.usage})
}

// open begins a block with what the service tells at once.
func (d *decoder) open(index int, raw json.RawMessage) error {
	raw = bytes.Clone(raw)
	var in struct {
		Type      string          `json:"type"`
		Text      wire.Text       `json:"text"`
		Thinking  wire.Text       `json:"thinking"`
		Signature wire.Text       `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("a content block is not valid JSON: %w", err)
	}
	b := &growing{raw: raw}
	d.blocks[index] = b
	switch in.Type {
	case "text":
		b.Block = d.answer.Open(msg.Text{})
		b.Add(in.Text)
	case "thinking":
		b.Block = d.answer.Open(msg.Thinking{Provider: Name})
		b.Add(in.Thinking)
		b.Sign(in.Signature)
	case "redacted_thinking":
		b.Block = d.answer.Open(msg.RedactedThinking{Data: in.Data, Provider: Name})
	case "tool_use":
		if in.ID == "" {
			in.ID = "toolu_" + uuid.NewString()
		}
		b.Block = d.answer.Open(msg.ToolCall{ID: in.ID, Name: d.names.Back(in.Name)})
		if len(in.Input) > 2 && string(in.Input) != "null" { // told at once, as answers that are not streamed do
			b.Add(wire.Text(in.Input))
		}
	default:
		b.Block = d.answer.Open(msg.Unknown{Kind: in.Type, Raw: raw, Provider: Name})
	}
	return nil
}

func (d *decoder) close(b *growing) {
	u, unknown := b.Block.Block().(msg.Unknown)
	if !unknown || b.Len() == 0 {
		b.Close()
		return
	}
	// A call of the service's own tool: its input came by deltas.
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(b.raw, &members); err == nil && json.Valid(b.Text()) {
		members["input"] = slices.Clone(b.Text())
		if raw, err := wire.Marshal(members); err == nil {
			u.Raw = raw
		}
	}
	b.CloseAs(u)
}

// finish ends the answer. A stop reason that is missing or unknown is no good end; a call that is
// complete makes up for a missing one.
func (d *decoder) finish() error {
	if d.stop == "" && d.answer.Calls() > 0 {
		d.stop = msg.StopToolUse
	}
	switch d.stop {
	case msg.StopEndTurn, msg.StopMaxTokens, msg.StopSequence, msg.StopToolUse, msg.StopPause, msg.StopRefusal:
	case "":
		return &provider.Error{Kind: provider.KindEnd, Provider: Name, Message: "the answer ended without a stop reason"}
	default:
		return &provider.Error{Kind: provider.KindEnd, Provider: Name, Type: string(d.stop), Message: "the answer ended with " + string(d.stop)}
	}
	if d.stop == msg.StopEndTurn && !d.answer.Opened() {
		return &provider.Error{Kind: provider.KindEnd, Provider: Name, Message: "the answer is empty"}
	}
	d.done = true
	d.start("", "", usageJSON{})
	d.answer.Done(d.stop, d.usage)
	return nil
}

func stopOf(reason string) msg.Stop {
	if reason == "model_context_window_exceeded" {
		return msg.StopMaxTokens // cut as well, by the window
	}
	return msg.Stop(reason)
}

// whole reads an answer that came in one piece.
func (d *decoder) whole(raw []byte) error {
	var in struct {
		Type    string            `json:"type"`
		ID      string            `json:"id"`
		Model   string            `json:"model"`
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   usageJSON         `json:"usage"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("the answer is not valid JSON: %w", err)
	}
	switch in.Type {
	case "message":
	case "error":
		return d.failure(raw)
	default:
		return fmt.Errorf("the answer is no message: %.200s", raw)
	}
	d.start(in.ID, in.Model, in.Usage)
	for i, block := range in.Content {
		if err := d.open(i, block); err != nil {
			return err
		}
		d.close(d.blocks[i])
	}
	if in.Stop != "" {
		d.stop = stopOf(in.Stop)
	}
	return d.finish()
}
