package contract_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// quirky opens the model of a service that serves the script, and hands out the service.
func quirky(m asked, last **fakeapi.Server) func(t *testing.T, text string) provider.Model {
	return func(t *testing.T, text string) provider.Model {
		t.Helper()
		s, err := script.Parse("quirks.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		fake, err := fakeapi.New(fakeapi.Config{API: m.api, Script: s})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(fake)
		t.Cleanup(server.Close)
		if last != nil {
			*last = fake
		}
		return m.open(server.URL)
	}
}

// Every model gets on with every quirk that its interface can have.
func TestKF131_KF129_KF132_EveryModelWithEveryQuirk(t *testing.T) {
	for _, m := range models() {
		// Interface by interface what a request can do without, and what tells it.
		quirks := []string{"[same_id]"}
		switch m.api {
		case fakeapi.OpenAIChat:
			if m.name == "chat" { // OpenAI itself has none of these but the refusals
				quirks = append(quirks, "[refuse:stream_options, refuse:reasoning_effort]", "[refuse:max_completion_tokens]")
				break
			}
			for _, q := range script.ChatQuirks() {
				quirks = append(quirks, "["+string(q)+"]")
			}
			quirks = append(quirks, "[repeat_calls, split_names, null_arguments]", "[reasoning_content, extra_content, alternate_roles, repeat_calls, refuse:stream_options]",
				"[refuse:stream_options]", "[refuse:max_tokens]")
		case fakeapi.OpenAIResponses:
			quirks = append(quirks, "[refuse:include, refuse:store]")
		case fakeapi.Anthropic:
			quirks = append(quirks, "[refuse:metadata, refuse:thinking]")
		case fakeapi.Gemini:
			quirks = append(quirks, "[refuse:toolConfig]")
		}
		for _, q := range quirks {
			t.Run(m.name+" "+q, func(t *testing.T) { contract.Quirky(t, q, quirky(m, nil)) })
		}
	}
}

func TestKF130_EveryModelTellsBadEnds(t *testing.T) {
	for _, m := range models() {
		quirks := []string{"[empty]"}
		if m.api != fakeapi.OpenAIResponses {
			quirks = append(quirks, "[end:error]", "[end:network_error]", "[end:abort]")
		}
		for _, q := range quirks {
			t.Run(m.name+" "+q, func(t *testing.T) { contract.EndsBadly(t, q, quirky(m, nil)) })
		}
	}
}

// One refusal is enough for a server.
func TestKF131_ARefusalIsRemembered(t *testing.T) {
	for _, m := range models() {
		if m.name != "chat without eyes" {
			continue
		}
		var server *fakeapi.Server
		contract.Quirky(t, "[refuse:stream_options, refuse:max_tokens]", quirky(m, &server))
		refused := 0
		for _, r := range server.Requests() {
			if r.Refusal != "" {
				refused++
			}
		}
		if refused != 2 {
			t.Errorf("%d requests were refused, want one for each field", refused)
		}
	}
}

func TestQuirksThatDoNotFit(t *testing.T) {
	for text, want := range map[string]string{
		"quirks: [odd]\nturns: [{content: [{text: a}]}]":               `s.yaml:1: quirks[0]: unknown quirk "odd"`,
		"quirks: ['refuse:']\nturns: [{content: [{text: a}]}]":         `unknown quirk "refuse:"`,
		"quirks: [extra_content]\nturns: [{content: [{text: a}]}]":     "is of openai-chat alone, not of openai-responses",
		"quirks: ['end:strange']\nturns: [{content: [{text: hello}]}]": "end without a word",
	} {
		s, err := script.Parse("s.yaml", []byte(text))
		if err == nil {
			_, err = fakeapi.New(fakeapi.Config{API: fakeapi.OpenAIResponses, Script: s})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
