package conformance

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	ours "github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

func anthropicInfo() provider.Info {
	return provider.Info{Provider: "anthropic", ID: "claude-sonnet-4-5", ContextWindow: 200_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true}
}

// bySDK is what Anthropic's SDK makes of a response, in our words.
func bySDK(t *testing.T, m anthropic.Message) understood {
	t.Helper()
	out := understood{id: m.ID, model: string(m.Model), stop: msg.Stop(m.StopReason)}
	out.usage = msg.Usage{
		Input: int(m.Usage.InputTokens), Output: int(m.Usage.OutputTokens),
		CacheRead: int(m.Usage.CacheReadInputTokens), CacheWrite: int(m.Usage.CacheCreationInputTokens),
	}
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case anthropic.TextBlock:
			out.blocks = append(out.blocks, "text "+b.Text)
		case anthropic.ThinkingBlock:
			out.blocks = append(out.blocks, "thinking "+b.Thinking+" "+b.Signature)
		case anthropic.RedactedThinkingBlock:
			out.blocks = append(out.blocks, "redacted_thinking "+b.Data)
		case anthropic.ToolUseBlock:
			out.blocks = append(out.blocks, "call "+b.ID+" "+b.Name+" "+canonical(t, b.Input))
		default:
			out.blocks = append(out.blocks, "other "+m.Content[len(out.blocks)].Type)
		}
	}
	return out
}

func TestAnthropicStreams(t *testing.T) {
	for name, body := range streams(t, fakeapi.Anthropic, "../../providers/anthropic/testdata/stream.sse") {
		t.Run(name, func(t *testing.T) {
			client := anthropic.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(canned(body)), option.WithMaxRetries(0))
			stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: "m", MaxTokens: 10})
			var m anthropic.Message
			for stream.Next() {
				if err := m.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			got := hear(t, ours.New(ours.Config{Info: anthropicInfo(), APIKey: "key", HTTP: canned(body)}))
			// The SDK knows these parts of the usage under other names or not at all.
			got.usage.CacheWrite1h, got.usage.Thinking, got.usage.WebSearches = 0, 0, 0
			if diff := cmp.Diff(bySDK(t, m), got, cmp.AllowUnexported(understood{})); diff != "" {
				t.Errorf("the SDK and our client differ (-SDK +ours):\n%s", diff)
			}
		})
	}
}

func TestAnthropicErrors(t *testing.T) {
	url := fake(t, fakeapi.Anthropic, "turns:\n  - error: {status: 529, type: overloaded_error, message: busy}\nloop: true\n")
	client := anthropic.NewClient(option.WithAPIKey("key"), option.WithBaseURL(url), option.WithMaxRetries(0))
	_, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "m", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
	})
	var refused *anthropic.Error
	if !as(err, &refused) || refused.StatusCode != 529 {
		t.Errorf("the SDK reads the fake server's error as %v", err)
	}
}

func TestAnthropicBodies(t *testing.T) {
	for name, o := range options() {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{"claude-sonnet-4-5", "claude-opus-5-5"} {
				info := anthropicInfo()
				info.ID = id
				req := contract.Conversation(fakeapi.Sign)
				req.Options = o
				body := sent(t, func(c clientAndURL) provider.Model {
					return ours.New(ours.Config{Info: info, APIKey: "key", HTTP: c.client, BaseURL: c.url})
				}, req)
				// The stable type does not know how thinking is bound; the beta type knows all.
				var params anthropic.BetaMessageNewParams
				if err := json.Unmarshal(body, &params); err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				same(t, body, params, "stream")
			}
		})
	}
}
