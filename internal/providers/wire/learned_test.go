package wire

import (
	"net/http"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

func TestKF131_ARefusalNamesAField(t *testing.T) {
	for _, c := range []struct {
		body  string
		field string
		about bool
	}{
		{`{"error":{"message":"Unsupported parameter: 'stream_options'"}}`, "stream_options", true},
		{`{"error":{"message":"nope","param":"stream_options"}}`, "stream_options", true},
		{`{"error":{"message":"nope","param":"stream_options.include_usage"}}`, "stream_options", true},
		{`{"message":"metadata: Extra inputs are not permitted"}`, "metadata", true},
		{`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}`, "stream_options", true},
		{`{"detail":[{"type":"missing","loc":["body","user"],"msg":"Field required","input":{"stream_options":{}}}]}`, "stream_options", false}, // the request is repeated
		{`{"error":{"message":"no stream_options_v2 here"}}`, "stream_options", false},
		{`{"error":{"message":"the server had to stop"}}`, "stop", false}, // plain English
		{`{"error":{"message":"unknown field \"stop\""}}`, "stop", true},
		{`{"error":{"message":"max_completion_tokens is unknown"}}`, "max_tokens", false},
	} {
		if got := About(ParseError([]byte(c.body)).Message, []byte(c.body), c.field); got != c.about {
			t.Errorf("%s is about %s: %t", c.body, c.field, got)
		}
	}
}

func TestKF131_OnlyRefusalsOfWhatWasSentCount(t *testing.T) {
	o := Optional{Fields: []string{"stream_options"}}
	refusal := func(kind provider.Kind, status int) *provider.Error {
		return &provider.Error{Kind: kind, Status: status, Message: "unknown parameter: 'stream_options'"}
	}
	with, bare := []byte(`{"stream_options":{},"a":1}`), []byte(`{"a":1}`)
	for _, c := range []struct {
		e    *provider.Error
		body []byte
		want string
	}{
		{refusal(provider.KindInvalid, http.StatusBadRequest), with, "stream_options"},
		{refusal(provider.KindInvalid, http.StatusUnprocessableEntity), with, "stream_options"},
		{refusal(provider.KindInvalid, http.StatusBadRequest), bare, ""},
		{refusal(provider.KindServer, http.StatusInternalServerError), with, ""},
		{refusal(provider.KindTooLong, http.StatusBadRequest), with, ""},
	} {
		if got := o.refused(c.e, nil, c.body); got != c.want {
			t.Errorf("%v of %s: %q, want %q", c.e, c.body, got, c.want)
		}
	}
}

func TestWithoutKeepsTheRest(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`{"a":1,"b":[1, 2],"c":"x,}"}`, `{"a":1,"c":"x,}"}`},
		{`{"b":1}`, `{}`},
		{`{ "b" : 1 , "a" : {"b":2} }`, `{"a" : {"b":2}}`},
		{`[1]`, `[1]`},
		{`{"a":1`, `{"a":1`},
	} {
		if got := string(without([]byte(c.in), "b")); got != c.out {
			t.Errorf("%s: %s, want %s", c.in, got, c.out)
		}
	}
	var learned *Learned
	if learned.Add("s", "f") || learned.Has("s", "f") {
		t.Error("a nil one keeps something")
	}
}
