package discover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/discover"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// env reads "NAME=value" pairs.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v
			}
		}
		return ""
	}
}

func open(t testing.TB, cfg discover.Config) *discover.Discovery {
	t.Helper()
	if cfg.Probes == nil {
		cfg.Probes = []discover.Probe{}
	}
	d, err := discover.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWhichModelIsUsed(t *testing.T) {
	helper := func(context.Context) (string, error) { return "key", nil }
	keys := "ANTHROPIC_API_KEY=a,OPENAI_API_KEY=o,GEMINI_API_KEY=g"
	tests := []struct {
		name   string
		cfg    discover.Config
		env    string
		ref    string
		api    discover.API
		source string
	}{
		{"nothing", discover.Config{}, "", "offline/offline", discover.Offline, "no model is configured and no local server answers"},
		{"Anthropic's key first", discover.Config{}, keys, "anthropic/claude-sonnet-5-5", discover.Anthropic, "ANTHROPIC_API_KEY"},
		{"its token", discover.Config{}, "ANTHROPIC_AUTH_TOKEN=t,OPENAI_API_KEY=o", "anthropic/claude-sonnet-5-5", discover.Anthropic, "ANTHROPIC_AUTH_TOKEN"},
		{"the key helper", discover.Config{KeyHelper: helper, HasHelper: func() bool { return true }}, "OPENAI_API_KEY=o", "anthropic/claude-sonnet-5-5", discover.Anthropic, "settings (apiKeyHelper)"},
		{"then OpenAI's", discover.Config{}, "OPENAI_API_KEY=o,GEMINI_API_KEY=g", "openai/gpt-5.6-sol", discover.OpenAIResponses, "OPENAI_API_KEY"},
		{"then Google's", discover.Config{}, "GOOGLE_API_KEY=g", "gemini/gemini-3.1-pro-preview-customtools", discover.Gemini, "GOOGLE_API_KEY"},
		{"Bedrock when switched on", discover.Config{}, keys + ",CLAUDE_CODE_USE_BEDROCK=1", "bedrock/us.anthropic.claude-sonnet-5", discover.Bedrock, "CLAUDE_CODE_USE_BEDROCK"},
		{"Vertex when switched on", discover.Config{}, keys + ",MYELIN_USE_VERTEX=true,ANTHROPIC_VERTEX_PROJECT_ID=p", "vertex/claude-sonnet-4-6", discover.Vertex, "CLAUDE_CODE_USE_VERTEX"},
		{"Foundry when switched on", discover.Config{}, keys + ",CLAUDE_CODE_USE_FOUNDRY=1,ANTHROPIC_FOUNDRY_RESOURCE=r,ANTHROPIC_FOUNDRY_API_KEY=k", "foundry/claude-sonnet-5-5", discover.Anthropic, "CLAUDE_CODE_USE_FOUNDRY"},
		{"an alias there", discover.Config{Explicit: "opus"}, "CLAUDE_CODE_USE_FOUNDRY=1,ANTHROPIC_FOUNDRY_RESOURCE=r,ANTHROPIC_FOUNDRY_API_KEY=k", "foundry/claude-opus-5-5", discover.Anthropic, "--model"},
		{"--model wins", discover.Config{Explicit: "opus", Model: "haiku"}, keys + ",ANTHROPIC_MODEL=sonnet", "anthropic/claude-opus-5-5", discover.Anthropic, "--model"},
		{"MYELIN_MODEL", discover.Config{Model: "haiku"}, keys + ",MYELIN_MODEL=fast,ANTHROPIC_MODEL=sonnet", "anthropic/claude-haiku-5-5", discover.Anthropic, "MYELIN_MODEL"},
		{"ANTHROPIC_MODEL over settings", discover.Config{Model: "haiku"}, keys + ",ANTHROPIC_MODEL=sonnet", "anthropic/claude-sonnet-5-5", discover.Anthropic, "ANTHROPIC_MODEL"},
		{"settings over the default", discover.Config{Model: "haiku"}, keys + ",ANTHROPIC_DEFAULT_MODEL=opus", "anthropic/claude-haiku-5-5", discover.Anthropic, "settings (model)"},
		{"ANTHROPIC_DEFAULT_MODEL", discover.Config{}, keys + ",ANTHROPIC_DEFAULT_MODEL=opus", "anthropic/claude-opus-5-5", discover.Anthropic, "ANTHROPIC_DEFAULT_MODEL"},
		{"the word default", discover.Config{Explicit: "default"}, keys, "anthropic/claude-sonnet-5-5", discover.Anthropic, "ANTHROPIC_API_KEY"},
		{"an alias of another", discover.Config{Explicit: "best"}, "OPENAI_API_KEY=o", "openai/gpt-5.6-sol", discover.OpenAIResponses, "--model"},
		{"an alias at a service", discover.Config{Explicit: "openai/fast"}, keys, "openai/gpt-5.6-luna", discover.OpenAIResponses, "--model"},
		{"an alias set by variable", discover.Config{Explicit: "opus"}, keys + ",ANTHROPIC_DEFAULT_OPUS_MODEL=claude-opus-4-1-20250805", "anthropic/claude-opus-4-1-20250805", discover.Anthropic, "--model"},
		{"a service alone", discover.Config{Explicit: "gemini"}, keys, "gemini/gemini-3.1-pro-preview-customtools", discover.Gemini, "--model"},
		{"a bare id", discover.Config{Explicit: "gpt-5"}, keys, "openai/gpt-5", discover.OpenAIResponses, "--model"},
		{"a newer one than is known", discover.Config{Explicit: "claude-opus-7"}, keys, "anthropic/claude-opus-7", discover.Anthropic, "--model"},
		{"a dated id", discover.Config{Explicit: "claude-haiku-4-5"}, keys, "anthropic/claude-haiku-4-5", discover.Anthropic, "--model"},
		{"a model with a slash in its id", discover.Config{Explicit: "openrouter/anthropic/claude-sonnet-4.6"}, "OPENROUTER_API_KEY=r", "openrouter/anthropic/claude-sonnet-4.6", discover.OpenAIChat, "--model"},
		{"the same without its service", discover.Config{Explicit: "moonshotai/kimi-k2-instruct-0905"}, "GROQ_API_KEY=r", "groq/moonshotai/kimi-k2-instruct-0905", discover.OpenAIChat, "--model"},
		{"a long window", discover.Config{Explicit: "claude-sonnet-4-5[1m]"}, keys, "anthropic/claude-sonnet-4-5[1m]", discover.Anthropic, "--model"},
		{"which it has anyway", discover.Config{Explicit: "sonnet[1m]"}, keys, "anthropic/claude-sonnet-5-5", discover.Anthropic, "--model"},
		{"a Bedrock id", discover.Config{Explicit: "eu.anthropic.claude-opus-4-6-v1"}, "", "bedrock/eu.anthropic.claude-opus-4-6-v1", discover.Bedrock, "--model"},
		{"another name for it", discover.Config{Explicit: "claude-opus-4-6", Overrides: func() map[string]string { return map[string]string{"claude-opus-4-6": "arn:aws:bedrock:x"} }}, "MYELIN_USE_BEDROCK=1", "bedrock/arn:aws:bedrock:x", discover.Bedrock, "--model"},
		{"script", discover.Config{Explicit: "script:a.yaml"}, keys, "script/a.yaml", discover.Script, "--model"},
		{"replay", discover.Config{Explicit: "replay:a.jsonl"}, keys, "replay/a.jsonl", discover.Replay, "--model"},
		{"offline", discover.Config{Explicit: "offline"}, keys, "offline/offline", discover.Offline, "--model"},
		{"a server of one's own", discover.Config{Explicit: "openai/my-model"}, "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "openai/my-model", discover.OpenAIChat, "--model"},
		{"any name there", discover.Config{Explicit: "my-model"}, "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "openai/my-model", discover.OpenAIChat, "--model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Env = env(strings.Split(tt.env, ",")...)
			c, err := open(t, tt.cfg).Resolve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.Info.Ref() != tt.ref || c.API != tt.api || c.Source != tt.source {
				t.Errorf("got %s by %s from %q\nwant %s by %s from %q", c.Info.Ref(), c.API, c.Source, tt.ref, tt.api, tt.source)
			}
		})
	}
}

func TestFast(t *testing.T) {
	for _, tt := range []struct{ service, env, want string }{
		{"anthropic", "ANTHROPIC_API_KEY=a", "anthropic/claude-haiku-5-5"},
		{"anthropic", "", ""},
		{"anthropic", "ANTHROPIC_API_KEY=a,ANTHROPIC_SMALL_FAST_MODEL=mine", "anthropic/mine"},
		{"anthropic", "ANTHROPIC_API_KEY=a,ANTHROPIC_SMALL_FAST_MODEL=openai/gpt-5-nano", "openai/gpt-5-nano"},
		{"openai", "OPENAI_API_KEY=o", "openai/gpt-5.6-luna"},
		{"openai", "OPENAI_API_KEY=o,OPENAI_BASE_URL=http://127.0.0.1:9/v1", ""},
		{"ollama", "", ""},
	} {
		got, ok := open(t, discover.Config{Env: env(strings.Split(tt.env, ",")...)}).Fast(tt.service)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s with %q: %q, %t", tt.service, tt.env, got, ok)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	tests := []struct {
		name, env string
		kind      provider.Kind
		want      []string
	}{
		{"sonet", "ANTHROPIC_API_KEY=a", provider.KindNotFound, []string{"--model", `"sonet"`, "did you mean sonnet"}},
		{"anthropic/claude-sonet-4-6", "ANTHROPIC_API_KEY=a", provider.KindNotFound, []string{"anthropic/claude-sonnet-4-6"}},
		{"gemini/flash", "GEMINI_API_KEY=a", provider.KindNotFound, []string{"myelin models"}},
		{"opus", "", provider.KindAuth, []string{"opus", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}},
		{"openai/gpt-5", "ANTHROPIC_API_KEY=a", provider.KindAuth, []string{"OPENAI_API_KEY"}},
		{"gemini-2.5-pro", "", provider.KindAuth, []string{"GEMINI_API_KEY"}},
		{"groq/x", "", provider.KindAuth, []string{"GROQ_API_KEY"}},
		{"glm-4.7-flash", "", provider.KindAuth, []string{"_API_KEY"}},
		{"vertex/claude-opus-4-6", "", provider.KindAuth, []string{"ANTHROPIC_VERTEX_PROJECT_ID"}},
		{"foundry/claude-opus-5-5", "ANTHROPIC_FOUNDRY_RESOURCE=r", provider.KindAuth, []string{"ANTHROPIC_FOUNDRY_API_KEY"}},
		{"ollama/qwen3", "", provider.KindNotFound, []string{"ollama"}},
	}
	for _, tt := range tests {
		_, err := open(t, discover.Config{Explicit: tt.name, Env: env(strings.Split(tt.env, ",")...)}).Resolve(t.Context())
		if provider.KindOf(err) != tt.kind {
			t.Errorf("%s: error %v, want kind %s", tt.name, err, tt.kind)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not tell %q", tt.name, err, part)
			}
		}
	}
}

func TestBrokenCorrectionsAreToldAndNothingElseIsLost(t *testing.T) {
	d, err := discover.New(discover.Config{Env: env("ANTHROPIC_API_KEY=a"), Probes: []discover.Probe{}, Corrections: map[string]json.RawMessage{
		"anthropic/claude-sonnet-5-5": json.RawMessage(`{"context_window": 123456}`),
		"openai/gpt-5":                json.RawMessage(`[]`),
	}})
	if err == nil || !strings.Contains(err.Error(), "openai/gpt-5") {
		t.Errorf("error is %v", err)
	}
	c, err := d.Resolve(t.Context())
	if err != nil || c.Info.ContextWindow != 123_456 {
		t.Errorf("got %+v, error %v", c.Info, err)
	}
}

func TestWindowsByVariable(t *testing.T) {
	for variable, want := range map[string]int{"": 1_000_000, "CLAUDE_CODE_DISABLE_1M_CONTEXT=1": 200_000, "MYELIN_MAX_CONTEXT_TOKENS=50000": 50_000} {
		c, err := open(t, discover.Config{Env: env("ANTHROPIC_API_KEY=a", variable)}).Resolve(t.Context())
		if err != nil || c.Info.Window() != want {
			t.Errorf("%s: window %d, error %v", variable, c.Info.Window(), err)
		}
	}
}

func TestAChoiceDoesNotShowItsKey(t *testing.T) {
	c, err := open(t, discover.Config{Env: env("ANTHROPIC_API_KEY=sk-secret")}).Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%s"} {
		if s := fmt.Sprintf(verb, c); strings.Contains(s, "secret") || !strings.Contains(s, "anthropic/") {
			t.Errorf("%s prints %q", verb, s)
		}
	}
}

// server answers with fixed pages.
func server(t testing.TB, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func ollamaPages() map[string]string {
	return map[string]string{
		"/api/tags": `{"models":[{"name":"nomic-embed-text:latest","details":{"family":"nomic-bert"}},{"name":"llama3:8b","details":{"family":"llama"}},{"name":"qwen3:8b","details":{"family":"qwen3"}}]}`,
		"/api/ps":   `{"models":[{"name":"qwen3:8b","context_length":40960}]}`,
		"/api/show": `{"capabilities":["completion","tools","thinking","vision"]}`,
	}
}

func TestLocalServersIdentifyThemselves(t *testing.T) {
	tests := []struct {
		id     string
		pages  map[string]string
		ref    string
		window int
		images bool
	}{
		{"ollama", ollamaPages(), "ollama/qwen3:8b", 40_960, true},
		{"lmstudio", map[string]string{"/api/v0/models": `{"data":[{"id":"emb","type":"embeddings"},{"id":"a","type":"llm","state":"not-loaded","max_context_length":131072},{"id":"b","type":"vlm","state":"loaded","max_context_length":131072,"loaded_context_length":8192}]}`}, "lmstudio/b", 8192, true},
		{"llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"m.gguf","owned_by":"llamacpp"}]}`, "/props": `{"default_generation_settings":{"n_ctx":16384},"modalities":{"vision":false}}`}, "llamacpp/m.gguf", 16_384, false},
		{"vllm", map[string]string{"/v1/models": `{"data":[{"id":"Qwen/Qwen3-8B","owned_by":"vllm","max_model_len":32000}]}`}, "vllm/Qwen/Qwen3-8B", 32_000, false},
		// Something else that listens there must not be chosen.
		{"ollama", map[string]string{"/api/tags": `{"models":[{"name":"x"}]}`}, "offline/offline", 0, false},
		{"lmstudio", map[string]string{"/api/v0/models": `{"data":[{"id":"x"}]}`}, "offline/offline", 0, false},
		{"llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"x","owned_by":"somebody"}]}`}, "offline/offline", 0, false},
		{"vllm", map[string]string{"/v1/models": `{"data":[{"id":"x","owned_by":"somebody"}]}`}, "offline/offline", 0, false},
		{"vllm", map[string]string{"/": "<html>a web page</html>"}, "offline/offline", 0, false},
	}
	for _, tt := range tests {
		probes := []discover.Probe{{ID: tt.id, Name: "The Server", URL: server(t, tt.pages)}}
		c, err := open(t, discover.Config{Env: env(), Probes: probes}).Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.Info.Ref() != tt.ref || c.Info.ContextWindow != tt.window || c.Info.Images != tt.images || !c.Info.Local {
			t.Errorf("%s: %+v", tt.id, c.Info)
		}
		if tt.window > 0 && !strings.HasPrefix(c.Source, "The Server at http://127.0.0.1:") {
			t.Errorf("%s: source is %q", tt.id, c.Source)
		}
	}
}

func TestLocalServersAreAskedOnlyWhenNeeded(t *testing.T) {
	asked := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer s.Close()
	probes := []discover.Probe{{ID: "ollama", Name: "Ollama", URL: s.URL}}
	for _, cfg := range []discover.Config{
		{Env: env("ANTHROPIC_API_KEY=a"), Probes: probes},
		{Env: env("OPENAI_API_KEY=a"), Probes: probes, Explicit: "gpt-5"},
		{Env: env(), Probes: probes, Explicit: "script:x"},
		{Env: env(), Probes: probes, NoProbe: true},
	} {
		if _, err := open(t, cfg).Resolve(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case path := <-asked:
		t.Errorf("a local server was asked for %s", path)
	default:
	}
}

// Servers that never answer do not hold up a session: all are asked at once, and given up.
func TestProbesAreBounded(t *testing.T) {
	asked := make(chan string, 8)
	given := make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		<-r.Context().Done() // nobody else ends this request
		given <- struct{}{}
	}))
	defer s.Close()
	var probes []discover.Probe
	for _, id := range []string{"ollama", "lmstudio", "llamacpp", "vllm"} {
		probes = append(probes, discover.Probe{ID: id, Name: id, URL: s.URL})
	}
	c, err := open(t, discover.Config{Env: env(), Probes: probes}).Resolve(t.Context())
	if err != nil || c.API != discover.Offline {
		t.Errorf("got %v, error %v", c, err)
	}
	for range probes {
		<-asked
		<-given
	}
	select {
	case path := <-asked:
		t.Errorf("one more request came, for %s: the probes followed one another", path)
	default:
	}
}

func TestALocalModelByName(t *testing.T) {
	probes := []discover.Probe{{ID: "ollama", Name: "Ollama", URL: server(t, ollamaPages())}}
	for name, want := range map[string]string{"ollama/llama3:8b": "ollama/llama3:8b", "ollama": "ollama/qwen3:8b", "qwen3:8b": "ollama/qwen3:8b"} {
		d := open(t, discover.Config{Explicit: name, Env: env("OLLAMA_CONTEXT_LENGTH=12345"), Probes: probes})
		c, err := d.Resolve(t.Context())
		if err != nil || c.Info.Ref() != want {
			t.Errorf("%s: %v, error %v", name, c, err)
			continue
		}
		if strings.HasPrefix(want, "ollama/llama3") && c.Info.ContextWindow != 12_345 {
			t.Errorf("%s: window %d", name, c.Info.ContextWindow)
		}
		if m, err := d.Open(c); err != nil || m.Info().Ref() != want {
			t.Errorf("%s: opened %v, error %v", name, m, err)
		}
	}
}

func TestAServerOfOnesOwnListsItsModels(t *testing.T) {
	url := server(t, map[string]string{"/v1/models": `{"data":[{"id":"big-one"},{"id":"other"}]}`})
	c, err := open(t, discover.Config{Env: env("OPENAI_BASE_URL=" + url + "/v1")}).Resolve(t.Context())
	if err != nil || c.Info.Ref() != "openai/big-one" || c.API != discover.OpenAIChat {
		t.Errorf("got %v, error %v", c, err)
	}
}

func TestOllamaHost(t *testing.T) {
	for host, want := range map[string]string{
		"": "Ollama at http://127.0.0.1:11434", "10.0.0.5": "Ollama at http://10.0.0.5:11434", "gpu:9000": "Ollama at http://gpu:9000",
		"http://gpu:9000/": "Ollama at http://gpu:9000", "https://ollama.example": "Ollama at https://ollama.example",
		"0.0.0.0:1234": "Ollama at http://127.0.0.1:1234", ":1234": "Ollama at http://127.0.0.1:1234", "[::1]": "Ollama at http://[::1]:11434",
	} {
		// The model is named, and nothing answers, so only the address is seen.
		d, err := discover.New(discover.Config{Env: env("OLLAMA_HOST=" + host)})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Address("ollama"); got != strings.TrimPrefix(want, "Ollama at ") {
			t.Errorf("OLLAMA_HOST=%q is %q, want %q", host, got, want)
		}
	}
}

func TestList(t *testing.T) {
	probes := []discover.Probe{{ID: "ollama", Name: "Ollama", URL: server(t, ollamaPages())}}
	models, lacking := open(t, discover.Config{Env: env("OPENAI_API_KEY=o"), Probes: probes}).List(t.Context())
	seen := map[string]discover.Listed{}
	for _, m := range models {
		seen[m.Info.Ref()] = m
	}
	if m := seen["openai/gpt-5"]; m.Source != "OPENAI_API_KEY" || m.Info.Price.Input == 0 || m.Info.ContextWindow == 0 {
		t.Errorf("gpt-5 is %+v", m)
	}
	if !seen["openai/gpt-5.6-sol"].Standard || seen["openai/gpt-5"].Standard {
		t.Error("the standard model is not marked")
	}
	if m := seen["ollama/llama3:8b"]; !strings.HasPrefix(m.Source, "Ollama at http://") {
		t.Errorf("the local model is %+v", m)
	}
	if _, ok := seen["anthropic/claude-opus-5-5"]; ok {
		t.Error("a model without a key is listed")
	}
	if len(lacking) != 2 || !strings.Contains(lacking[0], "ANTHROPIC_API_KEY") {
		t.Errorf("lacking: %q", lacking)
	}
}

// fake serves a script as one of the services.
func fake(t testing.TB, api fakeapi.API, text string) string {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fakeapi.New(fakeapi.Config{API: api, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

func TestOpenedModelsReachTheirServers(t *testing.T) {
	const text = "turns:\n  - content: [{text: hello}]\nloop: true\n"
	for _, tt := range []struct {
		api      fakeapi.API
		variable string
		path     string
		name     string
	}{
		{fakeapi.Anthropic, "ANTHROPIC_BASE_URL", "", "sonnet"},
		{fakeapi.OpenAIResponses, "OPENAI_BASE_URL", "/v1", "gpt-5"},
		{fakeapi.OpenAIChat, "OPENAI_BASE_URL", "/v1", "openai/some-model"},
		{fakeapi.Gemini, "GOOGLE_GEMINI_BASE_URL", "", "gemini-3-flash-preview"},
	} {
		variables := []string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", tt.variable + "=" + fake(t, tt.api, text) + tt.path}
		if tt.api == fakeapi.OpenAIResponses {
			variables = append(variables, "MYELIN_OPENAI_API=responses")
		}
		d := open(t, discover.Config{Explicit: tt.name, Env: env(variables...)})
		c, err := d.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		a, err := contract.Check(m.Stream(t.Context(), contract.Request()))
		if err != nil || a.Err != nil || a.Text() != "hello" {
			t.Errorf("%s: %v, %v, %q", tt.api, err, a.Err, a.Text())
		}
	}
}

func TestCheck(t *testing.T) {
	const good = `
model: {id: m, context_window: 1000}
turns:
  - {when: {contains: "Count from"}, content: [{text: "one, two, three, four, five, six, seven"}], chunk: 5}
  - {when: {contains: "17 degrees"}, content: [{text: "It is 17 degrees."}]}
  - {when: {contains: "weather in Oslo?"}, content: [{tool: get_weather, input: {city: Oslo}}]}
  - {when: {contains: "both cities"}, content: [{tool: get_weather, input: {city: Oslo}}, {tool: get_weather, input: {city: Lima}}]}
  - {when: {contains: "poem"}, content: [{text: "The sea, the sea"}], stop: max_tokens}
  - {content: [{text: "and on and on"}]}
loop: true
`
	run := func(text string) map[string]discover.Checked {
		d := open(t, discover.Config{Explicit: "claude-sonnet-4-5", Env: env("ANTHROPIC_API_KEY=a", "ANTHROPIC_BASE_URL="+fake(t, fakeapi.Anthropic, text), "MYELIN_MAX_CONTEXT_TOKENS=1000")})
		c, err := d.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]discover.Checked{}
		if err := discover.Check(t.Context(), m, func(c discover.Checked) { out[c.Name] = c }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := run(strings.Replace(good, "context_window: 1000", "context_window: 40000, max_output: 9000", 1))
	for _, name := range []string{"streaming", "tool call", "parallel tool calls", "stop"} {
		if !got[name].OK {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	bad := run("model: {id: m, context_window: 400, max_output: 100}\nturns:\n  - content: [{text: x}]\nloop: true\n")
	if bad["streaming"].OK || bad["streaming"].Detail == "" {
		t.Errorf("a limit that is too large: %+v", bad["streaming"])
	}
	if w := bad["window"]; !w.OK || !strings.Contains(w.Detail, "400 tokens") {
		t.Errorf("window: %+v", w)
	}
}
