package app

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// TestFirstRequestIsSmall holds the size of the first request of a whole session, with everything a
// person who sits behind it adds: every byte of it is paid again with each request.
func TestFirstRequestIsSmall(t *testing.T) {
	s, err := script.Parse("test.yaml", []byte("turns:\n  - content: [{text: hi}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := fakeapi.New(fakeapi.Config{API: fakeapi.Anthropic, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	defer h.Close()
	dir, home := t.TempDir(), t.TempDir()
	session, err := Open(t.Context(), Options{
		Cwd: dir, Host: Host{Answers: true}, Version: "test", ModelChoice: ModelChoice{Model: "anthropic/claude-sonnet-4-5"}, Sources: Sources{Settings: `{"sandbox":{"enabled":false}}`},
		Env: map[string]string{"HOME": home, "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": h.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(context.Background())
	events := session.Events(t.Context(), Reading{})
	if err := session.Do(proto.O(proto.Prompt{Content: []msg.Block{msg.Text{Text: "hi"}}})); err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if _, ok := e.Body.(proto.Result); ok {
			break
		}
	}
	var body struct {
		Tools []json.RawMessage `json:"tools"`
	}
	raw := server.Requests()[0].Body
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	size := len(raw)
	for _, tool := range body.Tools {
		if bytes.Contains(tool, []byte(`"defer_loading":true`)) { // the service keeps it back
			size -= len(tool) + 1
		}
	}
	t.Logf("the model reads %d bytes of the first request's %d", size, len(raw))
	if size > 12_000 {
		t.Errorf("the model reads %d bytes of the first request, at most 12,000: defer a tool or shorten a description", size)
	}
}
