package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// chatReader reads Chat Completions, streamed or whole.
type chatReader struct {
	answer  *wire.Answer
	names   *wire.Names
	service string
	shows   func() // reasoning_content was shown

	words   *wire.Block // open text or thinking
	calls   []*chatTold
	usage   msg.Usage
	finish  string
	told    bool // something came by deltas
	refused bool
	ended   bool
}

// chatTold is a call that is being told.
type chatTold struct {
	index int
	id    string
	name  string
	early wire.Text // arguments that came before the name
	block *wire.Block
	extra map[string]json.RawMessage // members we do not know
}

type chatChunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Usage   *chatUsage      `json:"usage"`
	Choices []struct {
		Index        int        `json:"index"`
		Delta        *chatDelta `json:"delta"`
		Message      *chatDelta `json:"message"` // answers that are not streamed, and servers that mix the two up
		FinishReason *string    `json:"finish_reason"`
		Usage        *chatUsage `json:"usage"` // Moonshot
	} `json:"choices"`
}

type chatDelta struct {
	Content          flexible       `json:"content"`
	ReasoningContent *wire.Text     `json:"reasoning_content"`
	Reasoning        flexible       `json:"reasoning"` // OpenRouter, Ollama, newer vLLM
	Refusal          wire.Text      `json:"refusal"`
	ToolCalls        []chatCallPart `json:"tool_calls"`
}

type chatCallPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string   `json:"name"`
		Arguments flexible `json:"arguments"`
	} `json:"function"`
	extra map[string]json.RawMessage
}

// UnmarshalJSON also keeps the members it does not know: their server wants them back.
func (p *chatCallPart) UnmarshalJSON(raw []byte) error {
	type known chatCallPart
	if err := json.Unmarshal(raw, (*known)(p)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for name, value := range all {
		switch name {
		case "index", "id", "type", "function":
		default:
			if string(value) != "null" {
				if p.extra == nil {
					p.extra = map[string]json.RawMessage{}
				}
				p.extra[name] = value
			}
		}
	}
	return nil
}

// flexible is a text that some servers send as something else: null, parts with a text, or, for
// arguments, the object itself.
type flexible struct{ text wire.Text }

func (f *flexible) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return nil
	case raw[0] == '"':
		return f.text.UnmarshalJSON(raw)
	case raw[0] == '[':
		var parts []struct {
			Text wire.Text `json:"text"`
		}
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			f.text = append(f.text, p.Text...)
		}
		return nil
	}
	f.text = bytes.Clone(raw)
	return nil
}

type chatUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	CacheHit      int `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDetails struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u chatUsage) usage() msg.Usage {
	read := max(u.PromptDetails.Cached, u.CacheHit)
	return msg.Usage{
		Input: max(u.Prompt-read-u.PromptDetails.CacheWrite, 0), Output: u.Completion,
		CacheRead: read, CacheWrite: u.PromptDetails.CacheWrite, Thinking: u.CompletionDetails.Reasoning,
	}
}

func (r *chatReader) over() bool { return r.ended }

func (r *chatReader) event(data []byte) error {
	if string(data) == "[DONE]" {
		return r.done()
	}
	return r.chunk(data)
}

func (r *chatReader) whole(raw []byte) error {
	if err := r.chunk(raw); err != nil {
		return err
	}
	return r.end()
}

// end is fine after a finish reason: not every server says [DONE].
func (r *chatReader) end() error {
	if r.finish == "" {
		return errors.New("the stream ended without its end marker")
	}
	return r.done()
}

func (r *chatReader) chunk(data []byte) error {
	var c chatChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("an event is not valid JSON: %w", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return wire.ParseError(data).Error(r.service)
	}
	r.start(c.ID, c.Model)
	if c.Usage != nil {
		r.usage = c.Usage.usage() // a total; the last one counts
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // only one answer is asked for
		}
		if choice.Usage != nil {
			r.usage = choice.Usage.usage()
		}
		if d := choice.Delta; d != nil {
			if err := r.delta(*d); err != nil {
				return err
			}
		}
		if d := choice.Message; d != nil && !r.told { // beside deltas it repeats them
			if err := r.delta(*d); err != nil {
				return err
			}
		}
		if choice.FinishReason != nil && *choice.FinishReason != "" {
			r.finish = *choice.FinishReason
		}
	}
	return nil
}

func (r *chatReader) start(id, model string) {
	if r.answer.Started() {
		return
	}
	if id == "" {
		id = "chatcmpl-" + uuid.NewString()
	}
	r.answer.Start(provider.Start{ID: id, Model: model})
}

func (r *chatReader) delta(d chatDelta) error {
	r.told = r.told || len(d.Content.text)+len(d.Refusal)+len(d.ToolCalls) > 0
	thought := d.Reasoning.text
	if d.ReasoningContent != nil {
		r.shows()
		if len(*d.ReasoningContent) > 0 {
			thought = *d.ReasoningContent
		}
	}
	r.refused = r.refused || len(d.Refusal) > 0
	for _, said := range []struct {
		kind msg.Block
		text wire.Text
	}{{msg.Thinking{}, thought}, {msg.Text{}, d.Content.text}, {msg.Text{}, d.Refusal}} {
		if len(said.text) == 0 {
			continue
		}
		if err := r.say(said.kind, said.text); err != nil {
			return err
		}
	}
	for _, part := range d.ToolCalls {
		if err := r.call(part); err != nil {
			return err
		}
	}
	return nil
}

// say adds words to the open block of this kind.
func (r *chatReader) say(kind msg.Block, text wire.Text) error {
	if r.words == nil || r.words.Block().Type() != kind.Type() {
		r.closeWords()
		if err := r.closeWhole(); err != nil {
			return err
		}
		r.words = r.answer.Open(kind)
	}
	r.words.Add(text)
	return nil
}

func (r *chatReader) closeWords() {
	if r.words != nil {
		r.words.Close()
		r.words = nil
	}
}

// closeWhole closes the calls whose arguments are a whole object: nothing can follow, and they can
// be run while the answer goes on. Others may still grow, even behind a later one.
func (r *chatReader) closeWhole() error {
	for _, c := range r.calls {
		if c.block != nil && json.Valid(c.block.Text()) {
			if err := c.close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// call finds the call a part belongs to. Servers leave out ids, indexes or both, some number every
// call 0, tell names in pieces, or tell a whole call again.
func (r *chatReader) call(part chatCallPart) error {
	arguments := part.Function.Arguments.text
	if text := string(bytes.TrimSpace(arguments)); text == "null" || text == `""` {
		arguments = nil // no arguments
	}
	if r.repeated(part, arguments) {
		return nil
	}
	c := r.find(part)
	if c == nil {
		c = &chatTold{index: len(r.calls), id: part.ID}
		if part.Index != nil {
			c.index = *part.Index
		}
		r.closeWords()
		if err := r.closeWhole(); err != nil {
			return err
		}
		r.calls = append(r.calls, c)
	}
	if c.id == "" {
		c.id = part.ID
	}
	c.add(part.extra)
	if c.block == nil && c.name != part.Function.Name { // a piece, unless it is the whole name again
		c.name += part.Function.Name
	}
	if len(arguments) == 0 {
		return nil
	}
	if c.block == nil {
		c.early = append(c.early, arguments...)
		if c.name != "" {
			r.open(c)
		}
		return nil
	}
	if c.block.Closed() && len(bytes.TrimSpace(arguments)) > 0 {
		return fmt.Errorf("call %s goes on after its arguments were complete", c.id)
	}
	c.block.Add(arguments)
	return nil
}

// add keeps what a part brought of members we do not know; what came last counts.
func (c *chatTold) add(extra map[string]json.RawMessage) {
	if c.extra == nil {
		c.extra = extra
		return
	}
	maps.Copy(c.extra, extra)
}

// close ends the block of a call.
func (c *chatTold) close() error {
	if c.block == nil || c.block.Closed() {
		return nil
	}
	if call, ok := c.block.Block().(msg.ToolCall); ok && len(c.extra) > 0 {
		raw, err := wire.Marshal(c.extra)
		if err != nil {
			return fmt.Errorf("keep what the service added to call %s: %w", c.id, err)
		}
		call.Extra = raw
		c.block.Amend(call)
	}
	c.block.Close()
	return nil
}

// open begins the block of a call whose name is known.
func (r *chatReader) open(c *chatTold) {
	if c.id == "" {
		c.id = "call_" + uuid.NewString()
	}
	c.block = r.answer.Open(msg.ToolCall{ID: c.id, Name: r.names.Back(c.name)})
	c.block.Add(c.early)
	c.early = nil
}

// repeated reports whether a part tells a call that is whole already once more: the same name and
// arguments, under the same id or none. Another id makes it a call of its own.
func (r *chatReader) repeated(part chatCallPart, arguments wire.Text) bool {
	if len(arguments) == 0 || !json.Valid(arguments) {
		return false
	}
	for _, c := range r.calls {
		switch {
		case c.block == nil || (part.ID != "" && part.ID != c.id):
		case part.Function.Name != "" && part.Function.Name != c.name, part.Function.Name == "" && part.ID == "":
		case json.Valid(c.block.Text()) && sameJSON(c.block.Text(), arguments):
			return true
		}
	}
	return false
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func (r *chatReader) find(part chatCallPart) *chatTold {
	for i := len(r.calls) - 1; i >= 0; i-- {
		c := r.calls[i]
		switch {
		case part.ID != "" && c.id == part.ID:
			return c
		case part.ID != "" && c.id != "": // another one, whatever its index
			continue
		case part.Index != nil && *part.Index == c.index:
			return c
		case part.Index == nil && (part.Function.Name == "" || c.name == ""):
			return c // a part without any mark continues the newest call
		}
	}
	return nil
}

// done ends the answer. Good ends are a short list; what ended otherwise, or holds nothing, is an
// error with the word that was told.
func (r *chatReader) done() error {
	for _, c := range r.calls {
		if c.block == nil {
			r.open(c)
		}
	}
	switch r.finish {
	case "stop", "length", "tool_calls", "function_call", "content_filter", "eos", "end_turn", "stop_sequence", "tool_use", "max_tokens":
	case "": // some servers give none; then the answer must be there
		if !r.told {
			return &provider.Error{Kind: provider.KindEnd, Provider: r.service, Message: "the answer is empty"}
		}
	default:
		return &provider.Error{Kind: provider.KindEnd, Provider: r.service, Type: r.finish, Message: "the answer ended with " + r.finish}
	}
	if !r.told && r.finish != "length" && r.finish != "max_tokens" && r.finish != "content_filter" {
		return &provider.Error{Kind: provider.KindEnd, Provider: r.service, Type: r.finish, Message: "the answer is empty"}
	}
	r.ended = true
	r.start("", "")
	r.closeWords()
	for _, c := range r.calls {
		if err := c.close(); err != nil {
			return err
		}
	}
	r.answer.Done(r.stop(), r.usage)
	return nil
}

func (r *chatReader) stop() msg.Stop {
	switch {
	case r.refused, r.finish == "content_filter":
		return msg.StopRefusal
	case r.finish == "length", r.finish == "max_tokens":
		return msg.StopMaxTokens
	case r.answer.Calls() > 0: // whatever is said: some servers say "stop"
		return msg.StopToolUse
	}
	return msg.StopEndTurn
}
