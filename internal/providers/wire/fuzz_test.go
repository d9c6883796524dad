package wire

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzParseError reads any error body: something readable comes out.
func FuzzParseError(f *testing.F) {
	f.Add([]byte(`{"error":{"code":400,"message":"{\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"y\"}}","status":"INVALID_ARGUMENT","details":[{"retryDelay":"3s"}]}}`))
	f.Add([]byte(`[{"error":"x"}]`))
	f.Add([]byte(`<html>`))
	f.Add([]byte(`{"detail":[{"msg":"x"}],"error":{"metadata":{"raw":"{}"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := ParseError(body)
		e.Status = 400
		if got := e.Error("x"); got.Kind == "" {
			t.Errorf("%q has no kind", body)
		}
	})
}

// FuzzCleanJSON repairs any JSON: valid stays valid and becomes what strict services read.
func FuzzCleanJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d\ude00 \ud83d \\ud83d"}`))
	f.Add([]byte("\"\xed\xa0\xbd\""))
	f.Add([]byte(`"\uD83D\u"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := CleanJSON(raw)
		if json.Valid(raw) && (!json.Valid(out) || !utf8.Valid(out)) {
			t.Errorf("%q became %q", raw, out)
		}
		var text Text
		if json.Valid(raw) && len(raw) > 1 && raw[0] == '"' && text.UnmarshalJSON(raw) == nil && !utf8.ValidString(text.String()) {
			t.Errorf("%q was read as %q", raw, text.String())
		}
	})
}
