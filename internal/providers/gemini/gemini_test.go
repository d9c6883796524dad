package gemini_test

import (
	"net/http/httptest"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/gemini"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// serve starts a fake service that plays text.
func serve(t testing.TB, cfg fakeapi.Config, text string) (*fakeapi.Server, string) {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg.API, cfg.Script = fakeapi.Gemini, s
	fake, err := fakeapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, server.URL
}

func info(id string) provider.Info {
	return provider.Info{Provider: "gemini", ID: id, ContextWindow: 1_000_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true}
}

func TestContract(t *testing.T) {
	for _, without := range []bool{false, true} {
		t.Run(map[bool]string{false: "with ids", true: "without ids"}[without], func(t *testing.T) {
			contract.Played(t, contract.Able{Status: true}, func(t *testing.T, text string) provider.Model {
				_, url := serve(t, fakeapi.Config{NoCallIDs: without}, text)
				return gemini.New(gemini.Config{Info: info("gemini-3-flash-preview"), BaseURL: url, APIKey: "key"})
			})
		})
	}
}
