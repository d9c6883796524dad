package conformance

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	ours "github.com/myelin-agent/myelin/internal/providers/openai"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

func openAIInfo() provider.Info {
	return provider.Info{Provider: "openai", ID: "gpt-5", ContextWindow: 200_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true, Efforts: []string{"low", "medium", "high"}}
}

func sdk(client option.RequestOption) openai.Client {
	return openai.NewClient(option.WithAPIKey("key"), option.WithMaxRetries(0), client)
}

func TestResponsesStreams(t *testing.T) {
	for name, body := range streams(t, fakeapi.OpenAIResponses, "../../providers/openai/testdata/responses.sse") {
		t.Run(name, func(t *testing.T) {
			client := sdk(option.WithHTTPClient(canned(body)))
			stream := client.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "m"})
			var final responses.Response
			for stream.Next() {
				switch e := stream.Current().AsAny().(type) {
				case responses.ResponseCompletedEvent:
					final = e.Response
				case responses.ResponseIncompleteEvent:
					final = e.Response
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			want := responseBySDK(t, final)
			got := hear(t, ours.New(ours.Config{Info: openAIInfo(), API: ours.Responses, APIKey: "key", HTTP: canned(body)}))
			got.stop, got.usage.WebSearches = "", 0 // the SDK counts no searches and has no word for the stop
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(understood{})); diff != "" {
				t.Errorf("the SDK and our client differ (-SDK +ours):\n%s", diff)
			}
		})
	}
}

func responseBySDK(t *testing.T, r responses.Response) understood {
	t.Helper()
	out := understood{id: r.ID, model: string(r.Model)}
	d := r.Usage.InputTokensDetails
	out.usage = msg.Usage{
		Input: int(r.Usage.InputTokens - d.CachedTokens - d.CacheWriteTokens), Output: int(r.Usage.OutputTokens),
		CacheRead: int(d.CachedTokens), CacheWrite: int(d.CacheWriteTokens), Thinking: int(r.Usage.OutputTokensDetails.ReasoningTokens),
	}
	for _, item := range r.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			for _, c := range item.Content {
				out.blocks = append(out.blocks, "text "+c.Text+c.Refusal)
			}
		case responses.ResponseReasoningItem:
			text := ""
			for i, s := range item.Summary {
				if i > 0 {
					text += "\n\n"
				}
				text += s.Text
			}
			out.blocks = append(out.blocks, "thinking "+text+" ")
		case responses.ResponseFunctionToolCall:
			out.blocks = append(out.blocks, "call "+item.CallID+" "+item.Name+" "+canonical(t, []byte(item.Arguments)))
		case responses.ResponseFunctionWebSearch:
			out.blocks = append(out.blocks, "other web_search_call")
		default:
			t.Errorf("the SDK knows the item as %T", item)
		}
	}
	return out
}

func TestChatStreams(t *testing.T) {
	for name, body := range streams(t, fakeapi.OpenAIChat, "") {
		t.Run(name, func(t *testing.T) {
			client := sdk(option.WithHTTPClient(canned(body)))
			stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "m"})
			var all openai.ChatCompletionAccumulator
			for stream.Next() {
				if !all.AddChunk(stream.Current()) {
					t.Fatal("the SDK cannot add a chunk")
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			want := understood{id: all.ID, model: all.Model}
			d := all.Usage.PromptTokensDetails
			want.usage = msg.Usage{
				Input: int(all.Usage.PromptTokens - d.CachedTokens - d.CacheWriteTokens), Output: int(all.Usage.CompletionTokens),
				CacheRead: int(d.CachedTokens), CacheWrite: int(d.CacheWriteTokens), Thinking: int(all.Usage.CompletionTokensDetails.ReasoningTokens),
			}
			m := all.Choices[0].Message
			if m.Content != "" {
				want.blocks = append(want.blocks, "text "+m.Content)
			}
			for _, c := range m.ToolCalls {
				want.blocks = append(want.blocks, "call "+c.ID+" "+c.Function.Name+" "+canonical(t, []byte(c.Function.Arguments)))
			}
			got := hear(t, ours.New(ours.Config{Info: openAIInfo(), API: ours.Chat, APIKey: "key", HTTP: canned(body)}))
			got.stop = ""
			got.blocks = without(got.blocks, "thinking ") // the SDK does not know reasoning_content
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(understood{})); diff != "" {
				t.Errorf("the SDK and our client differ (-SDK +ours):\n%s", diff)
			}
		})
	}
}

func TestOpenAIBodies(t *testing.T) {
	for name, o := range options() {
		t.Run(name, func(t *testing.T) {
			req := contract.Conversation(fakeapi.Sign)
			req.Options = o
			body := sent(t, func(c clientAndURL) provider.Model {
				return ours.New(ours.Config{Info: openAIInfo(), API: ours.Responses, APIKey: "key", HTTP: c.client, BaseURL: c.url})
			}, req)
			// The SDK can write a named choice but not read it: it is compared with what it writes.
			body, choice := member(t, body, "tool_choice")
			if o.ToolChoice == "Bash" {
				same(t, choice, responses.ResponseNewParamsToolChoiceUnion{OfFunctionTool: &responses.ToolChoiceFunctionParam{Name: "Bash"}})
			}
			var params responses.ResponseNewParams
			if err := json.Unmarshal(body, &params); err != nil {
				t.Fatal(err)
			}
			same(t, body, params, "stream")

			body = sent(t, func(c clientAndURL) provider.Model {
				return ours.New(ours.Config{Info: openAIInfo(), API: ours.Chat, Dialect: ours.OpenAIChat(), APIKey: "key", HTTP: c.client, BaseURL: c.url})
			}, req)
			if body, choice = member(t, body, "tool_choice"); o.ToolChoice == "Bash" {
				same(t, choice, openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "Bash"}))
			}
			var chat openai.ChatCompletionNewParams
			if err := json.Unmarshal(body, &chat); err != nil {
				t.Fatal(err)
			}
			same(t, body, chat, "stream")
		})
	}
}

func TestOpenAIErrors(t *testing.T) {
	url := fake(t, fakeapi.OpenAIChat, "turns:\n  - error: {status: 429, type: rate_limit_error, message: slow}\nloop: true\n")
	client := sdk(option.WithBaseURL(url + "/v1"))
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}})
	var refused *openai.Error
	if !as(err, &refused) || refused.StatusCode != 429 || refused.Message != "slow" {
		t.Errorf("the SDK reads the fake server's error as %v", err)
	}
}
