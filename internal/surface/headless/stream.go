package headless

import "github.com/myelin-agent/myelin/internal/core/proto"

// stream follows an answer as it comes, in the events of the public Messages API. Only the main
// conversation is followed. A block's complete message was mapped before its BlockEnded arrives,
// so it stands before its content_block_stop.
func (m *mapper) stream(e proto.Event) []object {
	if a, ok := e.Body.(proto.AnswerStarted); ok {
		m.answerStarted(a)
		if e.Agent == "" && m.ttft == 0 {
			m.ttft = a.TTFTMS
		}
	}
	if end, ok := e.Body.(proto.AnswerEnded); ok {
		m.agentTokens(e, end)
	}
	if !m.opt.Partial || e.Agent != "" {
		return nil
	}
	switch b := e.Body.(type) {
	case proto.RequestStarted:
		return []object{m.common(object{{"type", "system"}, {"subtype", "status"}, {"status", "requesting"}}, e)}
	case proto.AnswerStarted:
		o := m.streamEvent(e, messageStart(b))
		if b.TTFTMS > 0 {
			o = o.with("ttft_ms", b.TTFTMS)
		}
		return []object{o}
	case proto.BlockStarted:
		return []object{m.streamEvent(e, object{{"type", "content_block_start"}, {"index", b.Index}, {"content_block", openBlock(b)}})}
	case proto.Delta:
		d, ok := delta(b)
		if !ok {
			return nil
		}
		return []object{m.streamEvent(e, object{{"type", "content_block_delta"}, {"index", b.Index}, {"delta", d}})}
	case proto.BlockEnded:
		return []object{m.streamEvent(e, object{{"type", "content_block_stop"}, {"index", b.Index}})}
	case proto.AnswerEnded:
		if b.Cut != "" {
			return nil // the service's own stream had no end either
		}
		return []object{
			m.streamEvent(e, object{
				{"type", "message_delta"},
				{"delta", object{{"stop_reason", stopReason(string(b.Stop))}, {"stop_sequence", nil}}},
				{"usage", object{{"output_tokens", b.Usage.Output}}},
			}),
			m.streamEvent(e, object{{"type", "message_stop"}}),
		}
	}
	return nil
}

func (m *mapper) streamEvent(e proto.Event, event object) object {
	return object{
		{"type", "stream_event"},
		{"event", event},
		{"session_id", e.Session},
		{"parent_tool_use_id", nil},
		{"uuid", m.opt.NewID()},
	}
}

func messageStart(b proto.AnswerStarted) object {
	return object{
		{"type", "message_start"},
		{"message", object{
			{"id", b.Response},
			{"type", "message"},
			{"role", "assistant"},
			{"model", wireModel(b.Model)},
			{"content", []any{}},
			{"stop_reason", nil},
			{"stop_sequence", nil},
			{"usage", startUsage(b.Usage)},
		}},
	}
}

func openBlock(b proto.BlockStarted) object {
	switch b.Kind {
	case "text":
		return object{{"type", "text"}, {"text", ""}}
	case "thinking":
		return object{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}
	case "tool_use":
		return object{{"type", "tool_use"}, {"id", b.Call}, {"name", b.Tool}, {"input", object{}}}
	case "redacted_thinking":
		return object{{"type", b.Kind}, {"data", ""}}
	}
	return object{{"type", b.Kind}}
}

func delta(b proto.Delta) (object, bool) {
	switch b.Kind {
	case "text":
		return object{{"type", "text_delta"}, {"text", b.Text}}, true
	case "thinking":
		return object{{"type", "thinking_delta"}, {"thinking", b.Text}}, true
	case "input":
		return object{{"type", "input_json_delta"}, {"partial_json", b.Text}}, true
	case "signature":
		return object{{"type", "signature_delta"}, {"signature", b.Text}}, true
	}
	return nil, false
}

// stopReason is null where nothing stopped.
func stopReason(s string) any {
	if s == "" {
		return nil
	}
	return s
}
