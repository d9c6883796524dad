package discover

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// service is where and as whom a provider's models are asked.
type service struct {
	id      string
	api     API
	baseURL string // empty: the client's default
	custom  bool   // not the service's own address
	local   bool   // on this machine
	source  string // the variable that made it usable
	missing string // what must be set before it can be used; empty: nothing

	key, token string
	helper     bool // the key comes from Config.KeyHelper
}

// both reads CLAUDE_CODE_X and MYELIN_X; the latter wins.
func (d *Discovery) both(name string) string {
	if v := d.cfg.Env("MYELIN_" + name); v != "" {
		return v
	}
	return d.cfg.Env("CLAUDE_CODE_" + name)
}

// on reads a switch.
func (d *Discovery) on(name string) bool { return truthy(d.both(name)) }

func truthy(v string) bool {
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

func (d *Discovery) number(name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(d.both(name)))
	if err != nil {
		return 0 // as if it was not set; settings warn of bad values
	}
	return n
}

// first returns the first variable that is set, and its name.
func (d *Discovery) first(names ...string) (value, name string) {
	for _, name := range names {
		if v := strings.TrimSpace(d.cfg.Env(name)); v != "" {
			return v, name
		}
	}
	return "", ""
}

// service reads how a provider is reached. An unknown one has no api.
func (d *Discovery) service(id string) service {
	switch id {
	case "anthropic":
		return d.anthropic()
	case "bedrock":
		return d.bedrock()
	case "vertex":
		return d.vertex()
	case "foundry":
		return d.foundry()
	case "openai":
		return d.openAI()
	case "gemini":
		return d.gemini()
	}
	for _, p := range d.cfg.Probes {
		if p.ID == id {
			return service{id: id, api: OpenAIChat, baseURL: p.URL + "/v1", custom: true, local: true, source: p.Name + " at " + p.URL}
		}
	}
	p, ok := d.catalog.Provider(id)
	if !ok {
		return service{id: id}
	}
	s := service{id: id, api: API(p.API), baseURL: p.URL}
	s.key, s.source = d.first(p.Keys...)
	if s.key == "" {
		s.missing = strings.Join(p.Keys, " or ")
	}
	return s
}

func (d *Discovery) anthropic() service {
	s := service{id: "anthropic", api: Anthropic}
	s.baseURL, _ = d.first("ANTHROPIC_BASE_URL")
	s.custom = s.baseURL != ""
	s.token, _ = d.first("ANTHROPIC_AUTH_TOKEN")
	switch s.key, s.source = d.first("ANTHROPIC_API_KEY"); {
	case s.key != "":
	case s.token != "":
		s.source = "ANTHROPIC_AUTH_TOKEN"
	case d.cfg.HasHelper != nil && d.cfg.HasHelper():
		s.source, s.helper = "settings (apiKeyHelper)", true
	default:
		s.missing = "ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN, or CLAUDE_CODE_USE_BEDROCK or CLAUDE_CODE_USE_VERTEX)"
	}
	return s
}

func (d *Discovery) bedrock() service {
	s := service{id: "bedrock", api: Bedrock, source: "CLAUDE_CODE_USE_BEDROCK"}
	s.baseURL, _ = d.first("ANTHROPIC_BEDROCK_BASE_URL")
	s.token, _ = d.first("AWS_BEARER_TOKEN_BEDROCK")
	return s // other AWS credentials are looked for when they are needed
}

// foundry is Microsoft Foundry, which serves the Messages API as it is at a resource's address.
func (d *Discovery) foundry() service {
	s := service{id: "foundry", api: Anthropic, source: "CLAUDE_CODE_USE_FOUNDRY"}
	s.baseURL, _ = d.first("ANTHROPIC_FOUNDRY_BASE_URL")
	if resource, _ := d.first("ANTHROPIC_FOUNDRY_RESOURCE"); s.baseURL == "" && resource != "" {
		s.baseURL = "https://" + resource + ".services.ai.azure.com/anthropic"
	}
	s.key, _ = d.first("ANTHROPIC_FOUNDRY_API_KEY")
	switch {
	case s.baseURL == "":
		s.missing = "ANTHROPIC_FOUNDRY_RESOURCE (or ANTHROPIC_FOUNDRY_BASE_URL)"
	case s.key == "":
		s.missing = "ANTHROPIC_FOUNDRY_API_KEY"
	}
	return s
}

// listed is the service whose catalog a service shares.
func listed(id string) string {
	if id == "foundry" {
		return "anthropic"
	}
	return id
}

// awsRegion is where Bedrock is asked; the fallback is Amazon's own first region.
func (d *Discovery) awsRegion() string {
	if region, _ := d.first("AWS_REGION", "AWS_DEFAULT_REGION"); region != "" {
		return region
	}
	return "us-east-1"
}

func (d *Discovery) vertex() service {
	s := service{id: "vertex", api: Vertex, source: "CLAUDE_CODE_USE_VERTEX"}
	s.baseURL, _ = d.first("ANTHROPIC_VERTEX_BASE_URL")
	if project, _ := d.project(); project == "" {
		s.missing = "ANTHROPIC_VERTEX_PROJECT_ID"
	}
	return s
}

func (d *Discovery) project() (project, region string) {
	project, _ = d.first("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT")
	if region, _ = d.first("CLOUD_ML_REGION"); region == "" {
		region = "global"
	}
	return project, region
}

func (d *Discovery) openAI() service {
	s := service{id: "openai", api: OpenAIResponses}
	s.baseURL, _ = d.first("OPENAI_BASE_URL")
	if s.baseURL != "" && !strings.Contains(s.baseURL, "api.openai.com") {
		s.custom, s.api = true, OpenAIChat
	}
	if api := strings.ToLower(strings.TrimSpace(d.cfg.Env("MYELIN_OPENAI_API"))); api == "chat" || api == "responses" {
		s.api = API("openai-" + api)
	}
	switch s.key, s.source = d.first("OPENAI_API_KEY"); {
	case s.key != "":
	case s.custom && wire.Loopback(s.baseURL): // servers on one's own machine want no key
		s.source = "OPENAI_BASE_URL"
	default:
		s.missing = "OPENAI_API_KEY"
	}
	return s
}

func (d *Discovery) gemini() service {
	s := service{id: "gemini", api: Gemini}
	s.baseURL, _ = d.first("GOOGLE_GEMINI_BASE_URL")
	s.custom = s.baseURL != ""
	if s.key, s.source = d.first("GEMINI_API_KEY", "GOOGLE_API_KEY"); s.key == "" {
		s.missing = "GEMINI_API_KEY"
	}
	return s
}

// headers reads ANTHROPIC_CUSTOM_HEADERS: one "Name: value" a line. Lines without a colon say
// nothing.
func (d *Discovery) headers() http.Header {
	out := http.Header{}
	for line := range strings.Lines(d.cfg.Env("ANTHROPIC_CUSTOM_HEADERS")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "" {
			out.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return out
}

func splitList(v string) (out []string) {
	for _, part := range strings.Split(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Address is where a service is asked, empty when it is the service's own address or unknown.
func (d *Discovery) Address(id string) string {
	return strings.TrimSuffix(d.service(id).baseURL, "/v1")
}
