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

// fiftyRounds are the requests of a turn of fifty rounds, and of commands after it.
func fiftyRounds(t *testing.T, api fakeapi.API, model string, vars map[string]string, after ...string) [][]byte {
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
	prompts := append([]string{"read all"}, after...)
	next := func() {
		if err := session.Do(proto.O(proto.Prompt{Content: []msg.Block{msg.Text{Text: prompts[0]}}})); err != nil {
			t.Fatal(err)
		}
		prompts = prompts[1:]
	}
	events := session.Events(t.Context(), Reading{})
	next()
	for e := range events {
		if r, ok := e.Body.(proto.Result); ok {
			if r.IsError {
				t.Fatalf("%+v", r)
			}
			if len(prompts) == 0 {
				break
			}
			next()
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

// TestTheRequestForASummarySharesThePrefix: of the request that a summary is asked with, the bytes of the
// conversation's last request are there again, at least 98 in a hundred, so that the cache is read.
func TestTheRequestForASummarySharesThePrefix(t *testing.T) {
	bodies := fiftyRounds(t, fakeapi.Anthropic, "anthropic/claude-sonnet-4-5", map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "URL"}, "/compact")
	if len(bodies) != 52 {
		t.Fatalf("%d requests", len(bodies))
	}
	text := func(body []byte) string {
		var v map[string]any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		withoutMarks(v)
		out := ""
		for _, part := range []string{"tools", "system", "messages"} { // as the service reads them
			raw, err := json.Marshal(v[part])
			if err != nil {
				t.Fatal(err)
			}
			out += string(raw)
		}
		return out
	}
	last, summary := text(bodies[50]), text(bodies[51])
	shared := 0
	for shared < min(len(last), len(summary)) && last[shared] == summary[shared] {
		shared++
	}
	t.Logf("%d of %d bytes are shared", shared, len(last))
	if shared*100 < len(last)*98 || !strings.Contains(summary[shared:], "write a summary of this conversation") {
		t.Errorf("the request for the summary shares %d of %d bytes with the last one", shared, len(last))
	}
}
