package gemini

import (
	"encoding/json"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// The fields stand in the order in which they are sent.
type body struct {
	Model      string      `json:"model,omitempty"` // where tokens are counted
	Generation generating  `json:"generationConfig"`
	ToolConfig *toolConfig `json:"toolConfig,omitempty"`
	Tools      []tool      `json:"tools,omitempty"`
	System     *content    `json:"systemInstruction,omitempty"`
	// The list comes last, each value encoded by itself.
	Contents wire.Conversation `json:"-"`
}

type generating struct {
	MaxTokens  int             `json:"maxOutputTokens,omitempty"`
	Stop       []string        `json:"stopSequences,omitempty"`
	Thinking   *thinkingConfig `json:"thinkingConfig,omitempty"`
	MIMEType   string          `json:"responseMimeType,omitempty"`
	JSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
}

type thinkingConfig struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

type toolConfig struct {
	Calling callingConfig `json:"functionCallingConfig"`
}

type callingConfig struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

type tool struct {
	Functions []function `json:"functionDeclarations,omitempty"`
	Search    *struct{}  `json:"googleSearch,omitempty"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

type content struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts,omitempty"`
}

type part struct {
	Text      string        `json:"text,omitempty"`
	Thought   bool          `json:"thought,omitempty"`
	Inline    *blob         `json:"inlineData,omitempty"`
	Call      *functionCall `json:"functionCall,omitempty"`
	Response  *functionResp `json:"functionResponse,omitempty"`
	Signature string        `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResp struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []part            `json:"parts,omitempty"`
}

const (
	maxStops = 5 // the service's most stop sequences
	// anySignature is the documented value for calls that another model made: models of the third
	// generation refuse unsigned ones.
	anySignature = "skip_thought_signature_validator"
	// madeUp begins the ids of calls that came without one; they are not sent back.
	madeUp = "gemini-"
)

func (m *Model) body(req provider.Request, names *wire.Names) (body, error) {
	o := req.Options
	b := body{Generation: generating{MaxTokens: o.MaxTokens, Thinking: m.thinking(o)}}
	if b.Generation.MaxTokens <= 0 {
		b.Generation.MaxTokens = min(m.cfg.Info.OutputLimit(), 32_000)
	}
	b.Generation.Stop = o.StopSequences[:min(len(o.StopSequences), maxStops)]
	if len(o.Schema) > 0 {
		b.Generation.MIMEType, b.Generation.JSONSchema = "application/json", wire.Object(o.Schema)
	}
	if len(req.Tools) > 0 {
		var functions []function
		for _, t := range req.Tools {
			functions = append(functions, function{names.Of(t.Name), t.Description, wire.Schema(t.Schema)})
		}
		b.Tools = []tool{{Functions: functions}}
		b.ToolConfig = choice(o.ToolChoice, names)
	} else if o.WebSearch != nil { // the service's search cannot stand beside functions on all models
		b.Tools = []tool{{Search: &struct{}{}}}
	}
	for _, s := range req.System {
		if t, ok := s.(msg.Text); ok && t.Text != "" {
			if b.System == nil {
				b.System = &content{}
			}
			b.System.Parts = append(b.System.Parts, encode(part{Text: t.Text}))
		}
	}
	var err error
	b.Contents, err = m.sent.Write(req, wire.Way{Keep: m.shown(), Writer: func() wire.Writer {
		return &writer{model: m, names: wire.NewNames(nil, mostName), calls: map[string]msg.ToolCall{}, own: map[string]bool{}}
	}})
	return b, err
}

// encode writes the body out.
func (m *Model) encode(b body, extra json.RawMessage) (wire.Body, error) {
	return m.optional().Encode(b, extra, wire.List{Name: "contents", Values: b.Contents.Raw(), Always: true})
}

func choice(c string, names *wire.Names) *toolConfig {
	switch c {
	case "":
		return nil
	case "none":
		return &toolConfig{callingConfig{Mode: "NONE"}}
	case "any":
		return &toolConfig{callingConfig{Mode: "ANY"}}
	}
	return &toolConfig{callingConfig{Mode: "ANY", Allowed: []string{names.Of(c)}}}
}

// Budgets that stand for effort levels on models that take a budget.
func budgetOf(effort string) int {
	switch effort {
	case "minimal":
		return 512
	case "low":
		return 2048
	case "medium":
		return 8192
	}
	return 24_576
}

func (m *Model) thinking(o provider.Options) *thinkingConfig {
	if !m.cfg.Info.Thinking {
		return nil
	}
	t := &thinkingConfig{Include: o.Thinking >= 0}
	if m.gen >= 3 {
		t.Level = strings.ToUpper(m.level(o))
		return t
	}
	switch {
	case o.Thinking > 0:
		t.Budget = &o.Thinking
	case o.Thinking < 0:
		least := 0
		if strings.Contains(m.cfg.Info.ID, "pro") {
			least = 128 // these cannot stop thinking
		}
		t.Budget = &least
	case o.Effort != "":
		budget := budgetOf(o.Effort)
		t.Budget = &budget
	}
	return t
}

// level chooses an effort level the model has: the wished one, else the next weaker, else the
// weakest. Empty: the model's default.
func (m *Model) level(o provider.Options) string {
	have := m.cfg.Info.Efforts
	if len(have) == 0 {
		have = []string{"low", "high"}
	}
	want := o.Effort
	switch {
	case o.Thinking < 0:
		want = "minimal"
	case want == "" && o.Thinking == 0:
		return ""
	case want == "" && o.Thinking <= 4_000:
		want = "low"
	case want == "" && o.Thinking <= 16_000:
		want = "medium"
	case want == "":
		want = "high"
	}
	order := []string{"minimal", "low", "medium", "high", "xhigh", "max"}
	best, reached := have[0], false
	for _, level := range order {
		for _, h := range have {
			if h == level && !reached {
				best = h
			}
		}
		reached = reached || level == want
	}
	return best
}

// Turn implements [wire.Writer].
func (w *writer) Turn(t wire.Turn) ([]json.RawMessage, error) {
	c := content{Role: "user"}
	if t.Role == msg.Assistant {
		c.Role = "model"
	}
	w.signed, w.beside = false, nil
	for _, s := range t.Content {
		if _, result := s.Block.(msg.ToolResult); !result {
			c.Parts, w.beside = append(c.Parts, w.beside...), nil
		}
		c.Parts = append(c.Parts, w.parts(s)...)
	}
	parts := append(c.Parts, w.beside...)
	c.Parts = nil
	raw, err := wire.MarshalLists(c, wire.List{Name: "parts", Values: parts, Always: true})
	return []json.RawMessage{raw}, err
}

// shown leaves out what this model cannot be shown.
func (m *Model) shown() func(wire.Said) msg.Block {
	images := m.cfg.Info.Images || m.cfg.Info.ContextWindow == 0
	documents := m.cfg.Info.Documents || m.cfg.Info.ContextWindow == 0
	return func(s wire.Said) msg.Block {
		switch b := s.Block.(type) {
		case msg.Thinking:
			// The summary is of no use without its signature.
			if b.Provider != Name || b.Signature == "" || b.Thinking == "" || !m.said(s) {
				return nil
			}
		case msg.RedactedThinking:
			return nil
		case msg.Unknown:
			if b.Kind != wire.GeminiPart || !m.said(s) {
				return nil
			}
		case msg.Image, msg.Document:
			return readable([]msg.Block{b}, images, documents)[0]
		case msg.ToolResult:
			b.Content = readable(b.Content, images, documents)
			return b
		}
		return s.Block
	}
}

// readable also replaces what is only a URL: the service fetches none.
func readable(blocks []msg.Block, images, documents bool) []msg.Block {
	out := append([]msg.Block(nil), wire.Readable(blocks, images, documents)...)
	for i, b := range out {
		switch b := b.(type) {
		case msg.Image:
			if b.URL != "" {
				out[i] = wire.Note(b)
			}
		case msg.Document:
			if b.URL != "" {
				out[i] = wire.Note(b)
			}
		}
	}
	return out
}

// said reports whether this model said a block.
func (m *Model) said(s wire.Said) bool {
	return s.Model == "" || wire.SameModel(s.Model, m.cfg.Info.ID)
}

// writer writes parts and remembers the calls.
type writer struct {
	model  *Model
	names  *wire.Names
	calls  map[string]msg.ToolCall
	own    map[string]bool // calls this service gave an id
	signed bool            // the first call of this turn was written
	// beside is what results show beside text, for models that take it only behind all results.
	beside []json.RawMessage
}

func (w *writer) parts(s wire.Said) []json.RawMessage {
	switch b := s.Block.(type) {
	case msg.Text:
		return []json.RawMessage{encode(part{Text: b.Text})}
	case msg.Thinking:
		return []json.RawMessage{encode(part{Text: b.Thinking, Thought: true, Signature: b.Signature})}
	case msg.ToolCall:
		return []json.RawMessage{encode(w.call(b, s))}
	case msg.ToolResult:
		return w.result(b)
	case msg.Image:
		return []json.RawMessage{encode(part{Inline: &blob{b.MediaType, b.Data}})}
	case msg.Document:
		return []json.RawMessage{encode(part{Inline: &blob{b.MediaType, b.Data}})}
	case msg.Unknown:
		var held struct {
			Part json.RawMessage `json:"part"`
		}
		if json.Unmarshal(b.Raw, &held) == nil && len(held.Part) > 0 {
			return []json.RawMessage{wire.Object(held.Part)}
		}
	}
	return nil
}

func (w *writer) call(b msg.ToolCall, s wire.Said) part {
	own := w.model.said(s) && b.Signature != "" || s.Model != "" && w.model.said(s)
	w.calls[b.ID] = b
	w.own[b.ID] = own && !strings.HasPrefix(b.ID, madeUp)
	p := part{Call: &functionCall{Name: w.names.Of(b.Name), Args: wire.Object(b.Input)}}
	if w.own[b.ID] {
		p.Call.ID = b.ID
	}
	if own {
		p.Signature = b.Signature
	}
	if p.Signature == "" && w.model.gen >= 3 && !w.signed {
		p.Signature = anySignature
	}
	w.signed = true
	return p
}

func (w *writer) result(r msg.ToolResult) []json.RawMessage {
	text := msg.TextOf(r.Content)
	key := "output"
	if r.IsError {
		key = "error"
	}
	resp := &functionResp{Name: w.names.Of(w.calls[r.CallID].Name), Response: map[string]string{key: text}}
	if w.own[r.CallID] {
		resp.ID = r.CallID
	}
	for _, b := range r.Content {
		var p part
		switch b := b.(type) {
		case msg.Image:
			p.Inline = &blob{b.MediaType, b.Data}
		case msg.Document:
			p.Inline = &blob{b.MediaType, b.Data}
		default:
			continue
		}
		if w.model.gen >= 3 {
			resp.Parts = append(resp.Parts, p)
		} else {
			w.beside = append(w.beside, encode(p))
		}
	}
	return []json.RawMessage{encode(part{Response: resp})}
}

// encode writes what always can be written: the raw parts were made valid before.
func encode(p part) json.RawMessage {
	raw, err := wire.Marshal(p)
	if err != nil {
		return json.RawMessage(`{"text":"[a part that could not be written]"}`)
	}
	return raw
}
