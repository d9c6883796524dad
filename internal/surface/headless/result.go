package headless

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

func (m *mapper) result(e proto.Event, r proto.Result) []object {
	if e.Agent != "" {
		return nil
	}
	r = completed(r)
	out := m.ended(e, r.Ended) // once a turn, where the loop's own end did not come through
	o := object{
		{"type", "result"},
		{"subtype", r.Subtype},
		{"is_error", r.IsError},
		{"duration_ms", r.DurationMS},
		{"duration_api_ms", r.APIMS},
		{"num_turns", r.Turns},
		{"stop_reason", resultStop(r)},
		{"session_id", e.Session},
		{"total_cost_usd", r.CostUSD},
		{"usage", turnUsage(r.Usage)},
		{"modelUsage", modelUsage(r.Models)},
		{"permission_denials", denials(r.Denials)},
		{"fast_mode_state", "off"},
		{"uuid", m.opt.NewID()},
	}
	if r.Subtype == "success" {
		o = o.with("result", r.Text).with("api_error_status", apiStatus(r.Ended.API))
	} else {
		o = o.with("errors", list(r.Errors))
	}
	if len(r.Structured) > 0 {
		o = o.with("structured_output", r.Structured)
	}
	if d := r.Deferred; d != nil {
		o = o.with("deferred_tool_use", object{{"id", d.ID}, {"name", d.Name}, {"input", rawObject(d.Input)}})
	}
	if m.ttft > 0 {
		o = o.with("ttft_ms", m.ttft)
	}
	o = o.optional("terminal_reason", terminalReason(r))
	if r.Origin != "" {
		o = o.with("origin", object{{"kind", r.Origin}})
	}
	return append(out, o)
}

// completed fills in what follows from the reason, for a result that names only that.
func completed(r proto.Result) proto.Result {
	if r.Ended.API != nil {
		r.Subtype, r.IsError, r.Text = "success", true, apiErrorText(*r.Ended.API)
		return r
	}
	if r.Subtype != "" {
		return r
	}
	switch r.Ended.Reason {
	case proto.EndMaxRounds:
		r.Subtype = "error_max_turns"
	case proto.EndBudget:
		r.Subtype = "error_max_budget_usd"
	case proto.EndStructRetry:
		r.Subtype = "error_max_structured_output_retries"
	case proto.EndStreaming, proto.EndTools, proto.EndOverflow, proto.EndRepetition, proto.EndMaxOutput, proto.EndAPI:
		r.Subtype = "error_during_execution"
	default:
		r.Subtype = "success"
		return r
	}
	r.IsError = true
	if len(r.Errors) == 0 && r.Ended.Detail != "" {
		r.Errors = []string{r.Ended.Detail}
	}
	return r
}

func resultStop(r proto.Result) any {
	if r.Ended.API != nil {
		return "stop_sequence"
	}
	return stopReason(string(r.Ended.Stop))
}

func apiStatus(a *proto.APIError) any {
	if a == nil || a.Status == 0 {
		return nil
	}
	return a.Status
}

// terminalReason is why the turn ended in the words of the wire; empty for local commands.
func terminalReason(r proto.Result) string {
	switch r.Ended.Reason {
	case proto.EndStructured:
		return string(proto.EndCompleted)
	case proto.EndRefusal:
		return string(proto.EndCompleted)
	}
	return string(r.Ended.Reason)
}

func denials(list []proto.Denial) []object {
	out := make([]object, 0, len(list))
	for _, d := range list {
		out = append(out, object{{"tool_name", d.Tool}, {"tool_use_id", d.Call}, {"tool_input", rawObject(d.Input)}})
	}
	return out
}

func rawObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return json.RawMessage("{}")
	}
	return raw
}

// refused is the result of a session that could not be resumed: all counters zero.
func (m *mapper) refused(session, text string) object {
	return object{
		{"type", "result"},
		{"subtype", "error_during_execution"},
		{"is_error", true},
		{"duration_ms", 0},
		{"duration_api_ms", 0},
		{"num_turns", 0},
		{"stop_reason", nil},
		{"session_id", session},
		{"total_cost_usd", 0},
		{"usage", turnUsage(proto.Result{}.Usage)},
		{"modelUsage", object{}},
		{"permission_denials", []any{}},
		{"errors", []string{text}},
		{"uuid", m.opt.NewID()},
	}
}
