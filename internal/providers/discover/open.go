package discover

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/gemini"
	"github.com/myelin-agent/myelin/internal/providers/openai"
)

// Open makes the model of a choice. [Script], [Replay] and [Offline] are the caller's to open.
func (d *Discovery) Open(c Choice) (provider.Model, error) {
	switch c.API {
	case Anthropic, Bedrock, Vertex:
		return d.openAnthropic(c)
	case OpenAIResponses, OpenAIChat:
		return d.openOpenAI(c), nil
	case Gemini:
		return gemini.New(gemini.Config{Info: c.Info, BaseURL: c.at.baseURL, APIKey: c.at.key, HTTP: c.client, Learned: &d.learned}), nil
	case Script, Replay, Offline:
		return nil, fmt.Errorf("open model %s: it is no service", c.Info.Ref())
	}
	return nil, errors.New("open model: nothing was chosen")
}

func (d *Discovery) openAnthropic(c Choice) (provider.Model, error) {
	cfg := anthropic.Config{
		Info: c.Info, BaseURL: c.at.baseURL, APIKey: c.at.key, AuthToken: c.at.token, HTTP: c.client, Learned: &d.learned,
		LongCache: truthy(d.cfg.Env("ENABLE_PROMPT_CACHING_1H")) && !truthy(d.cfg.Env("FORCE_PROMPT_CACHING_5M")),
		NoBetas:   d.on("DISABLE_EXPERIMENTAL_BETAS"),
	}
	if c.at.helper {
		cfg.Key = d.cfg.KeyHelper
	}
	if c.at.id == "anthropic" { // these belong to this service or its gateway alone
		cfg.Header, cfg.Betas = d.headers(), splitList(d.cfg.Env("ANTHROPIC_BETAS"))
		if raw := d.both("EXTRA_BODY"); raw != "" {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(raw), &object); err != nil {
				return nil, fmt.Errorf("CLAUDE_CODE_EXTRA_BODY: expected a JSON object: %w", err)
			}
			cfg.ExtraBody = json.RawMessage(raw)
		}
	}
	switch c.API {
	case Bedrock:
		cfg.Bedrock = &anthropic.Bedrock{Region: d.awsRegion(), BaseURL: c.at.baseURL, Bearer: c.at.token, Credentials: anthropic.AWSCredentials(d.cfg.Env, d.cfg.Run)}
		cfg.BaseURL, cfg.AuthToken = "", ""
	case Vertex:
		project, region := d.project()
		cfg.Vertex = &anthropic.Vertex{Project: project, Region: region, BaseURL: c.at.baseURL}
		cfg.BaseURL = ""
	}
	return anthropic.New(cfg), nil
}

func (d *Discovery) openOpenAI(c Choice) provider.Model {
	cfg := openai.Config{Info: c.Info, BaseURL: c.at.baseURL, APIKey: c.at.key, API: openai.Chat, HTTP: c.client, Learned: &d.learned}
	if c.API == OpenAIResponses {
		cfg.API = openai.Responses
	}
	switch c.at.id {
	case "openai":
		if !c.at.custom {
			cfg.Dialect = openai.OpenAIChat()
		}
	case "openrouter", "vercel":
		cfg.Dialect = openai.OpenRouter()
	case "deepseek", "moonshot", "zai", "zhipu", "zhipu-coding":
		// These want back what they thought while they call tools.
		cfg.Dialect = openai.Dialect{KeepReasoning: true}
	default:
		if c.at.local {
			cfg.Dialect = openai.Local()
		}
	}
	return openai.New(cfg)
}
