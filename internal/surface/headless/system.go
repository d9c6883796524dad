package headless

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// system maps the events that become system messages of their own.
func (m *mapper) system(e proto.Event) []object {
	sys := func(subtype string, fields ...field) []object {
		o := object{{"type", "system"}, {"subtype", subtype}}
		return []object{m.common(append(o, fields...), e)}
	}
	switch b := e.Body.(type) {
	case proto.Retry:
		return sys("api_retry", field{"attempt", b.Attempt}, field{"max_retries", b.Max}, field{"retry_delay_ms", b.DelayMS},
			field{"error_status", zeroNull(b.Status)}, field{"error", category(b.Kind, b.Status)})
	case proto.Denied:
		o := object{{"type", "system"}, {"subtype", "permission_denied"}, {"tool_name", b.Tool}, {"tool_use_id", b.Call}, {"message", b.Message}}
		o = o.optional("decision_reason_type", b.ReasonKind).optional("decision_reason", b.Reason).optional("agent_id", e.Agent)
		return []object{m.common(o, e)}
	case proto.ModeChanged:
		return sys("status", field{"status", nil}, field{"permissionMode", b.Mode})
	case proto.Compacting:
		return m.compactingEvent(e, b)
	case proto.Compacted:
		return m.compacted(e, b)
	case proto.HookStarted:
		if !m.tellHook(b.Event) {
			return nil
		}
		return sys("hook_started", field{"hook_id", b.ID}, field{"hook_name", b.Name}, field{"hook_event", b.Event})
	case proto.HookEnded:
		if !m.tellHook(b.Event) {
			return nil
		}
		return sys("hook_response", field{"hook_id", b.ID}, field{"hook_name", b.Name}, field{"hook_event", b.Event},
			field{"output", b.Stdout + b.Stderr}, field{"stdout", b.Stdout}, field{"stderr", b.Stderr},
			field{"exit_code", b.ExitCode}, field{"outcome", b.Outcome})
	case proto.Notice:
		return sys("informational", field{"content", b.Text}, field{"level", noticeLevel(b.Level)})
	case proto.Fallback:
		text := wireModel(b.To) + " takes over from " + wireModel(b.From)
		if b.Reason != "" {
			text += ": " + b.Reason
		}
		return sys("informational", field{"content", text}, field{"level", "notice"})
	case proto.Activity:
		if !m.opt.StateEvents || e.Agent != "" {
			return nil
		}
		return sys("session_state_changed", field{"state", b.State})
	case proto.SessionReset:
		return []object{{
			{"type", "conversation_reset"},
			{"new_conversation_id", b.New},
			{"trigger", b.Trigger},
			{"session_id", b.Old},
			{"uuid", m.opt.NewID()},
		}}
	}
	return nil
}

// tellHook reports whether hosts hear of a hook: always at the start, else when they asked.
func (m *mapper) tellHook(event string) bool {
	return m.opt.HookEvents || event == "SessionStart" || event == "Setup"
}

func noticeLevel(level string) string {
	if level == "info" || level == "" {
		return "info"
	}
	return "warning" // the wire knows nothing above
}

func zeroNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func (m *mapper) compactingEvent(e proto.Event, b proto.Compacting) []object {
	if e.Agent != "" {
		return nil
	}
	o := object{{"type", "system"}, {"subtype", "status"}}
	if b.Active {
		m.compacting = true
		return []object{m.common(o.with("status", "compacting"), e)}
	}
	if !m.compacting {
		return nil
	}
	m.compacting = false
	o = o.with("status", nil).with("compact_result", "failed").optional("compact_error", b.Error)
	return []object{m.common(o, e)}
}

func (m *mapper) compacted(e proto.Event, b proto.Compacted) []object {
	if e.Agent != "" {
		return nil
	}
	var out []object
	if m.compacting {
		m.compacting = false
		o := object{{"type", "system"}, {"subtype", "status"}, {"status", nil}, {"compact_result", "success"}}
		out = append(out, m.common(o, e))
	}
	trigger := b.Trigger
	if trigger != "manual" {
		trigger = "auto" // the wire knows these two
	}
	meta := object{{"trigger", trigger}, {"pre_tokens", b.PreTokens}}
	if b.PostTokens > 0 {
		meta = meta.with("post_tokens", b.PostTokens)
	}
	if b.DurationMS > 0 {
		meta = meta.with("duration_ms", b.DurationMS)
	}
	if b.Head != "" && b.Anchor != "" && b.Tail != "" {
		meta = meta.with("preserved_segment", object{{"head_uuid", b.Head}, {"anchor_uuid", b.Anchor}, {"tail_uuid", b.Tail}})
	}
	o := object{{"type", "system"}, {"subtype", "compact_boundary"}, {"compact_metadata", meta}}
	return append(out, m.common(o, e))
}

// firstLine is the first line of a text, for places that hold one.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
