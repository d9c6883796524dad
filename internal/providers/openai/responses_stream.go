package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// responsesReader reads the Responses API, streamed or whole.
type responsesReader struct {
	answer  *wire.Answer
	names   *wire.Names
	service string

	search  bool          // the service searches: what it found is told
	finds   string        // tool of ours that answers the service's search for tools; empty: none
	items   map[int]*told // by output index
	sources []wire.Source
	refused bool
	ended   bool
}

// told is an item that is being told.
type told struct {
	kind   string
	block  *wire.Block // of a message: its newest part
	part   int
	closed bool
}

type responsesEvent struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        wire.Text       `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
}

type responseJSON struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Details struct {
			Cached     int `json:"cached_tokens"`
			CacheWrite int `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

func (r responseJSON) usage() (u msg.Usage) {
	if r.Usage != nil {
		u.CacheRead, u.CacheWrite = r.Usage.Details.Cached, r.Usage.Details.CacheWrite
		u.Input = max(r.Usage.Input-u.CacheRead-u.CacheWrite, 0)
		u.Output, u.Thinking = r.Usage.Output, r.Usage.OutputDetails.Reasoning
	}
	for _, raw := range r.Output {
		if itemOf(raw).Type == "web_search_call" {
			u.WebSearches++
		}
	}
	return u
}

type itemJSON struct {
	Type      string    `json:"type"`
	CallID    string    `json:"call_id"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
	Content   []struct {
		Type        string    `json:"type"`
		Text        wire.Text `json:"text"`
		Refusal     wire.Text `json:"refusal"`
		Annotations []struct {
			Type  string `json:"type"`
			URL   string `json:"url"`
			Title string `json:"title"`
		} `json:"annotations"`
	} `json:"content"`
	Summary []struct {
		Text wire.Text `json:"text"`
	} `json:"summary"`
}

func itemOf(raw json.RawMessage) (item itemJSON) {
	if json.Unmarshal(raw, &item) != nil {
		return itemJSON{}
	}
	return item
}

func (r *responsesReader) over() bool { return r.ended }

func (r *responsesReader) end() error { return errors.New("the stream ended without its end marker") }

func (r *responsesReader) event(data []byte) error {
	if string(data) == "[DONE]" {
		return nil // gateways add it; the end is another event
	}
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("an event is not valid JSON: %w", err)
	}
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		var head responseJSON
		if err := json.Unmarshal(e.Response, &head); err != nil {
			return fmt.Errorf("a response is not valid JSON: %w", err)
		}
		r.start(head.ID, head.Model)
	case "response.output_item.added":
		r.start("", "")
		return r.add(e.OutputIndex, e.Item)
	case "response.output_item.done":
		r.start("", "")
		return r.finishItem(e.OutputIndex, e.Item)
	case "response.output_text.delta":
		r.words(e.OutputIndex, e.ContentIndex).Add(e.Delta)
	case "response.refusal.delta":
		r.refused = true
		r.words(e.OutputIndex, e.ContentIndex).Add(e.Delta)
	case "response.reasoning_summary_text.delta":
		r.think(e.OutputIndex, e.SummaryIndex, e.Delta)
	case "response.reasoning_text.delta":
		r.think(e.OutputIndex, e.ContentIndex, e.Delta)
	case "response.function_call_arguments.delta":
		if t := r.items[e.OutputIndex]; t != nil && t.kind == "function_call" {
			t.block.Add(e.Delta)
		}
	case "response.completed", "response.incomplete", "response.failed":
		return r.final(e.Response)
	case "error":
		return r.failure(data)
	}
	return nil
}

// failure reads both shapes of an error in a stream: flat, and with an error object.
func (r *responsesReader) failure(data []byte) error {
	var flat struct {
		Error   json.RawMessage `json:"error"`
		Code    string          `json:"code"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(data, &flat) == nil && len(flat.Error) == 0 && flat.Message != "" {
		return wire.Fault{Code: flat.Code, Message: flat.Message}.Error(r.service)
	}
	return wire.ParseError(data).Error(r.service)
}

func (r *responsesReader) start(id, model string) {
	if r.answer.Started() {
		return
	}
	if id == "" {
		id = "resp_" + uuid.NewString()
	}
	r.answer.Start(provider.Start{ID: id, Model: model})
}

func (r *responsesReader) add(index int, raw json.RawMessage) error {
	item := itemOf(raw)
	if item.Type == "" {
		return fmt.Errorf("an output item has no type: %.100s", raw)
	}
	if r.items == nil {
		r.items = map[int]*told{}
	}
	t := &told{kind: item.Type, part: -1}
	r.items[index] = t
	switch item.Type {
	case "message": // its parts are opened one by one
	case "reasoning":
		t.block = r.answer.Open(msg.Thinking{Provider: Name})
	case "function_call":
		id := item.CallID
		if id == "" {
			id = item.ID
		}
		if id == "" {
			id = "call_" + uuid.NewString()
		}
		t.block = r.answer.Open(msg.ToolCall{ID: id, Name: r.names.Back(item.Name)})
	case searchCall:
		if r.finds != "" {
			t.block = r.answer.Open(msg.ToolCall{ID: cmp.Or(item.CallID, item.ID, "call_"+uuid.NewString()), Name: r.finds})
			break
		}
		t.block = r.answer.Open(msg.Unknown{Kind: item.Type, Raw: bytes.Clone(raw), Provider: Name})
	default:
		t.block = r.answer.Open(msg.Unknown{Kind: item.Type, Raw: bytes.Clone(raw), Provider: Name})
	}
	return nil
}

// arguments are those of a call: a text, or the object itself.
type arguments []byte

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		*a = bytes.Clone(raw)
		return nil
	}
	return (*wire.Text)(a).UnmarshalJSON(raw)
}

// words returns the block of a message's part.
func (r *responsesReader) words(index, part int) *wire.Block {
	t := r.items[index]
	if t == nil {
		t = &told{kind: "message", part: -1}
		if r.items == nil {
			r.items = map[int]*told{}
		}
		r.items[index] = t
		r.start("", "")
	}
	if t.block == nil || t.kind == "message" && t.part != part {
		if t.block != nil {
			t.block.Close()
		}
		t.block, t.part = r.answer.Open(msg.Text{}), part
	}
	return t.block
}

func (r *responsesReader) think(index, part int, text wire.Text) {
	t := r.items[index]
	if t == nil || t.kind != "reasoning" {
		return
	}
	if t.part >= 0 && t.part != part {
		t.block.Add(wire.Text("\n\n"))
	}
	t.part = part
	t.block.Add(text)
}

func (r *responsesReader) finishItem(index int, raw json.RawMessage) error {
	t := r.items[index]
	if t == nil {
		if err := r.add(index, raw); err != nil {
			return err
		}
		t = r.items[index]
	}
	if t.closed {
		return nil
	}
	t.closed = true
	item := itemOf(raw)
	switch t.kind {
	case "message":
		for i, c := range item.Content {
			for _, a := range c.Annotations {
				if a.Type == "url_citation" {
					r.sources = append(r.sources, wire.NewSource(a.URL, a.Title))
				}
			}
			if t.block != nil && t.part >= i {
				continue // was told by deltas
			}
			if len(c.Refusal) > 0 {
				r.refused = true
			}
			r.words(index, i).Add(append(c.Text, c.Refusal...))
		}
		if t.block != nil {
			t.block.Close()
		}
	case "reasoning":
		for i, s := range item.Summary {
			if t.part < i {
				r.think(index, i, s.Text)
			}
		}
		thought := t.block.Content().(msg.Thinking)
		thought.Data = bytes.Clone(raw)
		t.block.CloseAs(thought)
	case "function_call":
		if t.block.Len() == 0 {
			t.block.Add(wire.Text(item.Arguments))
		}
		t.block.Close()
	case searchCall:
		if r.finds != "" {
			t.block.Add(wire.Text(item.Arguments))
			t.block.Close()
			break
		}
		t.block.CloseAs(msg.Unknown{Kind: t.kind, Raw: bytes.Clone(raw), Provider: Name})
	default:
		t.block.CloseAs(msg.Unknown{Kind: t.kind, Raw: bytes.Clone(raw), Provider: Name})
	}
	return nil
}

func (r *responsesReader) final(raw json.RawMessage) error {
	var in responseJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("a response is not valid JSON: %w", err)
	}
	if in.Status == "failed" || len(in.Error) > 0 && string(in.Error) != "null" {
		return wire.ParseError(raw).Error(r.service)
	}
	r.ended = true
	r.start(in.ID, in.Model)
	if r.search && len(r.sources) > 0 {
		found, err := wire.SearchResult("search-"+uuid.NewString(), r.sources)
		if err != nil {
			return err
		}
		r.answer.Open(msg.Unknown{Kind: wire.SearchResultKind, Raw: found, Provider: Name}).Close()
	}
	stop := r.stop(in)
	if stop == msg.StopEndTurn && !r.answer.Opened() {
		return &provider.Error{Kind: provider.KindEnd, Provider: r.service, Message: "the answer is empty"}
	}
	r.answer.Done(stop, in.usage())
	return nil
}

func (r *responsesReader) stop(in responseJSON) msg.Stop {
	switch {
	case in.Incomplete != nil && in.Incomplete.Reason == "max_output_tokens":
		return msg.StopMaxTokens
	case in.Incomplete != nil && in.Incomplete.Reason == "content_filter", r.refused:
		return msg.StopRefusal
	case r.answer.Calls() > 0:
		return msg.StopToolUse
	}
	return msg.StopEndTurn
}

func (r *responsesReader) whole(raw []byte) error {
	var in responseJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("the answer is not valid JSON: %w", err)
	}
	if in.Status == "" {
		return wire.ParseError(raw).Error(r.service)
	}
	r.start(in.ID, in.Model)
	for i, item := range in.Output {
		if err := r.finishItem(i, item); err != nil {
			return err
		}
	}
	return r.final(raw)
}
