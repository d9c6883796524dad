package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

func open(t testing.TB, corrections map[string]json.RawMessage) *Catalog {
	t.Helper()
	c, err := New(corrections)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryModelIsUsable(t *testing.T) {
	c := open(t, nil)
	apis := []string{"anthropic", "openai-responses", "openai-chat", "gemini", "bedrock", "vertex"}
	models := 0
	for _, p := range c.Providers() {
		if !slices.Contains(apis, p.API) {
			t.Errorf("%s: API is %q", p.ID, p.API)
		}
		if p.API == "openai-chat" && (!strings.HasPrefix(p.URL, "https://") || len(p.Keys) == 0) {
			t.Errorf("%s: URL %q, keys %v", p.ID, p.URL, p.Keys)
		}
		for _, id := range []string{p.Default, p.Fast} {
			if _, known := c.Model(p.ID, id); id != "" && !known {
				t.Errorf("%s: its default %q is not in its list", p.ID, id)
			}
		}
		for _, m := range p.Models() {
			models++
			if m.ID == "" || m.Provider != p.ID || m.ContextWindow < 0 || m.MaxOutput > m.ContextWindow {
				t.Errorf("%s: window %d, output %d", m.Ref(), m.ContextWindow, m.MaxOutput)
			}
			// A free model may have a price for what is cached nowhere near; otherwise the order holds.
			if q := m.Price; q.Input > 0 && (q.CacheRead > q.Input || q.CacheWrite < q.Input || q.CacheWrite1h < q.CacheWrite) {
				t.Errorf("%s: price %+v", m.Ref(), q)
			}
		}
	}
	if models < 1000 {
		t.Errorf("only %d models", models)
	}
}

func TestKnownPrices(t *testing.T) {
	c := open(t, nil)
	tests := map[string]provider.Price{
		"anthropic/claude-opus-4-6": {Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25, CacheWrite1h: 10},
		"anthropic/claude-opus-5-5": {Input: 4, Output: 20, CacheRead: 0.2, CacheWrite: 5, CacheWrite1h: 8},
		"openai/gpt-5":              {Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25, CacheWrite1h: 1.25},
		"openai/gpt-5.5":            {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 5, CacheWrite1h: 5}, // its reading price stands in the wrong column
		"openai/gpt-5.6-sol":        {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 6.25, CacheWrite1h: 6.25},
		"gemini/gemini-3.7-flash":   {Input: 0.75, Output: 3.75, CacheRead: 0.075, CacheWrite: 0.75, CacheWrite1h: 0.75}, // the output price stands in it
		"gemini/gemini-2.5-pro":     {Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25, CacheWrite1h: 1.25},
	}
	for ref, want := range tests {
		service, id, _ := strings.Cut(ref, "/")
		m, known := c.Model(service, id)
		if !known {
			t.Errorf("%s is not known", ref)
			continue
		}
		if diff := cmp.Diff(want, m.Price); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
	m, _ := c.Model("anthropic", "claude-opus-4-6")
	if got := m.Price.Cost(msg.Usage{Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 2_000_000, CacheWrite1h: 1_000_000}); got != 5+25+0.5+6.25+10 {
		t.Errorf("cost is %v", got)
	}
}

func TestNamesWithDatesAndRegions(t *testing.T) {
	c := open(t, nil)
	for _, tt := range []struct{ service, id string }{
		{"anthropic", "claude-haiku-4-5"},
		{"anthropic", "claude-opus-4-5"},
		{"bedrock", "eu.anthropic.claude-opus-4-5-20251101-v1:0"},
		{"vertex", "claude-haiku-4-5@20251001"},
	} {
		m, known := c.Model(tt.service, tt.id)
		if !known || m.ID != tt.id || m.ContextWindow == 0 {
			t.Errorf("%s/%s: %+v, known %t", tt.service, tt.id, m, known)
		}
	}
	if m, known := c.Model("anthropic", "claude-opus-9"); known || m.Ref() != "anthropic/claude-opus-9" {
		t.Errorf("an unknown model is %+v, known %t", m, known)
	}
}

func TestAliases(t *testing.T) {
	c := open(t, nil)
	for _, tt := range []struct{ service, alias, want string }{
		{"anthropic", "sonnet", "claude-sonnet-5-5"},
		{"anthropic", "opus", "claude-opus-5-5"},
		{"anthropic", "haiku", "claude-haiku-5-5"},
		{"anthropic", "best", "claude-opus-5-5"},
		{"anthropic", "fast", "claude-haiku-5-5"},
		{"openai", "best", "gpt-5.6-sol"},
		{"openai", "fast", "gpt-5.6-luna"},
		{"bedrock", "opus", "us.anthropic.claude-opus-5"},
		{"bedrock", "haiku", "us.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{"vertex", "sonnet", "claude-sonnet-4-6"},
	} {
		if got, ok := c.Alias(tt.service, tt.alias); !ok || got != tt.want {
			t.Errorf("%s %s is %q, want %q", tt.service, tt.alias, got, tt.want)
		}
	}
	if got, ok := c.Alias("openai", "sonnet"); ok {
		t.Errorf("OpenAI has a sonnet: %q", got)
	}
}

func TestCorrections(t *testing.T) {
	c, err := New(map[string]json.RawMessage{
		"anthropic/claude-opus-4-6": json.RawMessage(`{"context_window": 1000000, "price": {"input": 1}}`),
		"ollama/qwen3:8b":           json.RawMessage(`{"context_window": 40960, "local": true}`),
		"openai/gpt-5":              json.RawMessage(`{"context": 1}`),
		"nonsense":                  json.RawMessage(`{}`),
	})
	if err == nil || !strings.Contains(err.Error(), `"openai/gpt-5"`) || !strings.Contains(err.Error(), `"context"`) || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("error is %v", err)
	}
	m, _ := c.Model("anthropic", "claude-opus-4-6")
	if m.ContextWindow != 1_000_000 || m.Price.Input != 1 || m.Price.Output != 25 || m.MaxOutput != 128_000 {
		t.Errorf("corrected model is %+v", m)
	}
	if m, known := c.Model("ollama", "qwen3:8b"); !known || m.ContextWindow != 40960 || !m.Local {
		t.Errorf("added model is %+v", m)
	}
	if again := open(t, nil); again != nil {
		if m, _ := again.Model("anthropic", "claude-opus-4-6"); m.Price.Input != 5 {
			t.Error("a correction changed the shared list")
		}
	}
}

func TestNearest(t *testing.T) {
	c := open(t, nil)
	for ref, want := range map[string]string{
		"sonet":                        "sonnet",
		"anthropic/claude-sonet-4-6":   "anthropic/claude-sonnet-4-6",
		"gpt5":                         "openai/gpt-5",
		"antropic/claude-opus-4-6":     "anthropic/claude-opus-4-6",
		"claude-opus-46":               "anthropic/claude-opus-4-6",
		"gemini/gemini-3-flash-previe": "gemini/gemini-3-flash-preview",
	} {
		if got := c.Nearest(ref, 3); len(got) == 0 || got[0] != want {
			t.Errorf("nearest to %q are %v, want %q first", ref, got, want)
		}
	}
	if got := c.Nearest("something entirely different", 3); len(got) != 0 {
		t.Errorf("%v are near to nothing", got)
	}
}

func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		if _, err := New(nil); err != nil {
			b.Fatal(err)
		}
	}
}
