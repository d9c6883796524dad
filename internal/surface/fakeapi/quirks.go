package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

// quirks are how a service differs from the one it stands for.
type quirks []script.Quirk

func (q quirks) has(one script.Quirk) bool { return slices.Contains(q, one) }

// fit refuses quirks that the interface cannot have.
func (q quirks) fit(api API) error {
	for _, one := range q {
		_, ends := one.Argument(script.EndPrefix)
		switch {
		case api != OpenAIChat && slices.Contains(script.ChatQuirks(), one):
			return fmt.Errorf("fake API: the quirk %s is of %s alone, not of %s", one, OpenAIChat, api)
		case ends && api == OpenAIResponses:
			return fmt.Errorf("fake API: the quirk %s: answers of %s end without a word", one, api)
		}
	}
	return nil
}

// refuse refuses a request that holds a field this service does not know.
func (q quirks) refuse(body []byte) *refusal {
	sent := fields(body)
	for _, one := range q {
		name, ok := one.Argument(script.RefusePrefix)
		if _, holds := sent[name]; ok && holds {
			return &refusal{status: http.StatusUnprocessableEntity, typ: "invalid_request_error", message: fmt.Sprintf("Unsupported parameter: '%s'", name)}
		}
	}
	return nil
}

// turn is the answer as this service gives it.
func (q quirks) turn(t script.Turn) script.Turn {
	if t.Content == nil {
		return t
	}
	for _, one := range q {
		if word, ok := one.Argument(script.EndPrefix); ok {
			t.Stop = msg.Stop(word)
		}
	}
	if q.has(script.Empty) {
		t.Content, t.Stop = []script.Block{}, msg.StopEndTurn
	}
	return t
}

// good reports whether the end of an answer is one that services give.
func good(s msg.Stop) bool {
	switch s {
	case msg.StopEndTurn, msg.StopToolUse, msg.StopMaxTokens, msg.StopRefusal, msg.StopSequence, msg.StopPause:
		return true
	}
	return false
}

// callMembers are the members a call in a request may have.
func (q quirks) callMembers() []string {
	known := []string{"id", "type", "function"}
	if q.has(script.ExtraBack) {
		known = append(known, "extra_content")
	}
	return known
}

// extraOf is what a call carries and must carry again.
func extraOf(id string) object { return object{"fake": object{"mark": "mark of " + id}} }

// quirky checks what this service demands of a conversation beyond the interface.
func (r *chatRead) quirky(list []json.RawMessage) {
	before := ""
	for i, raw := range list {
		var m struct {
			Role      string  `json:"role"`
			Reasoning *string `json:"reasoning_content"`
			Calls     []struct {
				ID    string          `json:"id"`
				Extra json.RawMessage `json:"extra_content"`
			} `json:"tool_calls"`
		}
		if json.Unmarshal(raw, &m) != nil {
			continue // refused before
		}
		if r.quirks.has(script.AlternateRoles) && m.Role == "user" && before == "tool" {
			r.bad("Unexpected role 'user' after role 'tool' (messages[%d])", i)
		}
		if r.quirks.has(script.ReasoningBack) && len(m.Calls) > 0 && m.Reasoning == nil {
			r.bad("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
		}
		for _, c := range m.Calls {
			if r.quirks.has(script.ExtraBack) && !strings.Contains(string(c.Extra), `"mark of `+c.ID+`"`) {
				r.bad("Function call %s is missing its extra_content (messages[%d])", c.ID, i)
			}
		}
		before = m.Role
	}
}

// call tells one call of a stream, in this service's way; put takes the part of a call.
func (q quirks) call(b script.Block, index, chunk int, put func(isDelta bool, part object)) {
	names := []string{b.Tool}
	if half := len(b.Tool) / 2; q.has(script.SplitNames) && half > 0 {
		names = []string{b.Tool[:half], b.Tool[half:]}
	}
	for i, name := range names {
		part := object{"index": index, "function": object{"name": name, "arguments": ""}}
		if i == 0 {
			part["id"], part["type"] = b.ID, "function"
			if q.has(script.ExtraBack) {
				part["extra_content"] = extraOf(b.ID)
			}
		}
		put(false, part)
	}
	if q.has(script.NullArguments) && b.Input == "{}" {
		put(true, object{"index": index, "function": object{"arguments": nil}})
		return
	}
	for _, p := range pieces(b.Input, chunk) {
		put(true, object{"index": index, "function": object{"arguments": p}})
	}
}

// message tells one call of a whole answer.
func (q quirks) message(b script.Block) object {
	function := object{"name": b.Tool, "arguments": b.Input}
	if q.has(script.NullArguments) && b.Input == "{}" {
		function["arguments"] = nil
	}
	out := object{"id": b.ID, "type": "function", "function": function}
	if q.has(script.ExtraBack) {
		out["extra_content"] = extraOf(b.ID)
	}
	return out
}
