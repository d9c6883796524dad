package app

import (
	"context"
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
	body := server.Requests()[0].Body
	t.Logf("the first request has %d bytes", len(body))
	if len(body) > 12_000 {
		t.Errorf("the first request has %d bytes, at most 12,000: defer a tool or shorten a description", len(body))
	}
}
