// Package catalog knows the models of public services: windows, limits, prices, abilities, and the
// short names people use for them.
//
// The list is generated at development time (generate/) and embedded; nothing is fetched, and the
// models of a service are unpacked when they are asked for. A user's settings may correct the list
// and add to it. Begin with [New].
package catalog

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the list
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

//go:embed catalog.json
var embedded []byte

// Provider is one service.
type Provider struct {
	ID      string
	Name    string
	API     string   // anthropic, openai-responses, openai-chat, gemini, bedrock, vertex
	URL     string   // base URL; empty: the client's default
	Keys    []string // environment variables that hold a key, in order
	Default string   // id of the model to begin with
	Fast    string   // id of a fast, cheap model
	models  func() []provider.Info
}

// Models returns what the service serves. It is shared: who changes something copies first.
func (p Provider) Models() []provider.Info {
	if p.models == nil {
		return nil
	}
	return p.models()
}

// list is the embedded file.
type list struct {
	Version   int
	Source    string
	Providers []struct {
		ID, Name, API, URL string
		Keys               []string
		Default, Fast      string
		Packed             []byte // gzip of a JSON list of [entry]
	}
}

// entry is one model in the file.
type entry struct {
	ID, Name string
	Window   int
	Output   int
	Price    [5]float64
	Can      string
	Efforts  []string
}

// builtin is the list as it was generated. It is shared: who changes something copies first.
var builtin = sync.OnceValues(func() ([]Provider, error) {
	var l list
	if err := json.Unmarshal(embedded, &l); err != nil {
		return nil, fmt.Errorf("read the model catalog: %w", err)
	}
	out := make([]Provider, 0, len(l.Providers))
	for _, p := range l.Providers {
		out = append(out, Provider{
			ID: p.ID, Name: p.Name, API: p.API, URL: p.URL, Keys: p.Keys, Default: p.Default, Fast: p.Fast,
			models: sync.OnceValue(func() []provider.Info { return unpack(p.ID, p.Packed) }),
		})
	}
	return out, nil
})

// unpack reads the models of one service. It panics when the program was built of a broken file,
// which no test lets pass.
func unpack(service string, packed []byte) []provider.Info {
	var entries []entry
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(z).Decode(&entries)
	}
	if err != nil {
		panic(fmt.Sprintf("model catalog, %s: %v", service, err))
	}
	out := make([]provider.Info, 0, len(entries))
	for _, m := range entries {
		has := func(ability string) bool { return strings.Contains(m.Can, ability) }
		out = append(out, provider.Info{
			Provider: service, ID: m.ID, Name: m.Name, ContextWindow: m.Window, MaxOutput: m.Output,
			Price:  provider.Price{Input: m.Price[0], Output: m.Price[1], CacheRead: m.Price[2], CacheWrite: m.Price[3], CacheWrite1h: m.Price[4]},
			Images: has("i"), Documents: has("d"), Thinking: has("t"), WebSearch: has("w"), Efforts: m.Efforts,
		})
	}
	return out
}

// Catalog is the list with a user's corrections. It is immutable and safe for concurrent use.
type Catalog struct {
	providers []Provider
}

// New returns the catalog with corrections: by "provider/id" an object with any of the fields of
// [provider.Info] ("context_window", "max_output", "price", "images" and so on). A model that is not
// in the list is added. A correction that cannot be read is told in the error, and the others are
// made all the same.
func New(corrections map[string]json.RawMessage) (*Catalog, error) {
	list, err := builtin()
	if err != nil {
		return nil, err
	}
	c := &Catalog{providers: slices.Clone(list)}
	refs := make([]string, 0, len(corrections))
	for ref := range corrections {
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	var bad []string
	for _, ref := range refs {
		if err := c.correct(ref, corrections[ref]); err != nil {
			bad = append(bad, err.Error())
		}
	}
	if len(bad) > 0 {
		return c, fmt.Errorf("model settings: %s", strings.Join(bad, "; "))
	}
	return c, nil
}

func (c *Catalog) correct(ref string, raw json.RawMessage) error {
	name, id, ok := strings.Cut(ref, "/")
	if !ok || name == "" || id == "" {
		return fmt.Errorf("%q: expected provider/model", ref)
	}
	p := slices.IndexFunc(c.providers, func(p Provider) bool { return p.ID == name })
	if p < 0 {
		c.providers = append(c.providers, Provider{ID: name, Name: name, API: "openai-chat"})
		p = len(c.providers) - 1
	}
	models := slices.Clone(c.providers[p].Models())
	at := slices.IndexFunc(models, func(m provider.Info) bool { return m.ID == id })
	if at < 0 {
		models = append(models, provider.Info{})
		at = len(models) - 1
	}
	info := models[at]
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&info); err != nil {
		return fmt.Errorf("%q: %s", ref, strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := compatible(info.Compat); err != nil {
		return fmt.Errorf("%q: %w", ref, err)
	}
	info.Provider, info.ID = name, id
	models[at] = info
	c.providers[p].models = func() []provider.Info { return models }
	return nil
}

// compatible refuses values that no interface knows.
func compatible(c provider.Compat) error {
	for _, f := range []struct {
		name, value string
		known       []string
	}{
		{"max_tokens_field", c.MaxTokens, []string{"max_tokens", "max_completion_tokens"}},
		{"system_role", c.System, []string{"system", "developer"}},
		{"effort", c.Effort, []string{"field", "object", "none"}},
	} {
		if f.value != "" && !slices.Contains(f.known, f.value) {
			return fmt.Errorf("compat.%s: expected one of %s, got %q", f.name, strings.Join(f.known, ", "), f.value)
		}
	}
	if c.IDLength != 0 && c.IDLength < 9 {
		return fmt.Errorf("compat.id_length: expected at least 9, got %d", c.IDLength)
	}
	return nil
}

// Providers returns all services, by id.
func (c *Catalog) Providers() []Provider { return slices.Clone(c.providers) }

// Provider finds a service.
func (c *Catalog) Provider(id string) (Provider, bool) {
	for _, p := range c.providers {
		if p.ID == id {
			return p, true
		}
	}
	return Provider{}, false
}

// Model finds a model of a service, also under a name with a date, a version or a region added or
// left out; its ID is then the one that was asked for. An unknown model has only its names set.
func (c *Catalog) Model(service, id string) (info provider.Info, known bool) {
	p, _ := c.Provider(service)
	for _, m := range p.Models() {
		if m.ID == id {
			return m, true
		}
	}
	for _, m := range p.Models() {
		if wire.SameModel(m.ID, id) {
			m.ID = id
			return m, true
		}
	}
	return provider.Info{Provider: service, ID: id}, false
}

// Find returns the models of that id in all services.
func (c *Catalog) Find(id string) (out []provider.Info) {
	for _, p := range c.providers {
		if m, known := c.Model(p.ID, id); known {
			out = append(out, m)
		}
	}
	return out
}

// Aliases are the short names, for help texts.
func Aliases() []string { return []string{"sonnet", "opus", "haiku", "best", "fast"} }

// Alias resolves a short name to a model of a service. best is the strongest model without a
// special contract, fast the quick and cheap one.
func (c *Catalog) Alias(service, alias string) (id string, ok bool) {
	p, found := c.Provider(service)
	if !found {
		return "", false
	}
	switch alias {
	case "fast":
		return p.Fast, p.Fast != ""
	case "best":
		if id, ok := newest(p, "opus"); ok {
			return id, true
		}
		return p.Default, p.Default != ""
	case "sonnet", "opus", "haiku":
		return newest(p, alias)
	}
	return "", false
}

// newest finds the newest model of one of Anthropic's lines.
func newest(p Provider, line string) (id string, ok bool) {
	best := [2]int{}
	for _, m := range p.Models() {
		bare := m.ID
		if at := strings.LastIndexByte(bare, '/'); at >= 0 {
			bare = bare[at+1:]
		}
		version, is := versionOf(bare, line)
		if is && (!ok || slices.Compare(version[:], best[:]) > 0) {
			id, best, ok = m.ID, version, true
		}
	}
	return id, ok
}

// versionOf reads 4 and 5 out of us.anthropic.claude-opus-4-5-20251101-v1:0 and claude-opus-4.5.
func versionOf(id, line string) (version [2]int, ok bool) {
	_, rest, ok := strings.Cut(id, "claude-"+line+"-")
	if !ok {
		return version, false
	}
	n := 0
	for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' }) {
		v := 0
		if _, err := fmt.Sscanf(part, "%d", &v); err != nil || v > 99 || n == len(version) || fmt.Sprint(v) != part {
			if n == 0 || len(part) < 8 && part[0] != 'v' {
				return version, false // claude-opus-latest, …-thinking: another thing
			}
			break
		}
		version[n] = v
		n++
	}
	return version, n > 0
}

// Nearest returns up to n full names that look most like ref, the nearest first.
func (c *Catalog) Nearest(ref string, n int) []string {
	type near struct {
		name     string
		distance int
	}
	ref = strings.ToLower(ref)
	var all []near
	consider := func(name, compared string) {
		d := nearest.Distance(ref, strings.ToLower(compared))
		if d <= max(len(ref)/3, 2) {
			all = append(all, near{name, d})
		}
	}
	for _, a := range Aliases() {
		consider(a, a)
	}
	service, _, named := strings.Cut(ref, "/")
	for _, p := range c.providers {
		for _, m := range p.Models() {
			if named && strings.HasPrefix(ref, p.ID+"/") || !named && mainProvider(p.ID) || named && nearest.Distance(service, p.ID) == 1 {
				consider(m.Ref(), m.Ref())
			}
			if !named && mainProvider(p.ID) {
				consider(m.Ref(), m.ID)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	var out []string
	for _, a := range all {
		if len(out) < n && !slices.Contains(out, a.name) {
			out = append(out, a.name)
		}
	}
	return out
}

// mainProvider reports the services that make the models they serve; bare names mean theirs.
func mainProvider(id string) bool { return id == "anthropic" || id == "openai" || id == "gemini" }
