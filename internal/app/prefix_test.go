package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// TestThePrefixOfConsecutiveRequestsStays: for fifty rounds each request begins with the bytes of the
// one before, so that the service's prompt cache is read, also when instruction files come with a file.
func TestThePrefixOfConsecutiveRequestsStays(t *testing.T) {
	for _, wire := range []struct {
		api      fakeapi.API
		model    string
		env      map[string]string
		messages string // the list that grows
	}{
		{fakeapi.Anthropic, "anthropic/claude-sonnet-4-5", map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "URL"}, "messages"},
		{fakeapi.OpenAIChat, "openai/gpt-5", map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "URL/v1"}, "messages"},
		{fakeapi.OpenAIResponses, "openai/gpt-5", map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "URL/v1", "MYELIN_OPENAI_API": "responses"}, "input"},
		{fakeapi.Gemini, "gemini/gemini-2.5-pro", map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "URL"}, "contents"},
	} {
		t.Run(string(wire.api), func(t *testing.T) {
			bodies := fiftyRounds(t, wire.api, wire.model, wire.env)
			if len(bodies) != 51 {
				t.Fatalf("%d requests", len(bodies))
			}
			var before map[string]any
			for n, body := range bodies {
				var now map[string]any
				if err := json.Unmarshal(body, &now); err != nil {
					t.Fatal(err)
				}
				withoutMarks(now)
				if before != nil {
					same(t, n, wire.messages, before, now)
				}
				before = now
			}
		})
	}
}

func fiftyRounds(t *testing.T, api fakeapi.API, model string, vars map[string]string) [][]byte {
	t.Helper()
	var turns strings.Builder
	for n := range 50 {
		fmt.Fprintf(&turns, "  - content: [{tool: Read, input: {file_path: \"sub/f%d.txt\"}}]\n", n)
	}
	s, err := script.Parse("test.yaml", []byte("turns:\n"+turns.String()+"  - content: [{text: done}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := fakeapi.New(fakeapi.Config{API: api, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	defer h.Close()
	dir, home := t.TempDir(), t.TempDir()
	files := map[string]string{"CLAUDE.md": "top @more.md", "more.md": "more", "sub/CLAUDE.md": "nested", ".claude/rules/r.md": "---\npaths: \"sub/f7.txt\"\n---\nrule"}
	for n := range 50 {
		files[fmt.Sprintf("sub/f%d.txt", n)] = strings.Repeat(fmt.Sprintf("line of %d\n", n), 5)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "PATH": "/usr/bin:/bin"}
	for name, value := range vars {
		env[name] = strings.ReplaceAll(value, "URL", h.URL)
	}
	session, err := Open(t.Context(), Options{Cwd: dir, Version: "test", ModelChoice: ModelChoice{Model: model}, Sources: Sources{Settings: `{"sandbox":{"enabled":false}}`}, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(context.Background())
	events := session.Events(t.Context(), Reading{})
	if err := session.Do(proto.O(proto.Prompt{Content: []msg.Block{msg.Text{Text: "read all"}}})); err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if r, ok := e.Body.(proto.Result); ok {
			if r.IsError {
				t.Fatalf("%+v", r)
			}
			break
		}
	}
	var out [][]byte
	for _, r := range server.Requests() {
		if strings.Contains(string(r.Body), "read all") {
			out = append(out, r.Body)
		}
	}
	return out
}

// withoutMarks removes what marks the cache's borders: it moves, and counts for nothing.
func withoutMarks(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for _, x := range v {
			withoutMarks(x)
		}
	case []any:
		for _, x := range v {
			withoutMarks(x)
		}
	}
}

// same compares a request with the one before: everything but the list of messages is equal, and that
// begins with the list before.
func same(t *testing.T, n int, list string, before, now map[string]any) {
	t.Helper()
	for key := range before {
		if key == list {
			continue
		}
		if diff := cmp.Diff(before[key], now[key]); diff != "" {
			t.Errorf("request %d: %s differs:\n%s", n, key, diff)
		}
	}
	old, _ := before[list].([]any)
	longer, _ := now[list].([]any)
	if len(longer) <= len(old) {
		t.Fatalf("request %d has %d messages after %d", n, len(longer), len(old))
	}
	if diff := cmp.Diff(old, longer[:len(old)]); diff != "" {
		t.Errorf("request %d: the messages before differ:\n%s", n, diff)
	}
}
