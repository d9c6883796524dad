package anthropic_test

import (
	"net/http/httptest"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// serve starts a fake service that plays text.
func serve(t testing.TB, text string) (*fakeapi.Server, string) {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := fakeapi.New(fakeapi.Config{API: fakeapi.Anthropic, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, server.URL
}

func info(id string) provider.Info {
	return provider.Info{Provider: "anthropic", ID: id, ContextWindow: 200_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true}
}

func TestContract(t *testing.T) {
	contract.Played(t, contract.Able{Malformed: true, Status: true}, func(t *testing.T, text string) provider.Model {
		_, url := serve(t, text)
		return anthropic.New(anthropic.Config{Info: info("claude-sonnet-4-5"), BaseURL: url, APIKey: "key"})
	})
}
