package app

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
	"github.com/myelin-agent/myelin/internal/testkit/promptcache"
)

// TestKF135_LoadedToolsKeepTheCache: fifty rounds, in the fifth of which a tool is loaded, read at least 97 of
// 100 bytes from the cache by the public rules, also with thirty results in one round and while another model
// answers in the middle.
func TestKF135_LoadedToolsKeepTheCache(t *testing.T) {
	for _, wire := range []struct {
		api   fakeapi.API
		model string
		other string
		env   map[string]string
		bill  func([][]byte) (promptcache.Bill, error)
	}{
		{
			fakeapi.Anthropic, "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-6",
			map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "URL"},
			promptcache.Anthropic,
		},
		{
			fakeapi.OpenAIResponses, "openai/gpt-5.6-sol", "openai/gpt-5.6-luna",
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "URL/v1", "MYELIN_OPENAI_API": "responses"},
			promptcache.Prefix,
		},
	} {
		for _, how := range []struct {
			name     string
			parallel int // calls of round 20
			others   int // rounds of another model behind round 25
		}{{"one tool", 1, 0}, {"thirty results", 30, 0}, {"another model", 1, 15}} {
			t.Run(string(wire.api)+"/"+how.name, func(t *testing.T) {
				var turns strings.Builder
				read := func(n int) string { return fmt.Sprintf("{tool: Read, input: {file_path: f.txt, limit: %d}}", n) }
				put := func(content ...string) {
					fmt.Fprintf(&turns, "  - content: [%s]\n", strings.Join(content, ", "))
				}
				for n := range 50 {
					switch n {
					case 5:
						put(`{tool: ToolSearch, input: {query: "select:WebFetch"}}`)
					case 20:
						var calls []string
						for i := range how.parallel {
							calls = append(calls, read(100+i))
						}
						put(calls...)
					case 25:
						put("{text: the first part is done}")
						for i := range how.others {
							put(read(200 + i))
						}
						put("{text: the second part is done}")
					default:
						put(read(n + 1))
					}
				}
				put("{text: done}")
				bodies := threeTurns(t, wire.api, wire.model, wire.other, wire.env, turns.String())
				var own [][]byte
				for _, b := range bodies {
					if strings.Contains(string(b[:min(len(b), 200)]), strings.TrimPrefix(wire.model, strings.Split(wire.model, "/")[0]+"/")) {
						own = append(own, b)
					}
				}
				bill, err := wire.bill(own)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d requests: %.1f %% read, price %.2f: %+v", len(own), 100*bill.Share(), bill.Price(), bill)
				if len(own) < 48 || bill.Share() < 0.97 {
					t.Errorf("%d requests read %.1f %% from the cache, want 97", len(own), 100*bill.Share())
				}
			})
		}
	}
}

// threeTurns plays a script in three turns, the second of which another model answers.
func threeTurns(t *testing.T, api fakeapi.API, model, other string, vars map[string]string, turns string) [][]byte {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte("turns:\n"+turns))
	if err != nil {
		t.Fatal(err)
	}
	server, err := fakeapi.New(fakeapi.Config{API: api, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	defer h.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte("a line of text\nand another\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": t.TempDir(), "PATH": "/usr/bin:/bin"}
	for name, value := range vars {
		env[name] = strings.ReplaceAll(value, "URL", h.URL)
	}
	session, err := Open(t.Context(), Options{Cwd: dir, Version: "test", ModelChoice: ModelChoice{Model: model}, Sources: Sources{Settings: `{"sandbox":{"enabled":false}}`}, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(context.Background())
	next, stop := iter.Pull(session.Events(t.Context(), Reading{}))
	defer stop()
	for _, ref := range []string{model, other, model} {
		for _, op := range []proto.OpBody{proto.SetModel{Model: ref}, proto.Prompt{Content: []msg.Block{msg.Text{Text: "go on"}}}} {
			if err := session.Do(proto.O(op)); err != nil {
				t.Fatal(err)
			}
		}
		for {
			e, ok := next()
			if !ok {
				t.Fatal("the session ended")
			}
			if r, is := e.Body.(proto.Result); is {
				if r.IsError {
					t.Fatalf("%+v", r)
				}
				break
			}
		}
	}
	var out [][]byte
	for _, r := range server.Requests() {
		if strings.Contains(string(r.Body), "go on") && strings.Contains(string(r.Body), `"tools"`) {
			out = append(out, r.Body)
		}
	}
	return out
}
