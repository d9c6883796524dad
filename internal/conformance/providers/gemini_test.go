package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	ours "github.com/myelin-agent/myelin/internal/providers/gemini"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

func geminiInfo() provider.Info {
	return provider.Info{Provider: "gemini", ID: "gemini-3-pro-preview", ContextWindow: 1_000_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true}
}

func TestGeminiStreams(t *testing.T) {
	for name, body := range streams(t, fakeapi.Gemini, "../../providers/gemini/testdata/stream.sse") {
		t.Run(name, func(t *testing.T) {
			client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: canned(body)})
			if err != nil {
				t.Fatal(err)
			}
			var want understood
			for r, err := range client.Models.GenerateContentStream(t.Context(), "gemini-3-pro-preview", genai.Text("hi"), nil) {
				if err != nil {
					t.Fatal(err)
				}
				want.id, want.model = r.ResponseID, r.ModelVersion
				if u := r.UsageMetadata; u != nil {
					want.usage = msg.Usage{
						Input: int(u.PromptTokenCount - u.CachedContentTokenCount), CacheRead: int(u.CachedContentTokenCount),
						Output: int(u.CandidatesTokenCount + u.ThoughtsTokenCount), Thinking: int(u.ThoughtsTokenCount),
					}
				}
				for _, c := range r.Candidates {
					if c.Content == nil {
						continue
					}
					for _, p := range c.Content.Parts {
						want.blocks = addPart(t, want.blocks, p)
					}
				}
			}
			got := hear(t, ours.New(ours.Config{Info: geminiInfo(), APIKey: "key", HTTP: canned(body)}))
			got.stop, got.usage.WebSearches = "", 0
			got.blocks = withoutIDs(got.blocks)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(understood{})); diff != "" {
				t.Errorf("the SDK and our client differ (-SDK +ours):\n%s", diff)
			}
		})
	}
}

// addPart joins what belongs together, as our client does.
func addPart(t *testing.T, blocks []string, p *genai.Part) []string {
	t.Helper()
	switch {
	case p.FunctionCall != nil:
		args, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			t.Fatal(err)
		}
		if p.FunctionCall.Args == nil {
			args = []byte("{}")
		}
		return append(blocks, "call "+p.FunctionCall.Name+" "+canonical(t, args)+" "+base64.StdEncoding.EncodeToString(p.ThoughtSignature))
	case p.ExecutableCode != nil:
		return append(blocks, "other gemini_part")
	case p.Text == "":
		return blocks
	}
	kind := "text "
	if p.Thought {
		kind = "thinking "
	}
	if n := len(blocks); n > 0 && len(blocks[n-1]) >= len(kind) && blocks[n-1][:len(kind)] == kind {
		blocks[n-1] += p.Text
		return blocks
	}
	return append(blocks, kind+p.Text)
}

// geminiBody is the request in the SDK's types.
type geminiBody struct {
	Contents          []*genai.Content        `json:"contents"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
}

func TestGeminiBodies(t *testing.T) {
	for name, o := range options() {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{"gemini-3-pro-preview", "gemini-2.5-pro"} {
				info := geminiInfo()
				info.ID = id
				req := contract.Conversation(fakeapi.Sign)
				req.Options = o
				body := sent(t, func(c clientAndURL) provider.Model {
					return ours.New(ours.Config{Info: info, APIKey: "key", HTTP: c.client, BaseURL: c.url})
				}, req)
				// The documented word for foreign calls is no base64 of the kind Go's SDK reads.
				const skip = "skip_thought_signature_validator"
				body = bytes.ReplaceAll(body, []byte(skip), []byte(base64.StdEncoding.EncodeToString([]byte(skip))))
				var params geminiBody
				d := json.NewDecoder(bytes.NewReader(body))
				d.DisallowUnknownFields()
				if err := d.Decode(&params); err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				same(t, body, params, "args") // the SDK leaves out empty objects
			}
		})
	}
}

func TestGeminiErrors(t *testing.T) {
	url := fake(t, fakeapi.Gemini, "turns:\n  - error: {status: 429, type: x, message: slow}\nloop: true\n")
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Models.GenerateContent(t.Context(), "gemini-3-pro-preview", genai.Text("hi"), nil)
	var refused genai.APIError
	if !as(err, &refused) || refused.Code != 429 || refused.Status != "RESOURCE_EXHAUSTED" {
		t.Errorf("the SDK reads the fake server's error as %v", err)
	}
}
