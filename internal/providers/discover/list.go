package discover

import (
	"context"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Listed is one line of `myelin models`.
type Listed struct {
	Info     provider.Info
	Source   string // where it was found: the variable with the key, or the local server
	Standard bool   // the one a session begins with when no model is named
}

// List returns the models that can be used: those of services with a key, and those of local
// servers, which are always looked for here (bounded by 150 ms). lacking says for the main services
// without a key which variable is missing.
func (d *Discovery) List(ctx context.Context) (models []Listed, lacking []string) {
	for _, s := range d.ready() {
		p, _ := d.catalog.Provider(listed(s.id))
		for _, m := range p.Models() {
			m.Provider = s.id
			d.limit(&m)
			models = append(models, Listed{Info: m, Source: s.source})
		}
	}
	for _, f := range d.local(ctx) {
		for _, m := range f.Models {
			models = append(models, Listed{Info: m, Source: f.Name + " at " + f.URL})
		}
	}
	for _, id := range []string{"anthropic", "openai", "gemini"} {
		if s := d.service(id); s.missing != "" {
			lacking = append(lacking, id+": "+s.missing)
		}
	}
	if c, err := d.Resolve(ctx); err == nil {
		for i := range models {
			models[i].Standard = models[i].Info.Ref() == c.Info.Ref()
		}
	}
	return models, lacking
}
