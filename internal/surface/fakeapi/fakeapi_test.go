package fakeapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func serve(t testing.TB, cfg Config, text string) (*Server, string) {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Script = s
	fake, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, server.URL
}

// answer is a response read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func post(t testing.TB, url, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(raw), err}
}

const hello = "model: {id: m, context_window: 2000, max_output: 1000}\nturns:\n  - content: [{text: hello}]\n    usage: {input: 7, output: 3, cache_read: 2, cache_write: 1}\nloop: true\n"

// paths are where requests go.
func path(api API) string {
	switch api {
	case Anthropic:
		return "/v1/messages"
	case OpenAIChat:
		return "/v1/chat/completions"
	case OpenAIResponses:
		return "/v1/responses"
	}
	return "/v1beta/models/gemini-3-pro:generateContent"
}

// message is an error's text, in whichever shape.
func message(t testing.TB, a answer) string {
	t.Helper()
	var in struct {
		Type  string `json:"type"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.body), &in); err != nil {
		t.Fatalf("%d %q: %v", a.status, a.body, err)
	}
	return in.Error.Message
}

func pictureOf(width, height int) string {
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	raw, _ := json.Marshal(buf.Bytes())
	return string(raw)
}

func TestGoodRequestsAreAccepted(t *testing.T) {
	for api, body := range map[API]string{
		Anthropic:       `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`,
		OpenAIChat:      `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		OpenAIResponses: `{"model":"m","input":"hi"}`,
		Gemini:          `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
	} {
		fake, url := serve(t, Config{API: api}, hello)
		a := post(t, url+path(api), body)
		if a.status != 200 || !strings.Contains(a.body, "hello") {
			t.Errorf("%s: %d %s", api, a.status, a.body)
		}
		if want := (msg.Usage{Input: 7, Output: 3, CacheRead: 2, CacheWrite: 1}); fake.Ledger()[fake.Requests()[0].Model] != want {
			t.Errorf("%s: ledger %+v", api, fake.Ledger())
		}
	}
}

// user and assistant are messages of the Messages API; call and result blocks of it.
func user(content string) string { return `{"role":"user","content":[` + content + `]}` }

func assistant(content string) string { return `{"role":"assistant","content":[` + content + `]}` }

const (
	say    = `{"type":"text","text":"x"}`
	call   = `{"type":"tool_use","id":"a","name":"Bash","input":{}}`
	result = `{"type":"tool_result","tool_use_id":"a"}`
)

func TestAnthropicRefuses(t *testing.T) {
	messages := func(m ...string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[` + strings.Join(m, ",") + `]}`
	}
	with := func(fields string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"}],` + fields + `}`
	}
	model := func(id, fields string) string {
		return `{"model":"` + id + `","max_tokens":10,"messages":[{"role":"user","content":"hi"}],` + fields + `}`
	}
	img := func(data string) string {
		return `{"type":"image","source":{"type":"base64","media_type":"image/png","data":` + data + `}}`
	}
	tests := []struct{ name, body, want string }{
		{"no JSON", `{`, "not valid JSON"},
		{"invalid UTF-8", messages(user("{\"type\":\"text\",\"text\":\"\xff\"}")), "UTF-8"},
		{"lone surrogate", messages(user(`{"type":"text","text":"\ud83d"}`)), "no low surrogate in string"},
		{"no model", `{"max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, "model: Field required"},
		{"no limit", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens: Field required"},
		{"limit 0", `{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`, "greater than or equal to 1"},
		{"limit too large", `{"model":"m","max_tokens":1001,"messages":[{"role":"user","content":"x"}]}`, "max_tokens: 1001 > 1000, which is the maximum allowed"},
		{"wrong type", `{"model":1,"max_tokens":10,"messages":[]}`, "model: Input should be a valid string"},
		{"unknown field", with(`"frequency_penalty":1`), "frequency_penalty: Extra inputs are not permitted"},
		{"unknown field in a block", messages(user(`{"type":"text","text":"x","malformed":"y"}`)), "messages.0.content.0.malformed: Extra inputs"},
		{"no messages", messages(), "at least one message"},
		{"assistant first", messages(assistant(say)), "first message must use the \"user\" role"},
		{"two of the user", messages(user(say), user(say)), "roles must alternate"},
		{"a system message", messages(`{"role":"system","content":"x"}`), "'user' or 'assistant'"},
		{"empty text", messages(user(`{"type":"text","text":""}`)), "text content blocks must be non-empty"},
		{"blank text", messages(user(`{"type":"text","text":" \n"}`)), "non-whitespace"},
		{"empty content", messages(user(``)), "non-empty content"},
		{"unknown block", messages(user(`{"type":"hologram"}`)), "Input tag 'hologram'"},
		{"call without a result", messages(user(say), assistant(call), user(say)), "`tool_use` ids were found without `tool_result` blocks immediately after: a"},
		{"call at the end", messages(user(say), assistant(call)), "without `tool_result`"},
		{"result without a call", messages(user(result)), "unexpected `tool_use_id`"},
		{"result twice", messages(user(say), assistant(call), user(result+","+result)), "single result"},
		{"text before the result", messages(user(say), assistant(call), user(say+","+result)), "immediately after"},
		{"two calls with one id", messages(user(say), assistant(call+","+call), user(result)), "ids must be unique"},
		{"id of odd characters", messages(user(say), assistant(`{"type":"tool_use","id":"a b","name":"x","input":{}}`), user(`{"type":"tool_result","tool_use_id":"a b"}`)), "should match pattern"},
		{"input that is no object", messages(user(say), assistant(`{"type":"tool_use","id":"a","name":"x","input":[]}`), user(result)), "valid dictionary"},
		{"call of the user", messages(user(call)), "can only be in `assistant`"},
		{"unsigned thinking", messages(user(say), assistant(`{"type":"thinking","thinking":"hm","signature":"x"},`+say), user(say)), "Invalid `signature` in `thinking` block"},
		{"thinking at the end", messages(user(say), assistant(`{"type":"thinking","thinking":"hm","signature":"`+Sign("hm")+`"}`), user(say)), "final block in an assistant message cannot be `thinking`"},
		{"broken image", messages(user(img(`"AAAA"`))), "Could not process image"},
		{"no base64", messages(user(img(`"?"`))), "Invalid base64"},
		{"too wide", messages(user(img(pictureOf(8001, 1)))), "max allowed size: 8000 pixels"},
		{"too many wide ones", messages(user(img(pictureOf(2001, 1)) + strings.Repeat(","+img(pictureOf(1, 1)), 20))), "many-image requests: 2000 pixels"},
		{"wrong image type", messages(user(strings.Replace(img(pictureOf(1, 1)), "image/png", "image/webp", 1))), "does not match the provided media type"},
		{"no PDF", messages(user(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}`)), "The PDF specified was not valid"},
		{"five breakpoints", messages(user(strings.TrimPrefix(strings.Repeat(`,{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`, 5), ","))), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"bad ttl", messages(user(`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"2h"}}`)), "ttl"},
		{"tool name", with(`"tools":[{"name":"a b","input_schema":{"type":"object"}}]`), "String should match pattern"},
		{"tool twice", with(`"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`), "Tool names must be unique"},
		{"schema of a string", with(`"tools":[{"name":"a","input_schema":{"type":"string"}}]`), "should be 'object'"},
		{"choice without tools", with(`"tool_choice":{"type":"auto"}`), "tool_choice"},
		{"choice of another tool", with(`"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"b"}`), "Tool 'b' not found"},
		{"small budget", with(`"thinking":{"type":"enabled","budget_tokens":5}`), "greater than or equal to 1024"},
		{"budget over the limit", with(`"thinking":{"type":"enabled","budget_tokens":1024}`), "must be greater than `thinking.budget_tokens`"},
		{"budget on a new model", model("claude-opus-5", `"thinking":{"type":"enabled","budget_tokens":1024}`), `"thinking.type.enabled" is not supported`},
		{"adaptive on an old model", model("claude-haiku-4-5", `"thinking":{"type":"adaptive"}`), "adaptive thinking is not supported"},
		{"off where it is always on", model("claude-opus-5-5", `"thinking":{"type":"disabled"}`), `"thinking.type.disabled" is not supported`},
		{"forced call on a new model", model("claude-opus-5-5", `"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}`), "not supported for this model"},
		{"binding without its beta", model("claude-opus-5-5", `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`), "block_binding: Extra inputs"},
		{"prefill", `{"model":"claude-opus-5","max_tokens":10,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`, "does not support assistant message prefill"},
		{"call before thinking", `{"model":"claude-sonnet-4-5","max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[]}`, "`max_tokens` must be greater"},
		{"too long", messages(user(`{"type":"text","text":"` + strings.Repeat("word ", 1700) + `"}`)), "prompt is too long: "},
		{"too long together", strings.Replace(messages(user(`{"type":"text","text":"`+strings.Repeat("word ", 1000)+`"}`)), `"max_tokens":10`, `"max_tokens":1000`, 1), "input length and `max_tokens` exceed context limit: "},
		{"server tool of nobody", with(`"tools":[{"type":"teleport_20250101","name":"x"}]`), "does not match any of the expected tags"},
	}
	fake, url := serve(t, Config{API: Anthropic}, hello)
	for _, tt := range tests {
		a := post(t, url+"/v1/messages", tt.body)
		if a.status != 400 || !strings.Contains(message(t, a), tt.want) {
			t.Errorf("%s: %d %s\nwant %q", tt.name, a.status, a.body, tt.want)
		}
	}
	if len(fake.Ledger()) != 0 {
		t.Errorf("refused requests were billed: %v", fake.Ledger())
	}
	if a := post(t, url+"/v1/messages", messages(user(say)), "Anthropic-Version: 1"); a.status != 400 {
		t.Errorf("a wrong version: %d", a.status)
	}
	if a := post(t, url+"/v1/messages", messages(user(say)), "Anthropic-Beta: sloppy"); a.status != 400 {
		t.Errorf("an unknown beta: %d", a.status)
	}
}

func TestChatRefuses(t *testing.T) {
	messages := func(m ...string) string { return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}` }
	u, system := `{"role":"user","content":"x"}`, `{"role":"system","content":"s"}`
	calls := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`
	res := `{"role":"tool","tool_call_id":"a","content":"y"}`
	tests := []struct{ name, body, want string }{
		{"no JSON", `[`, "could not parse the JSON body"},
		{"unknown field", `{"model":"m","messages":[` + u + `],"cache_control":{}}`, "Unknown parameter: 'cache_control'"},
		{"no messages", messages(), "empty array"},
		{"unknown role", messages(`{"role":"model","content":"x"}`), "Supported values are"},
		{"two of the user", messages(system, u, u), "must alternate"},
		{"empty text", messages(`{"role":"user","content":""}`), "non-empty"},
		{"no content", messages(u, `{"role":"assistant","content":null}`, u), "got null"},
		{"unanswered call", messages(u, calls, u), "must be followed by tool messages responding to each 'tool_call_id'"},
		{"unanswered call at the end", messages(u, calls), "must be followed by tool messages"},
		{"result without a call", messages(u, res), "must be a response to a preceeding message with 'tool_calls'"},
		{"result twice", messages(u, calls, res, res), "must be a response"},
		{"long id", messages(u, strings.Replace(calls, `"a"`, `"`+strings.Repeat("a", 41)+`"`, 1), strings.Replace(res, `"a"`, `"`+strings.Repeat("a", 41)+`"`, 1)), "maximum length 40, but got a string with length 41"},
		{"arguments that are no JSON", messages(u, strings.Replace(calls, `"{}"`, `"{"`, 1), res), "JSON object"},
		{"call name", messages(u, strings.Replace(calls, `"Bash"`, `"a b"`, 1), res), "pattern"},
		{"image in a result", messages(u, calls, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}`), "Supported values are: 'text'"},
		{"image of nothing", messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`), "Could not process image"},
		{"tool name", `{"model":"m","messages":[` + u + `],"tools":[{"type":"function","function":{"name":"` + strings.Repeat("a", 65) + `"}}]}`, "does not match pattern"},
		{"no tools", `{"model":"m","messages":[` + u + `],"tools":[]}`, "minimum length 1"},
		{"choice without tools", `{"model":"m","messages":[` + u + `],"tool_choice":"auto"}`, "'tool_choice' is only allowed when 'tools' are specified"},
		{"stream options", `{"model":"m","messages":[` + u + `],"stream_options":{"include_usage":true}}`, "only allowed when 'stream' is enabled"},
		{"effort", `{"model":"m","messages":[` + u + `],"reasoning_effort":"huge"}`, "Supported values"},
		{"limit", `{"model":"m","messages":[` + u + `],"max_tokens":5000}`, "supports at most 1000 completion tokens"},
		{"two limits", `{"model":"m","messages":[` + u + `],"max_tokens":5,"max_completion_tokens":5}`, "at the same time"},
		{"too long", messages(`{"role":"user","content":"` + strings.Repeat("word ", 1700) + `"}`), "maximum context length is 2000 tokens. However, your messages resulted in"},
		{"too long together", `{"model":"m","max_tokens":1000,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 1000) + `"}]}`, "in the completion)"},
	}
	_, url := serve(t, Config{API: OpenAIChat}, hello)
	for _, tt := range tests {
		if a := post(t, url+path(OpenAIChat), tt.body); a.status != 400 || !strings.Contains(message(t, a), tt.want) {
			t.Errorf("%s: %d %s\nwant %q", tt.name, a.status, a.body, tt.want)
		}
	}
}

func TestResponsesRefuses(t *testing.T) {
	input := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	u := `{"role":"user","content":[{"type":"input_text","text":"x"}]}`
	fc, out := `{"type":"function_call","call_id":"a","name":"Bash","arguments":"{}"}`, `{"type":"function_call_output","call_id":"a","output":"y"}`
	thought := func(id, text, sealed string) string {
		return `{"type":"reasoning","id":"` + id + `","summary":[{"type":"summary_text","text":"` + text + `"}],"encrypted_content":"` + sealed + `"}`
	}
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"unknown field", `{"model":"m","input":"x","max_tokens":5}`, 400, "Unknown parameter: 'max_tokens'"},
		{"small limit", `{"model":"m","input":"x","max_output_tokens":5}`, 400, "Expected a value >= 16"},
		{"large limit", `{"model":"m","input":"x","max_output_tokens":5000}`, 400, "at most 1000"},
		{"unknown item", input(u, `{"type":"thought"}`), 400, "Invalid value: 'thought'"},
		{"empty text", input(`{"role":"user","content":[{"type":"input_text","text":""}]}`), 400, "non-empty"},
		{"output text of the user", input(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), 400, "Invalid value: 'output_text'"},
		{"input text of the assistant", input(u, `{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), 400, "Invalid value: 'input_text'"},
		{"call without output", input(u, fc), 400, "No tool output found for function call a."},
		{"output without call", input(u, out), 400, "No tool call found for function call output with call_id a."},
		{"output twice", input(u, fc, out, out), 400, "Duplicate output"},
		{"call twice", input(u, fc, fc, out), 400, "Duplicate call_id"},
		{"long id", input(u, strings.ReplaceAll(fc, `"a"`, `"`+strings.Repeat("a", 65)+`"`)), 400, "maximum length 64"},
		{"reasoning alone", input(u, thought("rs_1", "x", Sign("x"))), 400, "without its required following item"},
		{"reasoning before the user", input(thought("rs_1", "x", Sign("x")), u), 400, "without its required following item"},
		{"reasoning of another", input(u, thought("rs_1", "x", "y"), fc, out), 400, "could not be verified"},
		{"reasoning without content", input(u, `{"type":"reasoning","id":"rs_1","summary":[]}`, fc, out), 404, "not persisted when `store` is set to false"},
		{"id of reasoning", input(u, thought("x", "x", Sign("x")), fc, out), 400, "begins with 'rs'"},
		{"effort", `{"model":"m","input":"x","reasoning":{"effort":"huge"}}`, 400, "Supported values"},
		{"choice", `{"model":"m","input":"x","tools":[{"type":"function","name":"a","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"b"}}`, 400, "not found in 'tools'"},
		{"too long", `{"model":"m","input":"` + strings.Repeat("word ", 1700) + `"}`, 400, "maximum context length"},
	}
	_, url := serve(t, Config{API: OpenAIResponses}, hello)
	for _, tt := range tests {
		if a := post(t, url+path(OpenAIResponses), tt.body); a.status != tt.status || !strings.Contains(message(t, a), tt.want) {
			t.Errorf("%s: %d %s\nwant %q", tt.name, a.status, a.body, tt.want)
		}
	}
}

func TestGeminiRefuses(t *testing.T) {
	contents := func(c ...string) string { return `{"contents":[` + strings.Join(c, ",") + `]}` }
	u := `{"role":"user","parts":[{"text":"x"}]}`
	calls := func(signature string) string {
		return `{"role":"model","parts":[{"functionCall":{"name":"Bash","args":{}}` + signature + `}]}`
	}
	signed := calls(`,"thoughtSignature":"` + signatureSkip + `"`)
	res := `{"role":"user","parts":[{"functionResponse":{"name":"Bash","response":{"output":"y"}}}]}`
	tests := []struct{ name, body, want string }{
		{"no JSON", `{`, "Invalid JSON payload"},
		{"unknown field", `{"contents":[` + u + `],"messages":[]}`, `Unknown name "messages"`},
		{"no contents", contents(), "contents is not specified"},
		{"role", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "valid role: user, model"},
		{"two of the user", contents(u, u), "alternate"},
		{"no parts", contents(`{"role":"user","parts":[]}`), "at least one parts field"},
		{"empty text", contents(`{"role":"user","parts":[{"text":""}]}`), "must have one initialized field"},
		{"two in one", contents(`{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":""}}]}`), "must have one initialized field"},
		{"call without response", contents(u, signed, u), "number of function response parts is equal to the number of function call parts"},
		{"response without call", contents(res), "number of function response parts"},
		{"call at the end", contents(u, signed), "function call turn comes immediately after"},
		{"another name", contents(u, signed, strings.Replace(res, "Bash", "Other", 1)), "function response name"},
		{"another id", contents(u, strings.Replace(signed, `{"name"`, `{"id":"1","name"`, 1), strings.Replace(res, `{"name"`, `{"id":"2","name"`, 1)), `the id "2"`},
		{"unsigned call", contents(u, calls(""), res), "missing a thought_signature in functionCall parts"},
		{"signature of another", contents(u, calls(`,"thoughtSignature":"AAAA"`), res), "Thought signature is not valid"},
		{"function name", `{"contents":[` + u + `],"tools":[{"functionDeclarations":[{"name":"1a"}]}]}`, "Invalid function name"},
		{"schema words Google has not", `{"contents":[` + u + `],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"object","additionalProperties":false}}]}]}`, `Unknown name "additionalProperties"`},
		{"budget and level", `{"contents":[` + u + `],"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"low"}}}`, "only set one of"},
		{"limit", `{"contents":[` + u + `],"generationConfig":{"maxOutputTokens":5000}}`, "maxOutputTokens value of 5000"},
		{"allowed names in auto", `{"contents":[` + u + `],"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["a"]}}}`, "without function_calling_config.mode ANY"},
		{"too long", contents(`{"role":"user","parts":[{"text":"` + strings.Repeat("word ", 1700) + `"}]}`), "exceeds the maximum number of tokens allowed (2000)"},
	}
	_, url := serve(t, Config{API: Gemini}, hello)
	for _, tt := range tests {
		if a := post(t, url+path(Gemini), tt.body); a.status != 400 || !strings.Contains(message(t, a), tt.want) {
			t.Errorf("%s: %d %s\nwant %q", tt.name, a.status, a.body, tt.want)
		}
	}
	old := strings.Replace(path(Gemini), "gemini-3-pro", "gemini-2.5-pro", 1)
	if a := post(t, url+old, contents(u, calls(""), res)); a.status != 200 {
		t.Errorf("an older model refused an unsigned call: %s", a.body)
	}
	if a := post(t, url+strings.Replace(path(Gemini), "generateContent", "streamGenerateContent", 1), contents(u)); a.status != 400 {
		t.Errorf("a stream without alt=sse: %d", a.status)
	}
}

func TestKeys(t *testing.T) {
	body := `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	_, url := serve(t, Config{API: Anthropic, Key: "right"}, hello)
	for header, want := range map[string]int{"Authorization: Bearer right": 200, "Authorization: Bearer wrong": 401, "Authorization: ": 401, "X-Api-Key: right": 200} {
		if a := post(t, url+"/v1/messages", body, header); a.status != want {
			t.Errorf("%s: %d, want %d", header, a.status, want)
		}
	}
}

func TestABodyOfTooManyBytes(t *testing.T) {
	_, url := serve(t, Config{API: Anthropic}, hello)
	a := post(t, url+"/v1/messages", `{"x":"`+strings.Repeat("x", maxBody)+`"}`)
	if a.status != 413 || !strings.Contains(a.body, "request_too_large") {
		t.Errorf("%d %.200s", a.status, a.body)
	}
}

func TestScriptsDecide(t *testing.T) {
	body := `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	const text = `
turns:
  - error: {status: 529, type: overloaded_error, message: busy, retry_after: 3}
  - raw: "event: odd\ndata: {}\n\n"
  - {content: [{text: abcdef}], chunk: 2, then: drop}
  - {expect: {contains: ["something else"]}, content: [{text: never}]}
lanes:
  title: [{content: [{text: "A title"}]}]
`
	fake, url := serve(t, Config{API: Anthropic}, text)
	ask := func(headers ...string) answer { return post(t, url+"/v1/messages", body, headers...) }
	if a := ask(); a.status != 529 || a.header.Get("Retry-After") != "3" || !strings.Contains(a.body, `"overloaded_error"`) {
		t.Errorf("%+v", a)
	}
	if a := ask(); a.body != "event: odd\ndata: {}\n\n" {
		t.Errorf("%+v", a)
	}
	if a := ask(); a.err == nil || !strings.Contains(a.body, "ef") || strings.Contains(a.body, "content_block_stop") {
		t.Errorf("%+v", a)
	}
	if a := ask(LaneHeader + ": title"); !strings.Contains(a.body, "A title") {
		t.Errorf("%+v", a)
	}
	if a := ask(); a.status != 400 || !strings.Contains(a.body, "something else") || fake.Err() == nil {
		t.Errorf("%+v, %v", a, fake.Err())
	}
	if n := len(fake.Requests()); n != 5 || fake.Unused() != 0 {
		t.Errorf("%d requests, %d unused turns", n, fake.Unused())
	}
}

func TestTheLog(t *testing.T) {
	var log bytes.Buffer
	_, url := serve(t, Config{API: Anthropic, Log: &log}, hello)
	post(t, url+"/v1/messages", `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`)
	post(t, url+"/v1/messages", `no json`)
	var lines []Recorded
	for line := range strings.Lines(log.String()) {
		var r Recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, r)
	}
	if len(lines) != 2 || lines[0].Status != 200 || lines[0].Usage.Input != 7 || lines[1].Status != 400 || string(lines[1].Body) != `"no json"` {
		t.Errorf("%+v", lines)
	}
	if strings.Contains(log.String(), "Bearer key") {
		t.Error("the key is in the log")
	}
	broken, url := serve(t, Config{API: Anthropic, Log: failing{}}, hello)
	post(t, url+"/v1/messages", `{}`)
	if broken.Err() == nil {
		t.Error("a log that cannot be written is not told")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestServe(t *testing.T) {
	s, err := script.Parse("test.yaml", []byte(hello))
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"0.0.0.0:0", "example.com:80", "nonsense"} {
		if err := Serve(t.Context(), io.Discard, Config{API: OpenAIChat, Script: s}, listen); err == nil {
			t.Errorf("%s was served", listen)
		}
	}
	if err := Serve(t.Context(), io.Discard, Config{API: "smoke", Script: s}, "127.0.0.1:0"); err == nil {
		t.Error("an unknown API was served")
	}
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, write, Config{API: OpenAIChat, Script: s}, "127.0.0.1:0") }()
	url, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	a := post(t, strings.TrimSpace(url)+"/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	if a.status != 200 || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("%s: %+v", url, a)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDelaysAndHangs(t *testing.T) {
	body := `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	_, url := serve(t, Config{API: Anthropic}, "turns:\n  - {content: [{text: abcdef}], chunk: 2, delay: 20ms}\n  - {content: [{text: abcdef}], then: hang}\n")
	began := time.Now()
	if a := post(t, url+"/v1/messages", body); a.status != 200 || time.Since(began) < 60*time.Millisecond {
		t.Errorf("%d after %v", a.status, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "abcdef") {
			cancel() // nothing more comes; the reader ends it
		}
	}
	if lines.Err() == nil {
		t.Error("a stream that hangs ended by itself")
	}
}

func TestFastServersSayTheSame(t *testing.T) {
	body := `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	const text = "turns:\n  - {content: [{text: abcdef}, {tool: Bash, id: a, input: {x: 1}}], chunk: 2}\nloop: true\n"
	_, slow := serve(t, Config{API: Anthropic}, text)
	_, fast := serve(t, Config{API: Anthropic, Fast: true}, text)
	a, b, c := post(t, slow+"/v1/messages", body), post(t, fast+"/v1/messages", body), post(t, fast+"/v1/messages", body)
	if a.body != b.body || b.body != c.body || a.body == "" {
		t.Errorf("%s\n%s", a.body, b.body)
	}
}

func BenchmarkFast20000Deltas(b *testing.B) {
	text := "turns:\n  - content: [{text: \"" + strings.Repeat("hello world this is text ", 19_200) + "\"}]\nloop: true\n"
	_, url := serve(b, Config{API: Anthropic, Fast: true}, text)
	body := `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	post(b, url+"/v1/messages", body)
	b.ResetTimer()
	for b.Loop() {
		if a := post(b, url+"/v1/messages", body); strings.Count(a.body, "text_delta") != 20_000 {
			b.Fatal(fmt.Sprint(strings.Count(a.body, "text_delta")))
		}
	}
}
