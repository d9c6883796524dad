package fakeapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// FuzzRead reads any body as a request of every interface: it is accepted or refused with a reason.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":[` + say + `]},{"role":"assistant","content":[` + call + `]},{"role":"user","content":[` + result + `]}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"\ud83d\ude00"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}]}`))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]},{"type":"reasoning","id":"rs_1"},{"type":"function_call"}]}`))
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"x"},{"inlineData":{}}]},{"role":"model","parts":[{"functionCall":{"name":"a"}}]},{"role":"user","parts":[{"functionResponse":{"response":{}}}]}]}`))
	f.Add([]byte(`{"a":"\u`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, api := range APIs() {
			d := map[API]dialect{
				Anthropic: dialectOf(anthropicAPI{}), OpenAIChat: dialectOf(chatAPI{}), OpenAIResponses: dialectOf(responsesAPI{}), Gemini: dialectOf(geminiAPI{}),
			}[api]
			r := httptest.NewRequest(http.MethodPost, path(api), nil)
			r.Header.Set("Anthropic-Version", "2023-06-01")
			a, refused := d.read(incoming{http: r, path: path(api), body: body, model: provider.Info{ContextWindow: 1000, MaxOutput: 100}})
			if refused == nil && len(a.req.Messages) == 0 && len(a.req.System) == 0 {
				t.Errorf("%s: nothing was asked, and it is accepted: %s", api, body)
			}
			if refused != nil && (refused.message == "" || refused.status < 400) {
				t.Errorf("%s: refused without a reason: %+v", api, refused)
			}
		}
	})
}
