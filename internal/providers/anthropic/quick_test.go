package anthropic

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// What is read quickly is what the JSON reader reads.
func TestQuickReadsWhatTheJSONReaderReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z"\\/\n\t\r {}é😀]{0,20}`)).Draw(t, "text")
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		kind := rapid.SampledFrom([][2]string{{"text_delta", "text"}, {"input_json_delta", "partial_json"}, {"thinking_delta", "thinking"}, {"signature_delta", "signature"}}).Draw(t, "kind")
		blank := rapid.SampledFrom([]string{"", " "}).Draw(t, "blank")
		data := fmt.Sprintf(`{"type":%[1]s"content_block_delta",%[1]s"index":%[1]s%d,"delta":{"type":"%s","%s":%s}%[1]s}`, blank, rapid.IntRange(0, 1000).Draw(t, "index"), kind[0], kind[1], raw)
		if at := rapid.IntRange(-3*len(data), len(data)-1).Draw(t, "damage"); at >= 0 {
			data = data[:at] + rapid.StringN(0, 2, 2).Draw(t, "put") + data[at+1:]
		}
		var d decoder
		index, got, ok := d.quick([]byte(data))
		if !ok {
			return
		}
		var want event
		if err := json.Unmarshal([]byte(data), &want); err != nil {
			t.Fatalf("%q was read as %q and is no JSON: %v", data, got, err)
		}
		said := string(want.Delta.Text) + string(want.Delta.PartialJSON) + string(want.Delta.Thinking)
		if want.Type != "content_block_delta" || want.Index != index || said != string(got) {
			t.Fatalf("%q was read as %d %q, want %d %q", data, index, got, want.Index, said)
		}
	})
}

func TestQuickKnowsTheServicesForm(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}       }`:                  "Hello",
		`{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":"}}`: `{"a":`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"line\nnext \\ é"}}`:       "line\nnext \\ é",
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\u00e9"}}`:                        "-",
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"more":1}`:                    "-",
		`{"type":"message_stop"}`: "-",
		``:                        "-",
	} {
		var d decoder
		_, got, ok := d.quick([]byte(data))
		if text := string(got); ok != (want != "-") || ok && text != want {
			t.Errorf("%s was read as %q, %v", data, text, ok)
		}
	}
}
