package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
	"github.com/myelin-agent/myelin/internal/sys/transport"
)

// Probe is a kind of local server and where one may be.
type Probe struct {
	ID   string // provider name: ollama, lmstudio, llamacpp, vllm
	Name string // for people
	URL  string // without /v1
}

// usualProbes are the ports the servers listen on when nobody says otherwise.
func usualProbes(env func(string) string) []Probe {
	return []Probe{
		{"ollama", "Ollama", ollamaURL(env("OLLAMA_HOST"))},
		{"lmstudio", "LM Studio", "http://127.0.0.1:1234"},
		{"llamacpp", "llama.cpp", "http://127.0.0.1:8080"},
		{"vllm", "vLLM", "http://127.0.0.1:8000"},
	}
}

// ollamaURL reads OLLAMA_HOST as Ollama does: a host, a host with a port, or a URL.
func ollamaURL(host string) string {
	const port = "11434"
	host = strings.TrimSuffix(strings.TrimSpace(host), "/")
	if host == "" {
		return "http://127.0.0.1:" + port
	}
	scheme := "http"
	if s, rest, ok := strings.Cut(host, "://"); ok {
		if scheme, host = s, rest; !strings.Contains(host, ":") {
			return scheme + "://" + host // a URL without a port means the scheme's own
		}
	}
	if strings.HasPrefix(host, ":") {
		host = "127.0.0.1" + host
	}
	if at := strings.LastIndexByte(host, ':'); at < 0 || strings.HasSuffix(host, "]") {
		host += ":" + port
	}
	if h, p, ok := strings.Cut(host, ":"); ok && h == "0.0.0.0" { // an address to listen on, not to ask
		host = "127.0.0.1:" + p
	}
	return scheme + "://" + host
}

// Found is a local server that identified itself.
type Found struct {
	Probe
	Models []provider.Info // never empty; the one to begin with first
}

func (f Found) choice(client *http.Client) Choice { return f.of(f.Models[0], client) }

func (f Found) of(m provider.Info, client *http.Client) Choice {
	source := f.Name + " at " + f.URL
	return Choice{
		Info: m, API: OpenAIChat, Source: source, client: client,
		at: service{id: f.ID, api: OpenAIChat, baseURL: f.URL + "/v1", custom: true, local: true, source: source},
	}
}

// local finds the servers on this machine, in the order of the probes.
func (d *Discovery) local(ctx context.Context) []Found {
	if d.cfg.NoProbe {
		return nil
	}
	return d.probe(ctx, func(Probe) bool { return true })
}

// probe asks all wanted places at once. All of it ends within probeTime.
func (d *Discovery) probe(ctx context.Context, want func(Probe) bool) []Found {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	found := make([]Found, len(d.cfg.Probes))
	var all sync.WaitGroup
	for i, p := range d.cfg.Probes {
		if !want(p) {
			continue
		}
		all.Go(func() {
			asker := asker{d.client(), p.URL}
			models := identify(ctx, asker, p.ID)
			for j := range models {
				models[j].Provider, models[j].Local = p.ID, true
				if models[j].ContextWindow == 0 {
					models[j].ContextWindow = d.assumedWindow(p.ID)
				}
				models[j] = d.corrected(models[j])
			}
			found[i] = Found{p, models}
		})
	}
	all.Wait()
	return slices.DeleteFunc(found, func(f Found) bool { return len(f.Models) == 0 })
}

// corrected applies what the user's settings say of a local model.
func (d *Discovery) corrected(m provider.Info) provider.Info {
	raw, ok := d.cfg.Corrections[m.Ref()]
	if !ok {
		return m
	}
	out := m
	if json.Unmarshal(raw, &out) != nil {
		return m // New has told of it
	}
	out.Provider, out.ID = m.Provider, m.ID
	return out
}

// smallWindow is assumed of a local model whose window is not told: too small costs a summary too
// many, too large loses the beginning of the conversation without a word.
const smallWindow = 32_768

func (d *Discovery) assumedWindow(id string) int {
	if id == "ollama" {
		if n, err := strconv.Atoi(d.cfg.Env("OLLAMA_CONTEXT_LENGTH")); err == nil && n > 0 {
			return n
		}
	}
	return smallWindow
}

// localInfo describes a model of a local server that was named.
func (d *Discovery) localInfo(ctx context.Context, s service, info provider.Info, known bool) provider.Info {
	info.Local = true
	for _, f := range d.probe(ctx, func(p Probe) bool { return p.ID == s.id }) {
		for _, m := range f.Models {
			if m.ID == info.ID || m.ID == info.ID+":latest" {
				m.ID = info.ID
				return d.corrected(m)
			}
		}
	}
	if !known || info.ContextWindow == 0 {
		info.ContextWindow = d.assumedWindow(s.id)
	}
	return info
}

// asker asks one server.
type asker struct {
	client *http.Client
	url    string
}

// get reads a page as JSON into v; body nil: GET, else POST.
func (a asker) get(ctx context.Context, path string, body []byte, v any) error {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := a.client
	if client == nil {
		client = probeClient()
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", a.url+path, resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(v)
}

// probeClient uses no proxy: a probe must reach this machine or nobody.
var probeClient = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConns: 4}}
})

// identify returns the models of a server that is what it is taken for, else none.
func identify(ctx context.Context, a asker, id string) []provider.Info {
	switch id {
	case "ollama":
		return ollama(ctx, a)
	case "lmstudio":
		return lmStudio(ctx, a)
	case "llamacpp":
		return llamaCpp(ctx, a)
	case "vllm":
		return vLLM(ctx, a)
	}
	return nil
}

// ollama: https://github.com/ollama/ollama/blob/main/docs/api.md
func ollama(ctx context.Context, a asker) []provider.Info {
	var tags struct {
		Models []struct {
			Name    string `json:"name"`
			Details *struct {
				Family string `json:"family"`
			} `json:"details"`
		} `json:"models"`
	}
	if a.get(ctx, "/api/tags", nil, &tags) != nil {
		return nil
	}
	var out []provider.Info
	for _, m := range tags.Models {
		if m.Details == nil || m.Name == "" {
			return nil // something else that has a page of that name
		}
		if !strings.Contains(m.Details.Family, "bert") && !strings.Contains(m.Name, "embed") {
			out = append(out, provider.Info{ID: m.Name})
		}
	}
	var running struct {
		Models []struct {
			Name   string `json:"name"`
			Window int    `json:"context_length"`
		} `json:"models"`
	}
	if len(out) == 0 || a.get(ctx, "/api/ps", nil, &running) != nil {
		return out
	}
	for i := len(running.Models) - 1; i >= 0; i-- { // what is loaded answers at once: it goes first
		at := slices.IndexFunc(out, func(m provider.Info) bool { return m.ID == running.Models[i].Name })
		if at >= 0 {
			m := out[at]
			m.ContextWindow = running.Models[i].Window
			out = slices.Insert(slices.Delete(out, at, at+1), 0, m)
		}
	}
	describeOllama(ctx, a, &out[0])
	return out
}

// describeOllama asks what the first model can do.
func describeOllama(ctx context.Context, a asker, m *provider.Info) {
	body, err := json.Marshal(map[string]string{"model": m.ID})
	if err != nil {
		return
	}
	var show struct {
		Capabilities []string `json:"capabilities"`
	}
	if a.get(ctx, "/api/show", body, &show) == nil {
		m.Images = slices.Contains(show.Capabilities, "vision")
		m.Thinking = slices.Contains(show.Capabilities, "thinking")
	}
}

// lmStudio: https://lmstudio.ai/docs/developer/rest
func lmStudio(ctx context.Context, a asker) []provider.Info {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			State  string `json:"state"`
			Window int    `json:"max_context_length"`
			Loaded int    `json:"loaded_context_length"`
		} `json:"data"`
	}
	if a.get(ctx, "/api/v0/models", nil, &list) != nil {
		return nil
	}
	var loaded, others []provider.Info
	for _, m := range list.Data {
		if m.Type != "llm" && m.Type != "vlm" {
			continue
		}
		info := provider.Info{ID: m.ID, Images: m.Type == "vlm", ContextWindow: m.Window}
		if m.State == "loaded" {
			if m.Loaded > 0 {
				info.ContextWindow = m.Loaded
			}
			loaded = append(loaded, info)
			continue
		}
		info.ContextWindow = 0 // what it will be loaded with is not its largest
		others = append(others, info)
	}
	return append(loaded, others...)
}

// models is the list OpenAI's interface defines, with what servers add to it.
type models struct {
	Data []struct {
		ID    string `json:"id"`
		Owner string `json:"owned_by"`
		Max   int    `json:"max_model_len"` // vLLM
	} `json:"data"`
}

// llamaCpp: https://github.com/ggml-org/llama.cpp/tree/master/tools/server
func llamaCpp(ctx context.Context, a asker) []provider.Info {
	var list models
	if a.get(ctx, "/v1/models", nil, &list) != nil || len(list.Data) == 0 || list.Data[0].Owner != "llamacpp" {
		return nil
	}
	var props struct {
		Settings struct {
			Window int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	// Without its properties the server is still the one it says it is.
	_ = a.get(ctx, "/props", nil, &props)
	var out []provider.Info
	for _, m := range list.Data {
		out = append(out, provider.Info{ID: m.ID, ContextWindow: props.Settings.Window, Images: props.Modalities.Vision})
	}
	return out
}

// vLLM: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
func vLLM(ctx context.Context, a asker) []provider.Info {
	var list models
	if a.get(ctx, "/v1/models", nil, &list) != nil {
		return nil
	}
	var out []provider.Info
	for _, m := range list.Data {
		if m.Owner != "vllm" {
			return nil
		}
		out = append(out, provider.Info{ID: m.ID, ContextWindow: m.Max})
	}
	return out
}

// listModels asks a server of OpenAI's interface for the ids of its models.
func listModels(ctx context.Context, client *http.Client, s service) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if client == nil {
		client = wire.DefaultClient()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.baseURL, "/")+"/models", nil)
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindInvalid, Provider: s.id, Message: "OPENAI_BASE_URL is not valid", Cause: err}
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := client.Do(req)
	if err != nil {
		out := &provider.Error{Kind: provider.KindNetwork, Provider: s.id, Message: "ask " + s.baseURL + " for its models: no answer; name one with --model openai/NAME", Cause: err}
		if cure, final := transport.Cure(err); final {
			out.Kind, out.Message = provider.KindUnreachable, "ask "+s.baseURL+" for its models: no connection: "+cure
		}
		return nil, out
	}
	defer resp.Body.Close()
	var list models
	if err := json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&list); err != nil || resp.StatusCode != http.StatusOK || len(list.Data) == 0 {
		return nil, &provider.Error{Kind: provider.KindNotFound, Provider: s.id, Status: resp.StatusCode, Message: s.baseURL + " does not list its models; name one with --model openai/NAME"}
	}
	var out []string
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return out, nil
}
