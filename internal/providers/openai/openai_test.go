package openai_test

import (
	"net/http/httptest"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/openai"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// serve starts a fake service that plays text.
func serve(t testing.TB, api fakeapi.API, text string) (*fakeapi.Server, string) {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := fakeapi.New(fakeapi.Config{API: api, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, server.URL + "/v1"
}

func info() provider.Info {
	return provider.Info{Provider: "openai", ID: "gpt-5", ContextWindow: 200_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true, Efforts: []string{"minimal", "low", "medium", "high"}}
}

func TestContract(t *testing.T) {
	t.Run("responses", func(t *testing.T) {
		contract.Played(t, contract.Able{Malformed: true, Status: true}, func(t *testing.T, text string) provider.Model {
			_, url := serve(t, fakeapi.OpenAIResponses, text)
			return openai.New(openai.Config{Info: info(), BaseURL: url, APIKey: "key", API: openai.Responses})
		})
	})
	t.Run("chat", func(t *testing.T) {
		contract.Played(t, contract.Able{Malformed: true, Status: true}, func(t *testing.T, text string) provider.Model {
			_, url := serve(t, fakeapi.OpenAIChat, text)
			return openai.New(openai.Config{Info: info(), BaseURL: url, APIKey: "key"})
		})
	})
}
