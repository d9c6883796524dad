// Package discover finds the model a session talks to: from a name, from the environment and
// settings, from keys, or from a server on this machine.
//
// It decides nothing about rights or cost and opens no connection but, when nothing else is
// configured or a local server is named, short probes of the loopback ports local servers use.
// Begin with [New] and [Discovery.Resolve]; [Choice.Open] makes the model.
package discover

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/catalog"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// API is how a model is spoken to.
type API string

// The interfaces. The last three are opened by the caller: they are no services.
const (
	Anthropic       API = "anthropic"
	Bedrock         API = "bedrock"
	Vertex          API = "vertex"
	OpenAIResponses API = "openai-responses"
	OpenAIChat      API = "openai-chat"
	Gemini          API = "gemini"
	Script          API = "script"  // Choice.File is played
	Replay          API = "replay"  // Choice.File is played
	Offline         API = "offline" // nothing was configured
)

// Config is what the choice is made from.
type Config struct {
	Explicit string              // --model; wins over everything
	Env      func(string) string // reads the environment, after the settings' env block; must not be nil

	Model       string                                // settings: model
	Corrections map[string]json.RawMessage            // by provider/model, see catalog.New
	Overrides   func() map[string]string              // settings: modelOverrides as they are now, model id → the provider's id; nil: none
	KeyHelper   func(context.Context) (string, error) // settings: apiKeyHelper as it is now
	HasHelper   func() bool                           // whether there is one now; nil: there is none

	// Run runs a program that knows keys (aws, a credential_process) and returns what it printed. It
	// wraps [exec.ErrNotFound] when there is none. Needed where Amazon's services are.
	Run func(ctx context.Context, name string, args ...string) ([]byte, error)

	HTTP    *http.Client // for models and probes; nil: see wire.DefaultClient
	NoProbe bool         // never look for local servers
	// Probes are where local servers are looked for; nil: their usual ports. Tests point elsewhere.
	Probes []Probe
}

// Choice is a model that was found. It holds a key, which its String leaves out.
type Choice struct {
	Info   provider.Info
	API    API
	File   string // Script and Replay
	Named  bool   // somebody asked for it by name
	Source string // where it was found, for people: "--model", "ANTHROPIC_API_KEY", "Ollama at http://127.0.0.1:11434"
	at     service
	client *http.Client
}

// String names the model and where it was found.
func (c Choice) String() string { return c.Info.Ref() + " (" + c.Source + ")" }

// Discovery makes choices. It is safe for concurrent use.
type Discovery struct {
	cfg     Config
	catalog *catalog.Catalog
	learned wire.Learned // of all servers that were asked
}

// New returns a discovery. Corrections of models that cannot be read are told in the error; the
// discovery works without them all the same.
func New(cfg Config) (*Discovery, error) {
	c, err := catalog.New(cfg.Corrections)
	if c == nil {
		return nil, err
	}
	if cfg.Probes == nil {
		cfg.Probes = usualProbes(cfg.Env)
	}
	return &Discovery{cfg: cfg, catalog: c}, err
}

// Catalog is the list of known models.
func (d *Discovery) Catalog() *catalog.Catalog { return d.catalog }

// named is a place that may name a model.
type named struct{ source, name string }

// names lists the places in order of precedence.
func (d *Discovery) names() []named {
	return []named{
		{"--model", d.cfg.Explicit},
		{"MYELIN_MODEL", d.cfg.Env("MYELIN_MODEL")},
		{"ANTHROPIC_MODEL", d.cfg.Env("ANTHROPIC_MODEL")},
		{"settings (model)", d.cfg.Model},
		{"ANTHROPIC_DEFAULT_MODEL", d.cfg.Env("ANTHROPIC_DEFAULT_MODEL")},
	}
}

// Resolve finds the model of a session: the first that is named, else the first service with a
// key, else a local server that identifies itself, else [Offline]. An error is a *[provider.Error]:
// of kind model_not_found with the nearest names, or authentication_failed with the variable that
// is missing.
func (d *Discovery) Resolve(ctx context.Context) (Choice, error) {
	for _, n := range d.names() {
		name := strings.TrimSpace(n.name)
		if name == "" || name == "default" {
			continue
		}
		c, err := d.Named(ctx, name)
		if err != nil {
			return Choice{}, from(n.source, err)
		}
		c.Source, c.Named = n.source, true
		return c, nil
	}
	for _, id := range d.usual() {
		s := d.service(id)
		if s.missing != "" {
			continue
		}
		c, err := d.standard(ctx, s)
		if err != nil {
			return Choice{}, from(s.source, err)
		}
		c.Source = s.source
		return c, nil
	}
	if found := d.local(ctx); len(found) > 0 {
		return found[0].choice(d.cfg.HTTP), nil
	}
	return Choice{
		API: Offline, Info: provider.Info{Provider: "offline", ID: "offline", Local: true},
		Source: "no model is configured and no local server answers",
	}, nil
}

// from says where a name that does not work came from.
func from(source string, err error) error {
	if e, ok := err.(*provider.Error); ok {
		e.Message = source + ": " + e.Message
	}
	return err
}

// usual lists the services that are chosen by themselves, in order.
func (d *Discovery) usual() []string {
	var out []string
	if d.on("USE_BEDROCK") {
		out = append(out, "bedrock")
	}
	if d.on("USE_VERTEX") {
		out = append(out, "vertex")
	}
	if d.on("USE_FOUNDRY") {
		out = append(out, "foundry")
	}
	return append(out, "anthropic", "openai", "gemini")
}

// standard is the model a service is begun with.
func (d *Discovery) standard(ctx context.Context, s service) (Choice, error) {
	id := d.catalogDefault(listed(s.id))
	if s.custom && s.api == OpenAIChat { // a server of one's own has models of its own
		models, err := listModels(ctx, d.client(), s)
		if err != nil {
			return Choice{}, err
		}
		if len(models) > 0 {
			id = models[0]
		}
	}
	if id == "" {
		return Choice{}, unknown(s.id+"/…", nil, "name one of its models")
	}
	return d.choose(ctx, s, id), nil
}

func (d *Discovery) catalogDefault(id string) string {
	p, ok := d.catalog.Provider(id)
	if !ok {
		return ""
	}
	if id == "bedrock" || id == "vertex" {
		if model, ok := d.catalog.Alias(id, "sonnet"); ok {
			return model
		}
	}
	return p.Default
}

// choose describes one model of a service.
func (d *Discovery) choose(ctx context.Context, s service, id string) Choice {
	bare, long := strings.CutSuffix(id, "[1m]")
	info, known := d.catalog.Model(listed(s.id), bare)
	if !known && s.id != "anthropic" && (s.api == Bedrock || s.api == Vertex) {
		if other, ok := d.catalog.Model("anthropic", bare); ok { // the same models under other names
			info, known = other, true
		}
	}
	info.Provider = s.id
	if s.local {
		info = d.localInfo(ctx, s, info, known)
	}
	if long && info.ContextWindow < longWindow {
		info.ID = bare + "[1m]"
		info.ContextWindow = longWindow
	}
	if to := d.cfg.override(bare); to != "" {
		info.ID = to
	}
	d.limit(&info)
	return Choice{Info: info, API: s.api, Source: s.source, at: s, client: d.client()}
}

const (
	longWindow = 1_000_000
	baseWindow = 200_000
)

// limit applies the variables that change a window.
func (d *Discovery) limit(info *provider.Info) {
	if d.on("DISABLE_1M_CONTEXT") && info.ContextWindow > baseWindow && info.Provider == "anthropic" {
		info.ContextWindow = baseWindow
		info.ID = strings.TrimSuffix(info.ID, "[1m]")
	}
	if n := d.number("MAX_CONTEXT_TOKENS"); n > 0 {
		info.ContextWindow = n
	}
}

// override is the id a provider knows a model by; empty: its own.
func (c Config) override(id string) string {
	if c.Overrides == nil {
		return ""
	}
	return c.Overrides()[id]
}

func (d *Discovery) client() *http.Client { return d.cfg.HTTP }

// listTime bounds how long a server of one's own may take to list its models.
const listTime = 3 * time.Second

// probeTime bounds all probes of local servers together.
const probeTime = 150 * time.Millisecond
