package msg_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// refusal says why a strict service would refuse the messages, empty when it would not.
func refusal(ms []msg.Message) string {
	seen := map[string]bool{}
	var open []string // call ids of the message before
	for i, m := range ms {
		want := msg.User
		if i%2 == 1 {
			want = msg.Assistant
		}
		if m.Role != want {
			return fmt.Sprintf("message %d is of %s", i, m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		var calls, results []string
		leading := true
		for _, b := range m.Content {
			raw, err := msg.MarshalBlock(b)
			if err != nil || !json.Valid(raw) || !utf8.Valid(raw) {
				return fmt.Sprintf("message %d: block %T is no valid JSON: %v", i, b, err)
			}
			switch b := b.(type) {
			case msg.Text:
				leading = false
				if strings.TrimSpace(b.Text) == "" {
					return fmt.Sprintf("message %d has empty text", i)
				}
			case msg.ToolCall:
				if m.Role != msg.Assistant || seen[b.ID] || b.ID == "" {
					return fmt.Sprintf("message %d: call %q", i, b.ID)
				}
				seen[b.ID] = true
				calls = append(calls, b.ID)
			case msg.ToolResult:
				if m.Role != msg.User || !leading {
					return fmt.Sprintf("message %d: result %q out of place", i, b.CallID)
				}
				results = append(results, b.CallID)
			default:
				leading = false
			}
		}
		if !reflect.DeepEqual(open, results) {
			return fmt.Sprintf("message %d answers %v, called were %v", i, results, open)
		}
		if last := m.Content[len(m.Content)-1]; m.Role == msg.Assistant && last.Type() == "thinking" {
			return fmt.Sprintf("message %d ends with thinking", i)
		}
		open = calls
	}
	if n := len(ms); n > 0 && n%2 == 0 {
		return "the last message is the assistant's"
	}
	return ""
}

func anyText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "\n", "hello", "a\x00b", "\xff\xfe", "caf\xe9", "\xed\xa0\x80", "é\u2028"}),
		rapid.String(),
	).Draw(t, "text")
}

func anyBlock(t *rapid.T) msg.Block {
	id := rapid.SampledFrom([]string{"a", "b", "c", "", "a_2"}).Draw(t, "id")
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0, 1:
		return msg.Text{Text: anyText(t)}
	case 2:
		return msg.Thinking{Thinking: anyText(t), Signature: rapid.SampledFrom([]string{"", "sig"}).Draw(t, "sig")}
	case 3, 4:
		input := rapid.SampledFrom([]string{"", "{}", `{"a":"\ud800"}`, `{"a":"\udc00\ud83d\ude00"}`, "{", `"x"`, `{"a":"` + "\xff" + `"}`}).Draw(t, "input")
		return msg.ToolCall{ID: id, Name: rapid.SampledFrom([]string{"Bash", "", "bad name!", strings.Repeat("x", 90)}).Draw(t, "name"), Input: json.RawMessage(input)}
	case 5:
		return msg.Image{MediaType: "image/png", Data: []byte("not a picture")}
	default:
		return msg.ToolResult{CallID: id, Content: []msg.Block{msg.Text{Text: anyText(t)}}, IsError: rapid.Bool().Draw(t, "err")}
	}
}

func anyHistory(t *rapid.T) []msg.Message {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) msg.Message {
		m := msg.Message{
			Role:     rapid.SampledFrom([]msg.Role{msg.User, msg.Assistant}).Draw(t, "role"),
			Response: rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "response"),
			Content:  rapid.SliceOfN(rapid.Custom(anyBlock), 0, 4).Draw(t, "content"),
		}
		if m.Role == msg.User {
			m.Response = ""
			m.Origin = rapid.SampledFrom([]msg.Origin{msg.FromHuman, msg.FromTool}).Draw(t, "origin")
		}
		return m
	}), 0, 12).Draw(t, "history")
}

func TestSendableIsAlwaysAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := anyHistory(t)
		before := fmt.Sprintf("%#v", history)
		got := msg.Sendable(history, msg.Bounds{})
		if why := refusal(got); why != "" {
			t.Fatalf("refused: %s\n%#v", why, got)
		}
		if before != fmt.Sprintf("%#v", history) {
			t.Fatal("the history was changed")
		}
		again := msg.Sendable(got, msg.Bounds{})
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("not stable:\n%#v\n%#v", got, again)
		}
	})
}

func call(id string) msg.Message {
	return msg.Message{Role: msg.Assistant, Response: "r", Content: []msg.Block{msg.ToolCall{ID: id, Name: "Bash", Input: json.RawMessage("{}")}}}
}

func result(id, text string) msg.Message {
	return msg.Message{Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: id, Content: []msg.Block{msg.Text{Text: text}}}}}
}

func said(text string) msg.Message {
	return msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{Text: text}}}
}

func shape(ms []msg.Message) string {
	var out []string
	for _, m := range ms {
		s := string(m.Role[0]) + ":"
		for _, b := range m.Content {
			switch b := b.(type) {
			case msg.ToolCall:
				s += " call " + b.ID
			case msg.ToolResult:
				s += " result " + b.CallID + "=" + msg.TextOf(b.Content)
			case msg.Text:
				s += " " + b.Text
			default:
				s += " " + b.Type()
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestSendable(t *testing.T) {
	thought := msg.Message{Role: msg.Assistant, Response: "cut", Content: []msg.Block{msg.Thinking{Thinking: "hm", Signature: "s"}}}
	lost := "The call was interrupted; its outcome is unknown. Check the state before doing it again."
	for _, tt := range []struct {
		name string
		in   []msg.Message
		want string
	}{
		{"results come in call order, behind the whole answer", []msg.Message{
			said("go"), call("a"), call("b"), result("b", "2"), call("c"), result("a", "1"), result("c", "3"),
		}, "u: go\na: call a call b call c\nu: result a=1 result b=2 result c=3"},
		{"a missing result is filled in before the next prompt", []msg.Message{
			said("go"), call("a"), call("b"), result("a", "1"), said("next"),
		}, "u: go\na: call a call b\nu: result a=1 result b=" + lost + " next"},
		{"a result without call becomes a note", []msg.Message{said("go"), result("z", "lost")}, "u: go (Result of a call that is not shown:)\nlost"},
		{"a second result of one call is dropped", []msg.Message{said("go"), call("a"), result("a", "1"), result("a", "2")}, "u: go\na: call a\nu: result a=1"},
		{"thinking of an answer that broke off is dropped", []msg.Message{said("go"), thought, call("a"), result("a", "1")}, "u: go\na: call a\nu: result a=1"},
		{"an empty answer disappears", []msg.Message{said("go"), {Role: msg.Assistant, Content: []msg.Block{msg.Text{}}}, said("on")}, "u: go on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shape(msg.Sendable(tt.in, msg.Bounds{})); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestKF008_EmptyTextBlock(t *testing.T) {
	got := msg.Sendable([]msg.Message{
		said("go"),
		{Role: msg.Assistant, Content: []msg.Block{msg.Text{Text: ""}, msg.ToolCall{ID: "a", Name: "Bash"}}},
		{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: " "}}}, msg.Text{Text: "\n\t"}}},
	}, msg.Bounds{})
	if want := "u: go\na: call a\nu: result a="; shape(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", shape(got), want)
	}
}

func TestKF005_CutAtCharacterBoundary(t *testing.T) {
	text := "x" + strings.Repeat("😀", 10)
	for n := range len(text) + 1 {
		head, tail := msg.Cut(text, n), msg.CutTail(text, n)
		if !utf8.ValidString(head) || !utf8.ValidString(tail) || len(head) > n || len(tail) > n || n-len(head) > 3 || n-len(tail) > 3 {
			t.Errorf("cut at %d: %q, %q", n, head, tail)
		}
	}
}
