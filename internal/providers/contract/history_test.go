package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http/httptest"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/gemini"
	"github.com/myelin-agent/myelin/internal/providers/openai"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// asked is one model of one service, and how its own blocks look.
type asked struct {
	name string
	api  fakeapi.API
	ref  string // what messages it said carry as Model
	open func(url string) provider.Model
}

func models() []asked {
	info := func(p, id string) provider.Info {
		return provider.Info{Provider: p, ID: id, ContextWindow: 10_000_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true, Efforts: []string{"low", "medium", "high"}}
	}
	blind := info("openai", "local-model")
	blind.Images, blind.Documents, blind.Thinking = false, false, false
	claude := func(id string) func(string) provider.Model {
		return func(url string) provider.Model {
			return anthropic.New(anthropic.Config{Info: info("anthropic", id), BaseURL: url, APIKey: "key"})
		}
	}
	google := func(id string) func(string) provider.Model {
		return func(url string) provider.Model {
			return gemini.New(gemini.Config{Info: info("gemini", id), BaseURL: url, APIKey: "key"})
		}
	}
	return []asked{
		{"sonnet 4.5", fakeapi.Anthropic, "anthropic/claude-sonnet-4-5", claude("claude-sonnet-4-5")},
		{"opus 4.6", fakeapi.Anthropic, "anthropic/claude-opus-4-6", claude("claude-opus-4-6")},
		{"opus 5.5", fakeapi.Anthropic, "anthropic/claude-opus-5-5", claude("claude-opus-5-5")},
		{"sonnet 5.5", fakeapi.Anthropic, "anthropic/claude-sonnet-5-5", claude("claude-sonnet-5-5")},
		{"responses", fakeapi.OpenAIResponses, "openai/gpt-5", func(url string) provider.Model {
			return openai.New(openai.Config{Info: info("openai", "gpt-5"), API: openai.Responses, BaseURL: url + "/v1", APIKey: "key"})
		}},
		{"chat", fakeapi.OpenAIChat, "openai/gpt-5", func(url string) provider.Model {
			return openai.New(openai.Config{Info: info("openai", "gpt-5"), API: openai.Chat, Dialect: openai.OpenAIChat(), BaseURL: url + "/v1", APIKey: "key"})
		}},
		{"chat without eyes", fakeapi.OpenAIChat, "openai/local-model", func(url string) provider.Model {
			return openai.New(openai.Config{Info: blind, BaseURL: url + "/v1", APIKey: "key"})
		}},
		{"gemini 3", fakeapi.Gemini, "gemini/gemini-3-flash-preview", google("gemini-3-flash-preview")},
		{"gemini 2.5", fakeapi.Gemini, "gemini/gemini-2.5-pro", google("gemini-2.5-pro")},
	}
}

// Any history, made sendable, is accepted by every service: whatever was said by whom, however it
// broke off, and whoever goes on with it.
func TestSendableHistoriesAreNeverRefused(t *testing.T) {
	for _, m := range models() {
		t.Run(m.name, func(t *testing.T) {
			model := serve(t, m)
			rapid.Check(t, func(t *rapid.T) {
				history := drawHistory(t)
				req := contract.Request()
				req.Messages = msg.Sendable(history, msg.Bounds{})
				if req.Messages == nil {
					return
				}
				req.Options = drawOptions(t)
				a, err := contract.Check(model.Stream(t.Context(), req))
				if err != nil {
					t.Fatal(err)
				}
				if a.Err != nil {
					t.Fatalf("refused: %v\noptions %+v\nmessages %s", a.Err, req.Options, show(req.Messages))
				}
			})
		})
	}
}

func show(messages []msg.Message) string {
	raw, err := json.MarshalIndent(messages, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func serve(t testing.TB, m asked) provider.Model {
	t.Helper()
	s, err := script.Parse("loop.yaml", []byte("model: {id: m, context_window: 10000000, max_output: 64000}\nturns:\n  - content: [{text: ok}]\nloop: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := fakeapi.New(fakeapi.Config{API: m.api, Script: s, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return m.open(server.URL)
}

func drawOptions(t *rapid.T) provider.Options {
	return provider.Options{
		Thinking:   rapid.SampledFrom([]int{0, -1, 2000, 50_000}).Draw(t, "thinking"),
		Effort:     rapid.SampledFrom([]string{"", "low", "max"}).Draw(t, "effort"),
		ToolChoice: rapid.SampledFrom([]string{"", "", "none", "any", "Bash"}).Draw(t, "choice"),
		MaxTokens:  rapid.SampledFrom([]int{0, 1, 100, 5000}).Draw(t, "max"),
		NoStream:   rapid.Bool().Draw(t, "whole"),
		NoCache:    rapid.Bool().Draw(t, "no cache"),
		SessionID:  rapid.SampledFrom([]string{"", "6f1c9a52-0d0b-4f0a-9f0e-0c5c6c1d2e3f"}).Draw(t, "session"),
	}
}

// drawHistory draws what a transcript may hold: blocks of several models, one a message, results
// out of order, doubled or missing, ids of any kind, text that is no UTF-8.
func drawHistory(t *rapid.T) []msg.Message {
	n := rapid.IntRange(1, 14).Draw(t, "messages")
	out := make([]msg.Message, 0, n)
	for i := range n {
		m := msg.Message{Role: msg.User}
		if rapid.Bool().Draw(t, "assistant") {
			m.Role = msg.Assistant
			m.Model = rapid.SampledFrom([]string{"", "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5-5", "openai/gpt-5", "gemini/gemini-3-flash-preview", "gemini/gemini-2.5-pro", "script/scripted"}).Draw(t, "model")
			m.Response = rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "response")
		} else if rapid.Bool().Draw(t, "from tool") {
			m.Origin = msg.FromTool
		}
		for range rapid.IntRange(0, 4).Draw(t, "blocks") {
			m.Content = append(m.Content, drawBlock(t, m, i))
		}
		out = append(out, m)
	}
	return out
}

var texts = []string{
	"", " ", "\n\t", "hello", "wörld 😀", "half \xf0\x9f", "lone \xed\xa0\xbd surrogate", "nul \x00 and \x1b[31m", "<b>&amp;</b>", "Error: no", "\u2028\uFEFF",
}

var ids = []string{
	"", "a", "toolu_01", "toolu_01", "call_1", "functions.Bash:0", "with space", "ünïcode", "gemini-1", "fc_2",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy",
}

var inputs = []string{`{}`, `{"command":"ls"}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}", `{"a":[1,{"b":null}]}`, `[1]`, `{"cut": "of`, ``, `{"big":123456789012345678901234567890}`}

func drawBlock(t *rapid.T, m msg.Message, i int) msg.Block {
	text := rapid.SampledFrom(texts).Draw(t, "text")
	id := rapid.SampledFrom(ids).Draw(t, "id")
	switch rapid.IntRange(0, 10).Draw(t, "kind") {
	case 0, 1:
		return msg.Text{Text: text}
	case 2, 3:
		call := msg.ToolCall{ID: id, Name: rapid.SampledFrom([]string{"Bash", "", "mcp__server__a.tool with a very long name that no service would ever take as it is", "9lives"}).Draw(t, "name"), Input: json.RawMessage(rapid.SampledFrom(inputs).Draw(t, "input"))}
		if m.Model == "gemini/gemini-3-flash-preview" {
			call.Signature = "Z2Vt" + fakeapi.Sign("call")
		}
		return call
	case 4, 5:
		return msg.ToolResult{CallID: id, IsError: rapid.Bool().Draw(t, "error"), Content: drawResult(t)}
	case 6:
		return drawThinking(t, m, i)
	case 7:
		return msg.RedactedThinking{Data: text, Provider: rapid.SampledFrom([]string{"", "anthropic", "openai"}).Draw(t, "whose")}
	case 8:
		return drawImage(t)
	case 9:
		return msg.Document{MediaType: "text/plain", Data: []byte("words"), Title: text}
	}
	return msg.Unknown{Kind: "web_search_call", Provider: "openai", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed"}`)}
}

func drawResult(t *rapid.T) (out []msg.Block) {
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		if rapid.Bool().Draw(t, "image") {
			out = append(out, drawImage(t))
		} else {
			out = append(out, msg.Text{Text: rapid.SampledFrom(texts).Draw(t, "result")})
		}
	}
	return out
}

func drawImage(t *rapid.T) msg.Block {
	switch rapid.IntRange(0, 3).Draw(t, "picture") {
	case 0:
		return msg.Image{URL: "https://example.com/a.png"}
	case 1:
		return msg.Image{MediaType: "image/png", Data: []byte("no picture")}
	case 2:
		return msg.Image{MediaType: "image/jpeg", Data: picture()} // a wrong type
	}
	return msg.Image{MediaType: "image/png", Data: picture()}
}

func picture() []byte {
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// drawThinking draws thinking as the model of the message would have signed it, and thinking that
// cannot be shown to anybody.
func drawThinking(t *rapid.T, m msg.Message, i int) msg.Block {
	text := fmt.Sprintf("thought %d", i)
	switch m.Model {
	case "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5-5":
		return msg.Thinking{Thinking: text, Signature: fakeapi.Sign(text), Provider: "anthropic"}
	case "openai/gpt-5":
		item := fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[{"type":"summary_text","text":%q}],"encrypted_content":%q}`, i, text, fakeapi.Sign(text))
		return msg.Thinking{Thinking: text, Provider: "openai", Data: json.RawMessage(item)}
	case "gemini/gemini-3-flash-preview":
		return msg.Thinking{Thinking: text, Signature: "Z2Vt" + fakeapi.Sign("call"), Provider: "gemini"}
	}
	return msg.Thinking{Thinking: text, Provider: rapid.SampledFrom([]string{"", "other"}).Draw(t, "thinker")}
}
