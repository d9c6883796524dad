// Command generate writes ../catalog.json from the model lists of charm.land/catwalk and from
// supplement.json, which holds what those lists do not know yet. Run it with `go run .` here.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

type catalog struct {
	Version   int        `json:"version"`
	Source    string     `json:"source"`
	Providers []provider `json:"providers"`
}

type provider struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	API     string   `json:"api"`
	URL     string   `json:"url,omitempty"`
	Keys    []string `json:"keys,omitempty"` // environment variables
	Default string   `json:"default,omitempty"`
	Fast    string   `json:"fast,omitempty"`
	Models  []model  `json:"models,omitempty"`
	Packed  []byte   `json:"packed"` // the models, as JSON and gzip: few programs need those of more than one provider
}

type model struct {
	ID      string     `json:"id"`
	Name    string     `json:"name,omitempty"`
	Window  int64      `json:"window,omitempty"`
	Output  int64      `json:"output,omitempty"`
	Price   [5]float64 `json:"price"` // input, output, cache read, cache write, cache write for an hour
	Can     string     `json:"can,omitempty"`
	Efforts []string   `json:"efforts,omitempty"`
}

func main() {
	log.SetFlags(0)
	c := catalog{Version: 1, Source: "charm.land/catwalk " + version()}
	for _, p := range embedded.GetAll() {
		if out, ok := convert(p); ok {
			c.Providers = append(c.Providers, out)
		}
	}
	var extra []provider
	raw, err := os.ReadFile("supplement.json")
	if err != nil {
		log.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&struct {
		About string      `json:"about"`
		More  *[]provider `json:"providers"`
	}{More: &extra}); err != nil {
		log.Fatalf("read supplement.json: %v", err)
	}
	for _, p := range extra {
		c.merge(p)
	}
	slices.SortFunc(c.Providers, func(a, b provider) int { return strings.Compare(a.ID, b.ID) })
	n := 0
	for _, p := range c.Providers {
		n += len(p.Models)
	}
	fmt.Printf("%d providers, %d models\n", len(c.Providers), n)
	if err := write("../catalog.json", c); err != nil {
		log.Fatal(err)
	}
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == "charm.land/catwalk" {
			return dep.Version
		}
	}
	return "of unknown version"
}

// convert trims one provider; false: this program cannot speak to it.
func convert(p catwalk.Provider) (provider, bool) {
	out := provider{ID: string(p.ID), Name: p.Name, Default: p.DefaultLargeModelID, Fast: p.DefaultSmallModelID}
	if key, ok := strings.CutPrefix(p.APIKey, "$"); ok {
		out.Keys = []string{key}
	}
	if !strings.HasPrefix(p.APIEndpoint, "$") {
		out.URL = p.APIEndpoint
	}
	switch p.Type {
	case catwalk.TypeAnthropic:
		out.API = "anthropic"
	case catwalk.TypeOpenAI:
		out.API = "openai-chat"
		if out.ID == "openai" {
			out.API = "openai-responses"
		}
	case catwalk.TypeOpenAICompat, catwalk.TypeOpenRouter, catwalk.TypeVercel:
		out.API = "openai-chat"
	case catwalk.TypeGoogle:
		out.API = "gemini"
	case catwalk.TypeBedrock:
		out.API = "bedrock"
	case catwalk.TypeVertexAI:
		out.ID, out.API = "vertex", "vertex"
		out.Default, out.Fast = "", ""
	default:
		return out, false
	}
	if out.API == "openai-chat" && (out.URL == "" || len(out.Keys) == 0) {
		return out, false // needs more than a key
	}
	for _, m := range p.Models {
		if out.API == "vertex" && !strings.HasPrefix(m.ID, "claude") {
			continue // Google's own models there are not spoken to
		}
		out.Models = append(out.Models, trim(out, m))
	}
	return out, true
}

func trim(p provider, m catwalk.Model) model {
	out := model{ID: m.ID, Name: m.Name, Window: m.ContextWindow, Output: m.DefaultMaxTokens, Price: prices(p, m), Efforts: m.ReasoningLevels}
	if out.Output > out.Window {
		out.Output = 0
	}
	if p.API == "vertex" {
		out.ID = dated().ReplaceAllString(out.ID, "@$1") // Google writes the date behind an @
	}
	if m.SupportsImages {
		out.Can += "i"
	}
	native := p.API == "anthropic" && p.ID == "anthropic" || p.API == "gemini" || p.API == "bedrock" || p.API == "vertex" || p.ID == "openai"
	if native && m.SupportsImages {
		out.Can += "d" // PDF as it is
	}
	if m.CanReason {
		out.Can += "t"
	}
	if p.ID == "anthropic" || p.ID == "gemini" || p.ID == "openai" {
		out.Can += "w" // searches the web itself
	}
	return out
}

var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-(20\d{6})$`) })

// prices sorts out the cache prices. catwalk's names mislead (…InCached is what writing costs,
// …OutCached what reading costs), and its lists do not keep to them: some have the reading price in
// the first, some repeat the output price in the second. A reading price is at most half the input
// price, a writing price at least the input price; what is neither is not believed. Where no
// reading price is known, the input price stands, so that a cost is never shown too low.
func prices(p provider, m catwalk.Model) [5]float64 {
	in, out, a, b := m.CostPer1MIn, m.CostPer1MOut, m.CostPer1MInCached, m.CostPer1MOutCached
	read, write := in, in
	believable := func(v float64) bool { return v > 0 && v <= in/2 }
	switch {
	case believable(b):
		read = b
	case believable(a):
		read = a
	}
	if a >= in && a > 0 {
		write = a
	}
	hour := write
	if write > in && (p.API == "anthropic" || p.API == "bedrock" || p.API == "vertex") {
		hour = 2 * in // https://platform.claude.com/docs/en/build-with-claude/prompt-caching
	}
	all := [5]float64{in, out, read, write, hour}
	for i, v := range all {
		all[i] = math.Round(v*1e6) / 1e6
	}
	return all
}

// merge adds what the supplement knows; fields it leaves empty stay.
func (c *catalog) merge(p provider) {
	at := slices.IndexFunc(c.Providers, func(have provider) bool { return have.ID == p.ID })
	if at < 0 {
		c.Providers = append(c.Providers, p)
		return
	}
	have := &c.Providers[at]
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set(&have.Default, p.Default)
	set(&have.Fast, p.Fast)
	set(&have.URL, p.URL)
	if len(p.Keys) > 0 {
		have.Keys = p.Keys
	}
	for _, m := range p.Models {
		if i := slices.IndexFunc(have.Models, func(old model) bool { return old.ID == m.ID }); i >= 0 {
			have.Models[i] = m
			continue
		}
		have.Models = append([]model{m}, have.Models...)
	}
}

func write(path string, c catalog) error {
	for i := range c.Providers {
		p := &c.Providers[i]
		var err error
		if p.Packed, err = pack(p.Models); err != nil {
			return err
		}
		p.Models = nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(c); err != nil {
		return err
	}
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

func pack(models []model) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression) // no name and time: the same input gives the same file
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(models); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
