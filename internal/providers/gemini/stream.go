package gemini

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// reader turns pieces of a response into an answer.
type reader struct {
	answer  *wire.Answer
	names   *wire.Names
	search  bool
	words   *wire.Block // open text or thinking
	usage   msg.Usage
	finish  string
	why     string // what the service says beside the finish reason
	sources []wire.Source
}

type piece struct {
	ID         string `json:"responseId"`
	Model      string `json:"modelVersion"`
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Finish    string `json:"finishReason"`
		Message   string `json:"finishMessage"`
		Grounding struct {
			Queries []string `json:"webSearchQueries"`
			Chunks  []struct {
				Web struct {
					URI   string `json:"uri"`
					Title string `json:"title"`
				} `json:"web"`
			} `json:"groundingChunks"`
		} `json:"groundingMetadata"`
	} `json:"candidates"`
	Feedback *struct {
		Reason  string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int `json:"promptTokenCount"`
		Cached     int `json:"cachedContentTokenCount"`
		Candidates int `json:"candidatesTokenCount"`
		Thoughts   int `json:"thoughtsTokenCount"`
		ToolPrompt int `json:"toolUsePromptTokenCount"`
	} `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

type partJSON struct {
	Text      wire.Text `json:"text"`
	Thought   bool      `json:"thought"`
	Signature string    `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Code    json.RawMessage `json:"executableCode"`
	Outcome json.RawMessage `json:"codeExecutionResult"`
	Inline  json.RawMessage `json:"inlineData"`
}

// blocked stands for the finish reason where the prompt itself was refused.
const blocked = "PROMPT_BLOCKED"

func (r *reader) event(data []byte) error {
	var p piece
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("an event is not valid JSON: %w", err)
	}
	if len(p.Error) > 0 && string(p.Error) != "null" {
		return wire.ParseError(data).Error(Name)
	}
	r.start(p.ID, p.Model)
	if u := p.Usage; u != nil { // totals; the last ones count
		r.usage.Input = max(u.Prompt-u.Cached, 0) + u.ToolPrompt
		r.usage.CacheRead, r.usage.Output, r.usage.Thinking = u.Cached, u.Candidates+u.Thoughts, u.Thoughts
	}
	if p.Feedback != nil && p.Feedback.Reason != "" {
		r.finish, r.why = blocked, p.Feedback.Message
	}
	for _, c := range p.Candidates {
		if c.Index != 0 {
			continue
		}
		for _, raw := range c.Content.Parts {
			if err := r.part(raw); err != nil {
				return err
			}
		}
		r.usage.WebSearches = max(r.usage.WebSearches, len(c.Grounding.Queries))
		if n := len(c.Grounding.Chunks); n > 0 {
			r.sources = nil
			for _, chunk := range c.Grounding.Chunks {
				r.sources = append(r.sources, wire.NewSource(chunk.Web.URI, chunk.Web.Title))
			}
		}
		if c.Finish != "" && c.Finish != "FINISH_REASON_UNSPECIFIED" {
			r.finish, r.why = c.Finish, c.Message
		}
	}
	return nil
}

func (r *reader) start(id, model string) {
	if r.answer.Started() {
		return
	}
	if id == "" {
		id = uuid.NewString()
	}
	r.answer.Start(provider.Start{ID: id, Model: model})
}

func (r *reader) part(raw json.RawMessage) error {
	var p partJSON
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("a part is not valid JSON: %w", err)
	}
	switch {
	case p.Call != nil:
		r.closeWords()
		id := p.Call.ID
		if id == "" {
			id = madeUp + uuid.NewString()
		}
		b := r.answer.Open(msg.ToolCall{ID: id, Name: r.names.Back(p.Call.Name), Signature: p.Signature})
		b.Add(wire.Text(wire.Object(p.Call.Args)))
		b.Close()
	case p.Thought:
		r.say(msg.Thinking{Provider: Name}).Add(p.Text)
		r.words.Sign(wire.Text(p.Signature))
	case len(p.Text) > 0:
		// A signature beside text need not be sent back, and text has no place for it.
		r.say(msg.Text{}).Add(p.Text)
	case len(p.Code) > 0, len(p.Outcome) > 0, len(p.Inline) > 0:
		r.closeWords()
		held, err := wire.Marshal(struct {
			Type string          `json:"type"`
			Part json.RawMessage `json:"part"`
		}{wire.GeminiPart, raw})
		if err != nil {
			return err
		}
		r.answer.Open(msg.Unknown{Kind: wire.GeminiPart, Raw: held, Provider: Name}).Close()
	case p.Signature != "" && r.words != nil && r.words.Block().Type() == "thinking":
		r.words.Sign(wire.Text(p.Signature))
	}
	return nil
}

// say returns the open block of this kind.
func (r *reader) say(kind msg.Block) *wire.Block {
	if r.words == nil || r.words.Block().Type() != kind.Type() {
		r.closeWords()
		r.words = r.answer.Open(kind)
	}
	return r.words
}

func (r *reader) closeWords() {
	if r.words != nil {
		r.words.Close()
		r.words = nil
	}
}

// done ends the answer, or tells why it cannot end well.
func (r *reader) done() error {
	r.closeWords()
	stop := msg.StopEndTurn
	switch r.finish {
	case "STOP":
		if r.answer.Calls() > 0 {
			stop = msg.StopToolUse
		} else if !r.answer.Opened() {
			return &provider.Error{Kind: provider.KindEnd, Provider: Name, Type: r.finish, Message: "the answer is empty"}
		}
	case "MAX_TOKENS":
		stop = msg.StopMaxTokens
	case blocked, "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		stop = msg.StopRefusal
	default: // MALFORMED_FUNCTION_CALL and others: asking again may help
		text := "the answer ended with " + r.finish
		if r.why != "" {
			text += ": " + r.why
		}
		return &provider.Error{Kind: provider.KindEnd, Provider: Name, Type: r.finish, Message: text}
	}
	if err := r.tellSources(); err != nil {
		return err
	}
	r.answer.Done(stop, r.usage)
	return nil
}

// tellSources gives what the service's search found the public shape of a search result.
func (r *reader) tellSources() error {
	if !r.search || len(r.sources) == 0 {
		return nil
	}
	raw, err := wire.SearchResult("search-"+uuid.NewString(), r.sources)
	if err != nil {
		return err
	}
	r.answer.Open(msg.Unknown{Kind: wire.SearchResultKind, Raw: raw, Provider: Name}).Close()
	return nil
}
