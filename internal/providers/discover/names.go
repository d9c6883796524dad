package discover

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/catalog"
)

// Named finds the model a name means: script:FILE, replay:FILE, offline, provider/model, a
// provider alone (its standard model), an alias, or a model's own id.
func (d *Discovery) Named(ctx context.Context, name string) (Choice, error) {
	if c, ok := special(name); ok {
		return c, nil
	}
	if id, model, ok := strings.Cut(name, "/"); ok && d.isService(id) {
		return d.of(ctx, id, model, name)
	}
	if d.isService(name) {
		return d.of(ctx, name, "", name)
	}
	bare, suffix := name, ""
	if b, long := strings.CutSuffix(name, "[1m]"); long {
		bare, suffix = b, "[1m]"
	}
	if slices.Contains(catalog.Aliases(), strings.ToLower(bare)) {
		return d.alias(ctx, strings.ToLower(bare), suffix)
	}
	return d.bare(ctx, name, bare)
}

// special are names of models that are no services.
func special(name string) (Choice, bool) {
	for _, api := range []API{Script, Replay} {
		if file, ok := strings.CutPrefix(name, string(api)+":"); ok {
			return Choice{API: api, File: file, Info: provider.Info{Provider: string(api), ID: file, Local: true}, Source: name}, true
		}
	}
	if name == string(Offline) {
		return Choice{API: Offline, Info: provider.Info{Provider: "offline", ID: "offline", Local: true}, Source: name}, true
	}
	return Choice{}, false
}

func (d *Discovery) isService(id string) bool { return d.service(id).api != "" }

// of finds a model of a service that was named.
func (d *Discovery) of(ctx context.Context, id, model, name string) (Choice, error) {
	s := d.service(id)
	if s.missing != "" {
		return Choice{}, missingKey(name, s)
	}
	if model == "" {
		if s.local {
			return d.firstOf(ctx, s)
		}
		return d.standard(ctx, s)
	}
	bare := strings.TrimSuffix(model, "[1m]")
	if to, ok := d.aliasOf(id, strings.ToLower(bare)); ok && slices.Contains(catalog.Aliases(), strings.ToLower(bare)) {
		return d.choose(ctx, s, to+strings.TrimPrefix(model, bare)), nil
	}
	if !d.plausible(s, bare) {
		return Choice{}, unknown(name, d.catalog.Nearest(name, 3), "")
	}
	return d.choose(ctx, s, model), nil
}

// firstOf is the first model of a local server.
func (d *Discovery) firstOf(ctx context.Context, s service) (Choice, error) {
	for _, found := range d.probe(ctx, func(p Probe) bool { return p.ID == s.id }) {
		return found.choice(d.cfg.HTTP), nil
	}
	return Choice{}, &provider.Error{Kind: provider.KindNetwork, Provider: s.id, Message: "no server answers as " + s.source + " with a model"}
}

// Names that are taken for new models although the catalog does not know them.
var (
	claudeName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)claude-(\d|opus-|sonnet-|haiku-|fable-|mythos-|instant)`)
	})
	openAIName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(gpt-\d|o\d|chatgpt-|codex-|ft:)`)
	})
	geminiName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^gemini-\d`) })
)

// plausible reports whether a service can have a model of that name.
func (d *Discovery) plausible(s service, id string) bool {
	if _, known := d.catalog.Model(listed(s.id), id); known || s.custom || d.cfg.override(id) != "" {
		return true
	}
	switch s.api {
	case Bedrock, Vertex:
		return claudeName().MatchString(id) || strings.HasPrefix(id, "arn:")
	case Gemini:
		return geminiName().MatchString(id)
	}
	switch s.id {
	case "anthropic", "foundry":
		return claudeName().MatchString(id)
	case "openai":
		return openAIName().MatchString(id)
	}
	return true // services that serve many makers' models get new ones every week
}

// ready lists the services that can be used, those chosen by themselves first.
func (d *Discovery) ready() []service {
	var out []service
	add := func(id string) {
		if s := d.service(id); s.missing == "" && !slices.ContainsFunc(out, func(have service) bool { return have.id == id }) {
			out = append(out, s)
		}
	}
	for _, id := range d.usual() {
		add(id)
	}
	for _, p := range d.catalog.Providers() {
		if p.ID != "bedrock" && p.ID != "bedrock-europe" && p.ID != "vertex" { // these need to be switched on
			add(p.ID)
		}
	}
	return out
}

// Fast names a quick, cheap model of a service for requests beside the conversation. A server of
// one's own has none: what the catalog knows is not there.
func (d *Discovery) Fast(service string) (ref string, ok bool) {
	s := d.service(service)
	if s.missing != "" || s.local || s.custom && s.api == OpenAIChat {
		return "", false
	}
	id, ok := d.aliasOf(service, "fast")
	if !ok {
		return "", false
	}
	if other, _, slash := strings.Cut(id, "/"); slash && d.isService(other) {
		return id, true // a variable names a model of another service
	}
	return service + "/" + id, true
}

func (d *Discovery) alias(ctx context.Context, alias, suffix string) (Choice, error) {
	for _, s := range d.ready() {
		id, ok := d.aliasOf(s.id, alias)
		if !ok {
			continue
		}
		if service, model, other := strings.Cut(id, "/"); other && service != s.id && d.isService(service) {
			return d.of(ctx, service, model+suffix, id)
		}
		return d.choose(ctx, s, id+suffix), nil
	}
	// Nobody with a key has it. Whose it is says which key is missing.
	return Choice{}, missingKey(alias, d.service("anthropic"))
}

// aliasOf resolves an alias at one service; the environment may say otherwise than the catalog.
func (d *Discovery) aliasOf(service, alias string) (id string, ok bool) {
	if slices.Contains([]string{"anthropic", "bedrock", "vertex", "foundry"}, service) {
		variables := map[string][]string{
			"opus":   {"ANTHROPIC_DEFAULT_OPUS_MODEL"},
			"best":   {"ANTHROPIC_DEFAULT_OPUS_MODEL"},
			"sonnet": {"ANTHROPIC_DEFAULT_SONNET_MODEL"},
			"haiku":  {"ANTHROPIC_DEFAULT_HAIKU_MODEL"},
			"fast":   {"ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"},
		}
		if id, _ := d.first(variables[alias]...); id != "" {
			return id, true
		}
	}
	return d.catalog.Alias(listed(service), alias)
}

// bare finds a model by its own id.
func (d *Discovery) bare(ctx context.Context, name, bare string) (Choice, error) {
	if id := d.maker(bare); id != "" {
		s := d.service(id)
		if s.missing == "" && d.plausible(s, bare) {
			return d.choose(ctx, s, name), nil
		}
		if s.missing != "" && d.plausible(s, bare) {
			if c, ok := d.elsewhere(ctx, bare); ok {
				return c, nil
			}
			return Choice{}, missingKey(name, s)
		}
	}
	if c, ok := d.elsewhere(ctx, bare); ok {
		return c, nil
	}
	if s := d.service("openai"); s.custom && s.missing == "" {
		return d.choose(ctx, s, name), nil
	}
	for _, found := range d.local(ctx) {
		for _, m := range found.Models {
			if m.ID == bare {
				return found.of(m, d.cfg.HTTP), nil
			}
		}
	}
	if found := d.catalog.Find(bare); len(found) > 0 {
		return Choice{}, missingKey(found[0].Ref(), d.service(found[0].Provider))
	}
	return Choice{}, unknown(name, d.catalog.Nearest(bare, 3), "")
}

// maker guesses from a model's id whose it is; empty: nobody's in particular.
func (d *Discovery) maker(id string) string {
	switch {
	case strings.Contains(id, "anthropic.claude") || strings.HasPrefix(id, "arn:aws"):
		return "bedrock"
	case strings.Contains(id, "/"):
		return ""
	case claudeName().MatchString(id) || d.cfg.override(id) != "":
		return d.usual()[0]
	case openAIName().MatchString(id):
		return "openai"
	case geminiName().MatchString(id):
		return "gemini"
	}
	return ""
}

// elsewhere finds a model at any service with a key.
func (d *Discovery) elsewhere(ctx context.Context, id string) (Choice, bool) {
	for _, s := range d.ready() {
		if _, known := d.catalog.Model(listed(s.id), id); known {
			return d.choose(ctx, s, id), true
		}
	}
	return Choice{}, false
}

func missingKey(name string, s service) error {
	return &provider.Error{Kind: provider.KindAuth, Provider: s.id, Message: fmt.Sprintf("%s needs %s, which is not set", name, s.missing)}
}

func unknown(name string, near []string, hint string) error {
	text := fmt.Sprintf("no model is called %q", name)
	if len(near) > 0 {
		text += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	if hint == "" {
		hint = "`myelin models` lists what can be used"
	}
	service, _, _ := strings.Cut(name, "/")
	return &provider.Error{Kind: provider.KindNotFound, Provider: service, Message: text + " (" + hint + ")"}
}
